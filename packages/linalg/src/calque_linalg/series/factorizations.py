"""Taylor rules of factorisations of matrices, from the equations that define the factors.

One idea: coefficient k of the product of the factors is that of the matrix; without the products of coefficients below
k it is linear in coefficient k of the factors, by the same equation as the derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import typeof
from calque_core.lax import slice_in_dim
from calque_jet.series import Coefficient, Result, Series, coefficient, instantiate, minus
from calque_linalg.ops.factor_slopes import cholesky_slope, lu_slope, qr_slope
from calque_linalg.ops.factorizations import check_unique_q, cholesky_p, lu_p, qr_p
from calque_linalg.ops.matrices import (
    adjoint,
    hermitian_of,
    lower_triangle,
    matrix_product,
    permuted_columns,
    permuted_rows,
    upper_triangle,
)

Value = Any
Results = tuple[list[Value], list[Series]]


@cholesky_p.def_rule("jet")
def cholesky_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Solve Lk L0^H + L0 Lk^H = xk - L1 L[k-1]^H - ..."""
    (x,), (xs,) = primals, series
    out = cholesky_p.bind(x)
    factors: Series = [out]
    for k, c in enumerate(xs, 1):
        products = inner_products(factors, [None if f is None else adjoint(f) for f in factors], k)
        change = minus(None if c is None else hermitian_of(c), products)
        factors.append(None if change is None else cholesky_slope(out, change))
    return out, factors[1:]


@lu_p.def_rule("jet")
def lu_jet(primals: Sequence[Value], series: Sequence[Series]) -> Results:
    """Solve Lk U0 + L0 Uk = P xk - L1 U[k-1] - ...; the permutation is constant."""
    (x,), (xs,) = primals, series
    outs = lu_p.bind(x)
    factors, _, permutation = outs
    size = min(typeof(x).shape[-2:])
    packed: Series = [factors]
    for k, c in enumerate(xs, 1):
        lowers = [None if f is None else slice_in_dim(lower_triangle(f, -1), 0, size, axis=-1) for f in packed]
        uppers = [None if f is None else slice_in_dim(upper_triangle(f), 0, size, axis=-2) for f in packed]
        change = minus(None if c is None else permuted_rows(c, permutation), inner_products(lowers, uppers, k))
        packed.append(None if change is None else lu_slope(factors, change))
    return outs, [packed[1:], [None] * len(xs), [None] * len(xs)]


@qr_p.def_rule("jet")
def qr_jet(primals: Sequence[Value], series: Sequence[Series], *, pivoting: bool, full_matrices: bool) -> Results:
    """Solve Qk R0 + Q0 Rk = xk - Q1 R[k-1] - ... and Q0^H Qk + Qk^H Q0 = -Q1^H Q[k-1] - ..."""
    (x,), (xs,) = primals, series
    check_unique_q(typeof(x), full_matrices)
    outs = qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices)
    q, r, *order = outs
    qs: Series = [q]
    rs: Series = [r]
    for k, c in enumerate(xs, 1):
        x_coefficient = permuted_columns(c, order[0]) if pivoting and c is not None else c
        change = minus(x_coefficient, inner_products(qs, rs, k))
        excess = inner_products([None if f is None else adjoint(f) for f in qs], qs, k)
        is_zero = change is None and excess is None
        slopes = (None, None) if is_zero else qr_slope(q, r, instantiate(x, change), excess)
        qs.append(slopes[0])
        rs.append(slopes[1])
    return outs, [qs[1:], rs[1:], *([None] * len(xs) for _ in order)]


def inner_products(lefts: Series, rights: Series, k: int) -> Coefficient:
    """Return the sum of the products of coefficients 1 and k - 1, 2 and k - 2, ..., k - 1 and 1."""
    return coefficient([None, *lefts[1:], None], [None, *rights[1:], None], k, matrix_product)
