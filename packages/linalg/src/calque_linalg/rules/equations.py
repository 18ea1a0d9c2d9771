"""Derivatives of solutions: a x = b gives a dx = db - da x, one more system with the same matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive, UndefinedPrimal, Zero, add_tangents
from calque_core.extend import (
    check_known,
    defjvp,
    defjvp_all,
    deftranspose,
    matrix_product,
    not_linear,
    transposed,
    zero_tangent,
)
from calque_core.lax import neg
from calque_core.lax.linalg import inv_p, solve, solve_p

Value = Any


def defsolution(primitive: Primitive, product: Callable[..., Value]) -> None:
    """Give the jvp rule of a system of equations, whose last operand is its right-hand side.

    `product(tangents, x, **params)` is the product of the operator's tangent with the solution; of the tangents of the
    operands before the last one, a tangent of zero is None.
    """

    def rule(primals: Sequence[Value], tangents: Sequence[Value], **params: Any) -> tuple[Value, Value]:
        out = primitive.bind(*primals, **params)
        *operator_tangents, right = tangents
        known = [None if type(t) is Zero else t for t in operator_tangents]
        if any(t is not None for t in known):
            change = product(known, neg(out), **params)
            right = change if type(right) is Zero else add_tangents(right, change)
        is_zero = type(right) is Zero
        return out, zero_tangent(out) if is_zero else primitive.bind(*primals[:-1], right, **params)

    defjvp_all(primitive, rule)


def solve_product(tangents: Sequence[Value], out: Value, *, transpose_a: bool) -> Value:
    return matrix_product(transposed(tangents[0]) if transpose_a else tangents[0], out)


def solve_transpose(ct: Value, a: Value, b: UndefinedPrimal, *, transpose_a: bool) -> list[Value]:
    check_known(solve_p, a)
    return [None, solve(a, ct, transpose_a=not transpose_a)]


defsolution(solve_p, solve_product)
deftranspose(solve_p, solve_transpose)

defjvp(inv_p, lambda x_dot, out, x: matrix_product(neg(out), matrix_product(x_dot, out)))
not_linear(inv_p)
