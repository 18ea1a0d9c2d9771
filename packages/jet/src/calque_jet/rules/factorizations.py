"""Taylor rules of factorisations of matrices, from the equations that define the factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.extend import adjoint, half_lower, hermitian_of, matrix_product
from calque_core.lax.linalg import cholesky_p, triangular_solve
from calque_jet.rules.arithmetic import Result
from calque_jet.series import Series, coefficient, minus

Value = Any


@cholesky_p.def_rule("jet")
def cholesky_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Solve L0 Lk^H + Lk L0^H = r, the coefficient k of x without the products of coefficients of L below k."""
    (x,), (xs,) = primals, series
    out = cholesky_p.bind(x)
    factors: Series = [out]
    for k, c in enumerate(xs, 1):
        known = [None, *factors[1:], None]
        products = coefficient(known, known, k, lambda left, right: matrix_product(left, adjoint(right)))
        remainder = minus(None if c is None else hermitian_of(c), products)
        factors.append(None if remainder is None else _factor_coefficient(out, remainder))
    return out, factors[1:]


def _factor_coefficient(out: Value, remainder: Value) -> Value:
    """Return L half_lower(L^-1 r L^-H), as for the derivative."""
    right = triangular_solve(out, remainder, lower=True, transpose_a=True, conjugate_a=True)
    return matrix_product(out, half_lower(triangular_solve(out, right, left_side=True, lower=True)))
