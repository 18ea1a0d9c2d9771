"""The table's programs with branches."""

from __future__ import annotations

import numpy as np
from flow_program import COUNT, MATRIX, NUMBER, VECTOR, WEIGHTS, Row, number
from program import numbers, tree_of

from calque_autodiff import grad, jvp
from calque_core import lax
from calque_xla_backend import jit


def nested_branches(flow, x, n):
    inner = lambda y: flow.cond(n > 2, lax.sin, lambda y: y * x, y)
    return flow.cond(x[0] > 0, inner, lambda y: flow.cond(x[1] > 0, lax.cos, inner, y), x)


def branch_pytrees(flow, tree, n):
    swap = lambda t: {"a": t["b"], "b": (t["a"] * 2.0)}
    out = flow.cond(n > 1, swap, lambda t: {"b": lax.tanh(t["b"]), "a": t["a"]}, tree)
    return out, out["a"] * out["b"]


def forwarded_from_branches(flow, x, y):
    a, b, c, n = flow.cond(x[0] > 0, lambda x, y: (y, x, x, 1), lambda x, y: (x, x, y, 2), x, y)
    return a * c, b, number(n, x) * c


def guarded(flow, x):
    """Take the root of what is positive, inside a branch, and of nothing else."""
    safe = lambda y: flow.cond(y > 0, lambda y: lax.sqrt(y + 0.1), lambda y: -y, y)
    return safe(x[0]) + safe(-x[1]) * x[2]


def branch_of_grad(flow, x):
    slope = grad(lambda y: flow.cond(y[0] > 0, lambda y: (y * y * y).sum(), lambda y: lax.sin(y).sum(), y))
    return slope(x) * x


def branch_of_jvp(flow, x, n):
    f = lambda y: flow.switch(n, [lax.sin, lambda y: y * y, lambda y: lax.exp(lax.tanh(y))], y)
    return jvp(f, (x,), (x * 0.5,))[1]


BRANCHES = [
    Row("cond on a constant", lambda flow, x: flow.cond(True, lax.sin, lax.cos, x), (VECTOR,)),
    Row("cond on a value", lambda flow, x: flow.cond(x[0] > 0, lambda x: x * x, lax.cos, x), (VECTOR,)),
    Row("cond on an integer", lambda flow, x, n: flow.cond(n > 2, lax.sin, lambda x: x * 3.0, x), (VECTOR, COUNT)),
    Row(
        "cond closes over", lambda flow, x, y: flow.cond(y > 0, lambda: x * y, lambda: x - WEIGHTS[0]), (VECTOR, NUMBER)
    ),
    Row(
        "cond on a captured predicate",
        lambda flow, x, n: flow.map(lambda y: flow.cond(n > 2, lax.sin, lax.cos, y), x),
        (MATRIX, COUNT),
    ),
    Row(
        "cond of unused operands",
        lambda flow, x, y, n: flow.cond(n > 2, lambda x, y, n: x, lambda x, y, n: x * 2.0, x, y, n),
        (VECTOR, MATRIX, COUNT),
    ),
    Row(
        "cond of one result unused",
        lambda flow, x, y: flow.cond(x[0] > 0, lambda x, y: (x * y, y), lambda x, y: (y, x * x), x, y)[0],
        (VECTOR, VECTOR),
    ),
    Row(
        "cond of constants",
        lambda flow, x: x * flow.cond(x[1] > 0, lambda: np.float32(2), lambda: np.float32(3)),
        (VECTOR,),
    ),
    Row("cond of pytrees", branch_pytrees, (tree_of(a=VECTOR, b=VECTOR), COUNT)),
    Row("cond forwards operands", forwarded_from_branches, (VECTOR, VECTOR)),
    Row(
        "cond of empty arrays",
        lambda flow, x, n: flow.cond(n > 2, lambda x: x * 2.0, lax.sin, x),
        (numbers((0, 3)), COUNT),
    ),
    Row("conds nested", nested_branches, (VECTOR, COUNT)),
    Row("cond skips", lambda flow, x: flow.cond(x[0] > 0, lambda x: x * x, lax.cos, x, batched="skip"), (VECTOR,)),
    Row("cond maps", lambda flow, x: flow.cond(x[0] > 0, lambda x: x * x, lax.cos, x, batched="map"), (VECTOR,)),
    Row("cond guards", guarded, (VECTOR,)),
    Row("cond under grad", branch_of_grad, (VECTOR,)),
    Row("cond of jit", lambda flow, x, y: flow.cond(x[0] > 0, jit(lambda z: z * y), jit(lax.sin), x), (VECTOR, VECTOR)),
    Row("switch of two", lambda flow, x, n: flow.switch(n, [lax.sin, lax.cos], x), (VECTOR, COUNT)),
    Row(
        "switch of five",
        lambda flow, x, n: flow.switch(n, [lambda y, k=k: y * (k + 0.5) + x[0] for k in range(5)], x),
        (VECTOR, COUNT),
    ),
    Row(
        "switch out of range",
        lambda flow, x, n: flow.switch(n * 9 - 18, [lax.sin, lambda x: x * x, lax.cos], x),
        (VECTOR, COUNT),
    ),
    Row("switch under jvp", branch_of_jvp, (VECTOR, COUNT)),
]
