"""Tridiagonal systems of linear equations.

One idea: a row of the system and its right-hand side are one vector of coefficients, the diagonal first; eliminating
one unknown is one step on pairs of rows, for all systems of a batch at once, with the greater pivot first.

Read next: `triangular.py`, `equations.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, typeof
from calque_core.extend import where
from calque_core.lax import add, broadcast_in_dim, mul, pad, zeros_like
from calque_linalg.ops.matrices import check_matrices, failure, field_operands

Value = Any

tridiagonal_solve_p = Primitive("tridiagonal_solve")


@tridiagonal_solve_p.def_abstract_eval(cached=True)
def tridiagonal_solve_abstract_eval(
    dl_aval: ShapedArray, d_aval: ShapedArray, du_aval: ShapedArray, b_aval: ShapedArray
) -> ShapedArray:
    check_matrices("tridiagonal_solve", b_aval)
    diagonals = (dl_aval, d_aval, du_aval)
    if any(aval.dtype != b_aval.dtype for aval in diagonals):
        types = " and ".join(map(str, (*diagonals, b_aval)))
        raise TypeError(f"tridiagonal_solve of {types}: the dtypes differ. Convert the operands first.")
    if any(aval.shape != b_aval.shape[:-1] for aval in diagonals):
        types = ", ".join(map(str, diagonals))
        raise ShapeError(
            f"tridiagonal_solve of {types} and {b_aval}{where()}: the shapes do not fit. Give three diagonals with one "
            "element for each row of the matrices on the right."
        )
    return b_aval.strip_weak_type()


def tridiagonal_solve_impl(dl: Value, d: Value, du: Value, b: Value) -> Value:
    n = d.shape[-1]
    if not b.size:
        return np.array(b)
    rows = np.concatenate([dl[..., None], d[..., None], du[..., None], b], -1)
    rows[..., 0, 0] = rows[..., -1, 2] = 0
    pivots = np.zeros_like(rows)
    row = _without_first(rows[..., 0, :])
    for i in range(1, n):
        below = rows[..., i, :]
        is_exchange = (abs(below[..., :1]) > abs(row[..., :1])).repeat(row.shape[-1], -1)
        pivots[..., i - 1, :] = pivot = np.where(is_exchange, below, row)
        other = np.where(is_exchange, row, below)
        row = _without_first(other - _quotient(other[..., :1], pivot[..., :1]) * pivot)
    pivots[..., n - 1, :] = row
    if (pivots[..., 0] == 0).any():
        raise failure("tridiagonal_solve", d, "the matrix with this diagonal is singular")
    out = np.zeros((*b.shape[:-2], n + 2, b.shape[-1]), b.dtype)
    for i in range(n - 1, -1, -1):
        first, second, third = (pivots[..., i, k, None] for k in range(3))
        known = second * out[..., i + 1, :] + third * out[..., i + 2, :]
        out[..., i, :] = (pivots[..., i, 3:] - known) / first
    return np.ascontiguousarray(out[..., :n, :])


def _without_first(row: Value) -> Value:
    """Return the row of the next unknown: the coefficients move to the front, and the third one is 0."""
    return np.concatenate([row[..., 1:3], np.zeros_like(row[..., :1]), row[..., 3:]], -1)


def _quotient(x: Value, y: Value) -> Value:
    return x / (y + (y == 0))


tridiagonal_solve_p.def_impl(tridiagonal_solve_impl, leaf=True)


def shifted_rows(x: Value, by: int, axis: int) -> Value:
    """Return the elements moved along an axis by `by` positions, 1 or -1, with zeros at the free end.

    >>> import numpy as np
    >>> from calque_linalg.ops.tridiagonal import shifted_rows
    >>> shifted_rows(np.array([1.0, 2.0, 3.0]), 1, 0)
    array([0., 1., 2.])
    """
    config = [(0, 0, 0)] * typeof(x).ndim
    config[axis] = (by, -by, 0)
    return pad(x, zeros_like(x, shape=()), config)


def tridiagonal_product(diagonals: Sequence[Value | None], x: Value) -> Value:
    """Return the products of tridiagonal matrices with the matrices x; None is a diagonal of zeros, but not thrice.

    >>> import numpy as np
    >>> from calque_linalg.ops.tridiagonal import tridiagonal_product
    >>> tridiagonal_product((np.array([9.0, 5.0]), np.ones(2), None), np.array([[1.0], [2.0]]))
    array([[1.],
           [7.]])
    """
    shape = typeof(x).shape
    axis = len(shape) - 2
    total = None
    for by, diagonal in zip((1, 0, -1), diagonals):
        if diagonal is not None:
            factors = broadcast_in_dim(diagonal, shape, range(axis + 1))
            term = mul(factors, shifted_rows(x, by, axis) if by else x)
            total = term if total is None else add(total, term)
    return total


def tridiagonal_solve(dl: Value, d: Value, du: Value, b: Value) -> Value:
    """Return the solution x of a system whose matrix has the diagonals dl, d and du: below, on and above the main one.

    Row i of the system is dl[i] x[i-1] + d[i] x[i] + du[i] x[i+1] = b[i]; dl[0] and du[n-1] are not read.
    Shapes: dl, d, du [*s, n], b [*s, n, m] -> [*s, n, m].  Dtype: promoted, one of the four dtypes of LAPACK; integers
    become floats.
    A singular matrix is a `numpy.linalg.LinAlgError` in evaluation, and gives NaN when compiled.
    Raises: TypeError for another dtype; ShapeError if the shapes do not fit.

    >>> import numpy as np
    >>> from calque_linalg import tridiagonal_solve
    >>> ones = np.ones(3)
    >>> tridiagonal_solve(ones, 3 * ones, ones, np.array([[4.0], [5.0], [4.0]]))
    array([[1.],
           [1.],
           [1.]])
    """
    operands = field_operands("tridiagonal_solve", dl, d, du, b)
    tridiagonal_solve_p.abstract(*map(typeof, operands))
    return tridiagonal_solve_p.bind(*operands)
