"""The linear equations for small changes of factors, which derivatives and Taylor series share.

One idea: a change of the matrix, as seen through the inverse factors, is split into the changes of the two factors, by
the triangle that each of its elements lies in.

Read next: `factorizations.py`.
"""

from __future__ import annotations

from typing import Any

from calque_core import typeof
from calque_core.lax import add, concatenate, full_like, mul, slice_in_dim, sub
from calque_linalg.ops.equations import solve
from calque_linalg.ops.matrices import (
    adjoint,
    half_lower,
    identity_like,
    lower_triangle,
    matrix_product,
    transposed,
    upper_triangle,
)
from calque_linalg.ops.sylvester import sylvester_solve
from calque_linalg.ops.triangular import triangular_solve

Value = Any


def cholesky_slope(factor: Value, change: Value) -> Value:
    """Return the triangle dL for which dL L^H + L dL^H is the Hermitian matrix `change`: L half_lower(L^-1 c L^-H).

    Source: Murray (2016), Differentiation of the Cholesky decomposition, section 3.
    """
    right = triangular_solve(factor, change, lower=True, transpose_a=True, conjugate_a=True)
    return matrix_product(factor, half_lower(triangular_solve(factor, right, left_side=True, lower=True)))


def lu_slope(factors: Value, change: Value) -> Value:
    """Return dL + dU for which dL U + L dU is `change`: with f = L^-1 c U^-1 they are L tril(f, -1) and triu(f) U.

    Both factors are square here: the smaller one has the missing rows or columns of the identity matrix.
    Source: Seeger et al. (2017), Auto-differentiating linear algebra.
    """
    m, n = typeof(factors).shape[-2:]
    lower, upper = _square(factors, m, -1), _square(factors, n, -2)
    left = triangular_solve(lower, change, left_side=True, lower=True, unit_diagonal=True)
    f = triangular_solve(upper, left)
    unit_lower = add(lower_triangle(lower, -1), identity_like(lower))
    return add(
        matrix_product(unit_lower, lower_triangle(f, -1)), matrix_product(upper_triangle(f), upper_triangle(upper))
    )


def _square(factors: Value, size: int, axis: int) -> Value:
    """Return the first `size` columns or rows; missing ones are those of the identity matrix."""
    count = typeof(factors).shape[axis]
    if count >= size:
        return slice_in_dim(factors, 0, size, axis=axis)
    identity = identity_like(factors, (size, size))
    return concatenate([factors, slice_in_dim(identity, count, size, axis=axis)], typeof(factors).ndim + axis)


def qr_slope(q: Value, r: Value, change: Value, excess: Value = None) -> tuple[Value, Value]:
    """Return dQ and dR for which dQ R + Q dR is `change`, and Q^H dQ + dQ^H Q is -`excess`, zero for None.

    Let f = Q^H c R^-1 = w + dR R^-1, where w = Q^H dQ.  dR R^-1 is an upper triangle with a real diagonal, so f gives
    the lower triangle of the skew-Hermitian part of w.  Then dQ = c R^-1 - Q (f - w) and dR = (f - w) R.  For a wide
    matrix, R^-1 and the c beside it are of the first, square part, and dR = Q^H c - w R.
    Source: Walter & Lehmann (2010), Algorithmic differentiation of linear algebra functions.
    """
    size = typeof(q).shape[-1]
    is_wide = typeof(r).shape[-1] > size
    square_r, square_change = (slice_in_dim(x, 0, size, axis=-1) if is_wide else x for x in (r, change))
    solved = triangular_solve(square_r, square_change)
    f = matrix_product(adjoint(q), solved)
    if excess is None:
        w = _skew(f)
    else:
        half = mul(full_like(excess, 0.5, shape=()), excess)
        w = sub(_skew(add(f, half)), half)
    triangle = sub(f, w)
    q_dot = sub(solved, matrix_product(q, triangle))
    r_dot = sub(matrix_product(adjoint(q), change), matrix_product(w, r)) if is_wide else matrix_product(triangle, r)
    return q_dot, upper_triangle(r_dot)


def polar_slope(u: Value, p: Value, change: Value, excess: Value = None) -> tuple[Value, Value]:
    """Return dU and dP for which dU P + U dP is `change`, and U^H dU + dU^H U is -`excess` e, zero for None.

    Let b = U^H c, and U^H dU = w = s - e / 2 with a skew-Hermitian s.  dP = b - w P is Hermitian, so that
    s P + P s = b - b^H + (e P - P e) / 2, which divides by sums of eigenvalues of P.  For a tall matrix, the part of dU
    orthogonal to U is that of c P^-1.
    """
    b = matrix_product(adjoint(u), change)
    if excess is None:
        w = sylvester_solve(p, p, sub(b, adjoint(b)), hermitian=True)
    else:
        half = mul(full_like(excess, 0.5, shape=()), excess)
        twist = matrix_product(half, p)
        w = sub(sylvester_solve(p, p, sub(add(b, twist), adjoint(add(b, twist))), hermitian=True), half)
    u_dot, p_dot = matrix_product(u, w), sub(b, matrix_product(w, p))
    m, n = typeof(u).shape[-2:]
    if m > n:
        outside = sub(change, matrix_product(u, b))
        u_dot = add(u_dot, transposed(solve(p, transposed(outside), transpose_a=True)))
    return u_dot, p_dot


def _skew(f: Value) -> Value:
    """Return the skew-Hermitian matrix with the lower triangle of f, and the imaginary parts of its diagonal."""
    half = half_lower(f)
    return sub(half, adjoint(half))
