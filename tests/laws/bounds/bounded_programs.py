"""Random programs of three numbers: sums, products, functions, choices, loops, reductions, calls."""

from __future__ import annotations

import numpy as np

from calque_core import lax
from calque_xla_backend import jit

UNARY = {
    "exp": lambda x: lax.exp(lax.min(x, 5.0)),
    "log": lax.log,
    "sqrt": lambda x: lax.sqrt(lax.abs(x)),
    "bare sqrt": lax.sqrt,
    "rsqrt": lambda x: lax.rsqrt(1.0 + x * x),
    "sin": lax.sin,
    "cos": lax.cos,
    "tan": lax.tan,
    "tanh": lax.tanh,
    "atan": lax.atan,
    "erf": lax.erf,
    "logistic": lax.logistic,
    "square": lax.square,
    "cube": lambda x: lax.integer_pow(x, 3),
    "inverse square": lambda x: lax.integer_pow(x, -2),
    "power": lambda x: lax.pow(lax.abs(x), 1.3),
    "cbrt": lax.cbrt,
    "half": lambda x: x / 2.7,
    "sum": lambda x: x - lax.reduce_sum(x),
    "mean": lambda x: x * (lax.reduce_sum(x) / 3.0),
    "largest": lambda x: x - lax.reduce_max(x, (0,)),
    "running sum": lambda x: lax.cumsum(x, 0),
    "rev": lambda x: lax.rev(x, (0,)),
    "matrix": lambda x: lax.dot(np.array([[0.3, -1.0, 0.1], [2.0, 0.7, 0.0], [0.1, 0.1, -0.6]]), x),
    "outer": lambda x: lax.reduce_sum(lax.dot(x[:, None], x[None, :]), (0,)),
    "where": lambda x: lax.select(x > 0.5, x, 2.0 - x),
    "cond": lambda x: lax.cond(x[0] > x[1], lambda: x * 2.0, lambda: lax.sin(x)),
    "floor": lambda x: x - lax.floor(x),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, y: lax.sin(y) + x * 0.3, x),
    "scan": lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c - y), x[0], x)[1],
    "call": jit(lambda x: lax.tanh(x) * x - 0.1),
}
BINARY = {
    "add": lax.add,
    "sub": lax.sub,
    "mul": lax.mul,
    "div": lax.div,
    "max": lax.max,
    "min": lax.min,
    "atan2": lax.atan2,
    "dot": lambda x, y: x * lax.dot(x, y),
}


def random_program(rng, count):
    """Return a function of an array of shape (3,), of `count` steps."""
    names = [*UNARY, *BINARY, *BINARY]
    steps = [(str(rng.choice(names)), *(int(i) for i in rng.integers(0, 100, 2))) for _ in range(count)]

    def program(x):
        values = [x]
        for name, i, j in steps:
            first, second = values[-1 - i % min(2, len(values))], values[j % len(values)]
            values.append(UNARY[name](first) if name in UNARY else BINARY[name](first, second))
        return values[-1]

    return program


def random_box(rng):
    """Return the ends of a box, of any width."""
    centre = rng.uniform(-2.0, 2.0, 3)
    width = 10.0 ** rng.uniform(-16.0, 0.3) * rng.uniform(size=3)
    return centre - width, centre + width


def random_point(rng, lower, upper):
    return np.clip(lower + rng.choice([0.0, 0.3, 0.7, 1.0], 3) * (upper - lower), lower, upper)
