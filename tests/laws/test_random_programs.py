"""Random programs under random stacks of transformations, compared with values and differences of the plain programs.

One idea: the weights follow where such systems have been wrong: each program has a branch, an integer argument, an
argument that nothing uses and one that is returned as it is; calls and residuals are frequent; three steps in ten have
derivative rules of their own.
"""

from __future__ import annotations

import numpy as np
from custom_program import KINDS, ruled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program import Program, always, numbers
from transformations import TRANSFORMATIONS, batch_of, check_stack

from calque_core import lax
from calque_xla_backend import jit

SHAPE = (2, 3)
UNARY = {
    "sin": lax.sin,
    "tanh": lax.tanh,
    "logistic": lax.logistic,
    "exp": lambda x: lax.exp(lax.tanh(x)),
    "log": lambda x: lax.log(x * x + 1.0),
    "sqrt": lambda x: lax.sqrt(x * x + 0.5),
    "cube": lambda x: lax.integer_pow(lax.sin(x), 3),
    "rev": lambda x: lax.rev(x, (1,)),
    "sum": lambda x: x - x.sum(axis=0, keepdims=True),
    "mean": lambda x: x * x.mean(),
    "shift": lambda x: lax.concatenate([x[1:], x[:1]], 0),
    "product": lambda x: lax.tanh(0.3 * (x @ x.T @ x)),
    "iota": lambda x: x + lax.convert_element_type(lax.iota(np.int32, 3), x.dtype),
    "pad": lambda x: lax.pad(x, x[0, 0], ((0, 0, 0), (1, -1, 0))),
    "constant": lambda x: x * np.linspace(0.5, 1.0, 6).reshape(SHAPE),
}
BINARY = {
    "add": lax.add,
    "sub": lax.sub,
    "mul": lax.mul,
    "div": lambda x, y: x / (y * y + 1.0),
    "dot": lambda x, y: x * lax.dot(x[0], y[1]),
}
CALLS = {
    "jit": lambda f: jit(f),
    "cond on the integer": lambda f: lambda x, y, n: lax.cond(n > 3, f, lambda x, y, n: x - y, x, y, n),
    "cond on another integer": lambda f: lambda x, y, n: lax.cond(n < 3, lambda x, y, n: x * y, f, x, y, n),
    "captured": lambda f: lambda x, y, n: lax.cond(n > 2, lambda: f(x, y, n), lambda: x),
}

rules = st.integers(0, 9).flatmap(lambda i: st.sampled_from(sorted(KINDS)) if i > 6 else st.none())
steps = st.lists(
    st.one_of(
        st.tuples(rules, st.sampled_from(sorted(UNARY)), st.integers(0, 9)),
        st.tuples(rules, st.sampled_from(sorted(BINARY)), st.integers(0, 9), st.integers(0, 9)),
    ),
    min_size=1,
    max_size=5,
)
bodies = st.lists(st.tuples(st.sampled_from(sorted(CALLS)), steps), min_size=1, max_size=3)


def straight(body):
    """Return the function that applies the steps of `body`, each to earlier values."""

    def fun(x, y, n):
        values = [x, y, lax.tanh(x) * lax.convert_element_type(n, x.dtype)]
        for kind, name, *operands in body:
            chosen = [values[i % len(values)] for i in operands]
            step = (UNARY if len(chosen) == 1 else BINARY)[name]
            values.append((step if kind is None else ruled(kind, step, 1.0))(*chosen))
        return lax.tanh(values[-1]) + 0.1 * values[0]

    return fun


def composed(chosen, calls=CALLS):
    """Return the program made of calls of straight functions, of the kinds `calls`."""
    functions = [calls[name](straight(body)) for name, body in chosen]

    def fun(x, y, n, unused):
        z = x
        for function in functions:
            z, y = function(z, y, n), z
        return z.sum(), z, x, n + 1

    return fun


@settings(max_examples=200, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(bodies, st.lists(st.sampled_from(sorted(TRANSFORMATIONS)), min_size=1, max_size=3), st.integers(0, 5))
def test_random_programs_under_random_stacks(is_drawn, chosen, stack, n):
    if not is_drawn((chosen, stack, n), 0.1):
        return
    makers = (numbers(SHAPE), numbers(SHAPE), lambda rng, dtype: np.int32(n), always("float64", (2,)))
    program = Program("random", composed(chosen), makers)
    example = program.example("float64")
    check_stack(example, stack, batch_of(program, "float64", stack.count("vmap")))
