"""Random functions of a vector of six numbers, from a seed: steps of moves, products, branches, loops and rules.

One idea: each step takes earlier values and returns a vector of six numbers, so any step may follow any other.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from calque_autodiff import custom_jvp, custom_vjp, remat
from calque_batching import vmap
from calque_core import lax
from calque_xla_backend import jit

SIZE = 6
MASK = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
SPARSE = np.diag(MASK) + np.diag(np.arange(5.0), 1)
PLACES = np.array([3, 3, 0, 5, 1, 3])
AT = lax.ScatterDimensionNumbers((), (0,), (0,))
read, written = lax.dynamic_index_in_dim, partial(lax.dynamic_update_index_in_dim, axis=0)


@custom_jvp
def half_ruled(x, y):
    return lax.sin(x) * y


half_ruled.defjvp(lambda primals, dots: (half_ruled(*primals), primals[1] * dots[0]))  # y has no derivative


@custom_vjp
def reversed_rule(x):
    return lax.sin(x)


def reversed_fwd(x):
    return reversed_rule(x), x


reversed_rule.defvjp(reversed_fwd, lambda x, ct: (lax.rev(ct, (0,)) * x,))


def index_of(x):
    return lax.convert_element_type(lax.clamp(0.0, lax.abs(x[0]) * 2.0, 3.0), np.int32)


def gated(x):
    return lax.tanh(x) * x[0]


compiled, recomputed = jit(gated), remat(gated)


def newton(x, y):
    """Return the value of a loop whose number of steps depends on the argument."""
    return lax.while_loop(lambda c: c[1] < lax.abs(x[1]), lambda c: (c[0] * y[2] + x, c[1] + 0.5), (y, 0.0))[0]


STEPS = {
    "sin": lambda x, y: lax.sin(x),
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y * y + 1.0),
    "mask": lambda x, y: x * MASK + y,
    "where": lambda x, y: np.where(x > y, x, y * 2.0),
    "known where": lambda x, y: np.where(MASK > 0, x, y),
    "max": lambda x, y: np.maximum(x, 0.0) + y[0],
    "floor": lambda x, y: lax.floor(x) * y,
    "stop": lambda x, y: lax.stop_gradient(x) * y,
    "power": lambda x, y: x**3 + y**2,
    "shift": lambda x, y: lax.concatenate([x[2:], y[:2]], 0),
    "pad": lambda x, y: lax.pad(x, y[0], [(1, -1, 0)]),
    "take": lambda x, y: x[PLACES],
    "traced place": lambda x, y: x + lax.dynamic_slice(y, (index_of(x),), (2,))[1],
    "traced write": lambda x, y: lax.dynamic_update_slice(x, y[:2], (index_of(y),)),
    "add at": lambda x, y: lax.scatter_add(x, PLACES[:, None], y, AT),
    "set at": lambda x, y: lax.scatter(x, PLACES[:, None], y, AT),
    "product": lambda x, y: SPARSE @ x,
    "square": lambda x, y: (x.reshape(2, 3) @ y.reshape(3, 2)).ravel()[[0, 1, 2, 3, 3, 0]],
    "dot": lambda x, y: lax.dot(x, x) * MASK + y,
    "cumsum": lambda x, y: np.cumsum(x),
    "cumprod": lambda x, y: np.cumprod(x),
    "sort": lambda x, y: lax.sort(x),
    "mean": lambda x, y: x - x.reshape(2, 3).mean(1).repeat(3),
    "largest": lambda x, y: x * np.max(y[:3]),
    "cond": lambda x, y: lax.cond(x[0] > 0.0, lambda x, y: x * y, lambda x, y: lax.rev(x, (0,)), x, y),
    "scan": lambda x, y: lax.scan(lambda c, a: (c * a, c + a), y[0], x)[1],
    "fori": lambda x, y: lax.fori_loop(0, 3, lambda i, c: written(c, read(c, i) * read(x, i + 1), i), y),
    "while": newton,
    "half ruled": half_ruled,
    "reversed rule": lambda x, y: reversed_rule(x) + y,
    "jit": lambda x, y: compiled(x),
    "remat": lambda x, y: recomputed(y),
    "vmap": lambda x, y: vmap(lambda a, b: lax.sin(a) * b)(x, y),
}


def function_of(seed):
    """Return a random function of one vector, and whether it has only a vjp rule somewhere."""
    rng = np.random.default_rng(seed)
    chosen = [(str(rng.choice(list(STEPS))), *rng.integers(0, 100, 2)) for _ in range(rng.integers(1, 6))]

    def function(xs):
        values = [xs[0]]
        for name, i, j in chosen:
            values.append(STEPS[name](values[i % len(values)], values[j % len(values)]))
        return values[-1]

    return function, [name for name, *_ in chosen]
