"""Derivatives of factorisations of matrices, from the equations that define the factors."""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import defjvp, not_linear
from calque_core.extend import half_lower, hermitian_of, matrix_product
from calque_core.lax.linalg import cholesky_p, triangular_solve

Value = Any


def cholesky_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    """Return L half_lower(L^-1 dx L^-H), where dx is the Hermitian matrix of the lower triangle that is read.

    Source: Murray (2016), Differentiation of the Cholesky decomposition, section 3.
    """
    right = triangular_solve(out, hermitian_of(x_dot), lower=True, transpose_a=True, conjugate_a=True)
    return matrix_product(out, half_lower(triangular_solve(out, right, left_side=True, lower=True)))


defjvp(cholesky_p, cholesky_jvp)
not_linear(cholesky_p)
