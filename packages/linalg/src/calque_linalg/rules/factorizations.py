"""Derivatives of factorisations of matrices, from the equations that define the factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import typeof
from calque_core.extend import defjvp, defjvp_all, defleading, not_linear, zero_derivative, zero_tangent
from calque_linalg.ops.factor_slopes import cholesky_slope, lu_slope, qr_slope
from calque_linalg.ops.factorizations import check_unique_q, cholesky_p, lu_p, lu_pivots_to_permutation_p, qr_p
from calque_linalg.ops.matrices import hermitian_of, permuted_columns, permuted_rows

Value = Any
Results = tuple[list[Value], list[Value]]


def lu_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> Results:
    factors, pivots, permutation = lu_p.bind(*primals)
    factors_dot = lu_slope(factors, permuted_rows(tangents[0], permutation))
    return [factors, pivots, permutation], [factors_dot, zero_tangent(pivots), zero_tangent(permutation)]


def qr_jvp(primals: Sequence[Value], tangents: Sequence[Value], *, pivoting: bool, full_matrices: bool) -> Results:
    check_unique_q(typeof(primals[0]), full_matrices)
    q, r, *order = qr_p.bind(*primals, pivoting=pivoting, full_matrices=full_matrices)
    x_dot = permuted_columns(tangents[0], order[0]) if pivoting else tangents[0]
    return [q, r, *order], [*qr_slope(q, r, x_dot), *map(zero_tangent, order)]


defjvp(cholesky_p, lambda x_dot, out, x: cholesky_slope(out, hermitian_of(x_dot)))
defjvp_all(lu_p, lu_jvp)
zero_derivative(lu_pivots_to_permutation_p, reason="its results are integers")
defjvp_all(qr_p, qr_jvp)
not_linear(cholesky_p, lu_p, qr_p)
defleading(cholesky_p, lu_p, lu_pivots_to_permutation_p, qr_p)
