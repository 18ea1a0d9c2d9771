"""The table's linear functions and equations: values that are defined by what they solve.

The solvers are written with loops, and know nothing of derivatives.
"""

from __future__ import annotations

import numpy as np
from program import Program, numbers

from calque_autodiff import custom_root, jvp, linear_call
from calque_batching import vmap
from calque_core import lax, stage, typeof

VECTOR, COUPLING = numbers((3,)), numbers((3, 3), -0.4, 0.4)

# Solvers


def eliminated(a, b):
    """Solve a x = b by elimination, column by column, without a choice of pivots."""
    n = b.shape[0]

    def step(i, state):
        a, b = state
        unit = lax.convert_element_type(lax.eq(lax.iota(i.dtype, n), i), a.dtype)
        pivot, column = unit @ a @ unit, unit - a @ unit
        return a + lax.expand_dims(column, (1,)) * (unit @ a / pivot), b + column * (unit @ b / pivot)

    return lax.fori_loop(0, n, step, (a, b))[1]


def dense(matvec, b):
    """Solve by elimination, with the columns of the operator."""
    return eliminated(vmap(matvec, out_axes=1)(np.eye(b.shape[0]).astype(b.dtype)), b)


def conjugate_gradients(matvec, b):
    """Solve iteratively, until the residual is that of rounding; the operator is positive definite."""
    smallest = float(np.finfo(b.dtype).eps) ** 2 * (b @ b)

    def step(state):
        x, r, p, size, count = state
        image = matvec(p)
        length = size / (p @ image)
        r = r - length * image
        return x + length * p, r, r + (r @ r / size) * p, r @ r, count + 1

    def goes_on(state):
        return lax.bitwise_and(lax.gt(state[3], smallest), lax.lt(state[4], 8))

    return lax.while_loop(goes_on, step, (0.0 * b, b, b, b @ b, 0))[0]


# Linear functions


def scaled_call(r, x):
    return linear_call(lambda r, x: lax.sin(r) * x, lambda r, ct: lax.sin(r) * ct, r, x)


def call_of_trees(w, x, y):
    """Call a linear function of a tree, which closes over one value and has another for a residual."""

    def fun(r, args):
        return {"sum": r @ args[0] + y * args[1], "first": args[0] * y}

    def fun_transpose(r, ct):
        return ct["sum"] @ r + ct["first"] * y, ct["sum"] * y

    return linear_call(fun, fun_transpose, w, (x, lax.cos(x)))


def transposed_program(x, ct):
    """Apply the transpose of a program that nobody has transposed yet."""
    jaxpr = stage(lambda x, v: [lax.mul(lax.sin(x), lax.rev(v, (0,)))], [typeof(x)] * 2)
    return lax.linear_transpose_p.bind(x, ct, jaxpr=jaxpr, num_res=1)


# Linear equations


def shifted(a):
    return a + 2.0 * np.eye(3).astype(a.dtype)


def solved_both_ways(a, b):
    operator = shifted(a)
    return lax.custom_linear_solve(lambda x: operator @ x, b, dense, dense)


def solved_and_transposed(a, b):
    return lax.custom_linear_solve(lambda x: shifted(a) @ x, b, dense)


def solved_symmetric(a, b):
    operator = shifted(a).T @ shifted(a)
    return lax.custom_linear_solve(lambda x: operator @ x, b, conjugate_gradients, symmetric=True)


def solved_trees(a, b):
    """Solve for a tree, with what depends on no operand, on one, and on all beside it."""

    def matvec(x):
        return {"u": 2.0 * x["u"] + a @ x["v"], "v": 3.0 * x["v"]}

    def solve(_, b):
        v = b["v"] / 3.0
        return {"u": (b["u"] - a @ v) / 2.0, "v": v}, (2, a[0] > 0.0, v > 0.0)

    def transpose_solve(_, ct):
        u = ct["u"] / 2.0
        return {"u": u, "v": (ct["v"] - u @ a) / 3.0}, None

    return lax.custom_linear_solve(matvec, {"u": b, "v": lax.sin(b)}, solve, transpose_solve, has_aux=True)


# Equations


def kepler(mean_anomaly, eccentricity):
    """Return the eccentric anomaly, by Newton's method."""

    def newton(f, x):
        return lax.fori_loop(0, 7, lambda _, x: x - f(x) / (1.0 - eccentricity * lax.cos(x)), x)

    def f(x):
        return x - eccentricity * lax.sin(x) - mean_anomaly

    return custom_root(f, mean_anomaly, newton, lambda g, y: y / g(lax.ones_like(y)))


def equilibrium(a, b):
    """Return the rest state of a network, x = tanh(a x + b), and the last residual."""

    def newton(f, x):
        step = lambda _, x: x - dense(lambda v: jvp(f, (x,), (v,))[1], f(x))
        x = lax.fori_loop(0, 9, step, x)
        return x, f(x) < 1.0

    return custom_root(lambda x: x - lax.tanh(a @ x + b), 0.0 * b, newton, dense, has_aux=True)


def root_inside_solve(a, b):
    """Solve a linear equation whose operator is made of the root of another equation."""
    x, _ = equilibrium(a, b)
    return lax.custom_linear_solve(lambda v: v * (1.5 + x) + a @ v, b, dense, dense)


def row(name, fun, *makers, ulps=64.0):
    return Program(name, fun, makers, ulps=ulps, by_array=True)


EQUATIONS = {
    "linear_call": [
        row("linear_call", scaled_call, VECTOR, VECTOR),
        row("linear_call of trees", call_of_trees, numbers((3, 3)), VECTOR, VECTOR),
    ],
    "linear_transpose": [row("linear_transpose", transposed_program, VECTOR, VECTOR)],
    "custom_linear_solve": [
        row("linear solve both ways", solved_both_ways, COUPLING, VECTOR),
        row("linear solve, transposed", solved_and_transposed, COUPLING, VECTOR),
        row("linear solve, symmetric", solved_symmetric, COUPLING, VECTOR, ulps=512.0),
        row("linear solve of trees", solved_trees, COUPLING, VECTOR),
    ],
    "custom_root": [
        row("kepler", kepler, VECTOR, numbers((3,), 0.1, 0.5)),
        row("equilibrium", equilibrium, numbers((3, 3), -0.3, 0.3), VECTOR, ulps=256.0),
        row("root inside a solve", root_inside_solve, numbers((3, 3), -0.1, 0.1), VECTOR, ulps=256.0),
    ],
}
