"""Derivatives of solutions of triangular systems.

One idea: op(a) x = b gives op(a) dx = db - op(da) x, one more system with the same triangle.
"""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import check_known, defjvp, deftranspose
from calque_core import UndefinedPrimal
from calque_core.extend import conjugated, matrix_product, operator_tangent
from calque_core.lax import neg
from calque_core.lax.linalg import triangular_solve, triangular_solve_p

Value = Any


def triangular_solve_jvp_a(a_dot: Value, out: Value, a: Value, b: Value, *, left_side: bool, **params: Any) -> Value:
    operator = operator_tangent(a_dot, **params)
    product = matrix_product(operator, out) if left_side else matrix_product(out, operator)
    return triangular_solve_p.bind(a, neg(product), left_side=left_side, **params)


def triangular_solve_transpose(
    ct: Value, a: Value, b: UndefinedPrimal, *, transpose_a: bool, conjugate_a: bool, **params: Any
) -> list[Value]:
    """Solve with the transpose of op(a); that of the adjoint is the conjugate."""
    check_known(triangular_solve_p, a)
    a = conjugated(a) if conjugate_a else a
    return [None, triangular_solve(a, ct, transpose_a=not transpose_a, **params)]


defjvp(
    triangular_solve_p,
    triangular_solve_jvp_a,
    lambda b_dot, out, a, b, **params: triangular_solve_p.bind(a, b_dot, **params),
)
deftranspose(triangular_solve_p, triangular_solve_transpose)
