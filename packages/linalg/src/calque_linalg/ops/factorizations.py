"""Factorisations of matrices into triangles and orthogonal matrices.

One idea: a factorisation has one primitive, which gives all its factors; evaluation is NumPy's where NumPy has it.

Read next: `triangular.py`, which solves equations by triangles.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, typeof
from calque_core.engine.numpy_functions import broadcast_to
from calque_core.extend import integer, shaped_array, undefined_message, where
from calque_core.lax import (
    broadcasted_iota,
    convert_element_type,
    eq,
    fori_loop,
    pad,
    reduce_sum,
    select,
    sort_key_val,
    zeros_like,
)
from calque_linalg.ops.elimination import column_order, eliminate, exchanged
from calque_linalg.ops.matrices import check_matrices, check_square, failure, field_operands, permuted_rows, symmetrized
from calque_linalg.ops.triangular import triangular_solve

Value = Any

_INT32 = np.dtype("int32")

# Cholesky

cholesky_p = Primitive("cholesky")


@cholesky_p.def_abstract_eval(cached=True)
def cholesky_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    check_square("cholesky", x_aval)
    return x_aval.strip_weak_type()


def cholesky_impl(x: Value) -> Value:
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        raise failure("cholesky", x, _indefiniteness(x)) from None


def _indefiniteness(x: Value) -> str:
    if not np.all(np.isfinite(x)):
        return "the matrix has elements that are not finite. Check the values that it is made of"
    least = np.min(np.linalg.eigvalsh(x)) + 0.0  # -0.0 reads as 0
    return (
        f"the matrix is not positive definite, its smallest eigenvalue is {least:.2g}. "
        "Add a multiple of the identity, such as 1e-10 * numpy.eye(n), or check the values that it is made of"
    )


cholesky_p.def_impl(cholesky_impl, leaf=True)


def cholesky(x: Value, *, symmetrize_input: bool = True) -> Value:
    """Return the lower triangular matrix L with a positive diagonal for which L L^H is the positive definite matrix x.

    With `symmetrize_input`, x is first replaced by the mean of x and x^H; otherwise only its lower triangle is read.
    Shapes: x [*s, n, n] -> [*s, n, n].  Dtype: one of the four dtypes of LAPACK; integers become floats.
    A matrix that is not positive definite is a `numpy.linalg.LinAlgError` in evaluation, and gives NaN when compiled.
    Raises: TypeError for another dtype; ShapeError unless the matrices are square.

    >>> import numpy as np
    >>> from calque_linalg import cholesky
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    (x,) = field_operands("cholesky", x)
    cholesky_p.abstract(typeof(x))
    return cholesky_p.bind(symmetrized(x) if symmetrize_input else x)


# LU

lu_p = Primitive("lu", multiple_results=True)


@lu_p.def_abstract_eval(cached=True)
def lu_abstract_eval(x_aval: ShapedArray) -> list[ShapedArray]:
    check_matrices("lu", x_aval)
    *leading, m, n = x_aval.shape
    pivots, permutation = (shaped_array((*leading, size), _INT32) for size in (min(m, n), m))
    return [x_aval.strip_weak_type(), pivots, permutation]


def lu_impl(x: Value) -> list[Value]:
    *leading, m, n = x.shape
    factors = np.array(x).reshape(prod(leading), m, n)
    pivots = eliminate(factors)
    permutation = exchanged(pivots, m)
    return [factors.reshape(x.shape), pivots.reshape(*leading, min(m, n)), permutation.reshape(*leading, m)]


lu_p.def_impl(lu_impl, leaf=True)


def lu(x: Value) -> tuple[Value, Value, Value]:
    """Return the factors, the pivots and the permutation of Gaussian elimination with row exchanges: x[perm] = L U.

    The first result holds U in its upper triangle, and L, whose diagonal is ones, below.  Step k exchanged the rows k
    and pivots[k], and all exchanges together are the permutation.  A singular matrix has factors, too.
    Shapes: x [*s, m, n] -> [*s, m, n], [*s, min(m, n)], [*s, m].  Dtypes: that of x, one of the four dtypes of LAPACK;
    int32, int32.  Integers become floats.
    The permutation is constant for derivatives, since it is so near x unless two candidates for a pivot are equal.
    Raises: TypeError for another dtype; ShapeError for fewer than two axes.

    >>> import numpy as np
    >>> from calque_linalg import lu
    >>> factors, pivots, permutation = lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> factors
    array([[4.  , 4.  ],
           [0.25, 1.  ]])
    >>> pivots, permutation
    (array([1, 1], dtype=int32), array([1, 0], dtype=int32))
    """
    (x,) = field_operands("lu", x)
    lu_p.abstract(typeof(x))
    factors, pivots, permutation = lu_p.bind(x)
    return factors, pivots, permutation


def lu_solve(factors: Value, permutation: Value, b: Value, *, transpose_a: bool = False) -> Value:
    """Return the solution x of a x = b, or of a^T x = b, from the factors and the permutation of the square matrix a.

    Shapes: factors [*s, n, n], permutation [*s, n], b [*s, n, m] -> [*s, n, m].

    >>> import numpy as np
    >>> from calque_linalg.kit import lu_solve
    >>> from calque_linalg import lu
    >>> factors, _, permutation = lu(np.array([[0.0, 2.0], [4.0, 0.0]]))
    >>> lu_solve(factors, permutation, np.array([[2.0], [4.0]]))
    array([[1.],
           [1.]])
    """
    lower, upper = {"lower": True, "unit_diagonal": True}, {"lower": False}
    if not transpose_a:
        y = triangular_solve(factors, permuted_rows(b, permutation), left_side=True, **lower)
        return triangular_solve(factors, y, left_side=True, **upper)
    y = triangular_solve(factors, b, left_side=True, transpose_a=True, **upper)
    z = triangular_solve(factors, y, left_side=True, transpose_a=True, **lower)
    axis = typeof(permutation).ndim - 1
    _, inverse = sort_key_val(permutation, broadcasted_iota(np.int32, typeof(permutation).shape, axis))
    return permuted_rows(z, inverse)


lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation", linearity="constant")


@lu_pivots_to_permutation_p.def_abstract_eval(cached=True)
def lu_pivots_to_permutation_abstract_eval(pivots_aval: ShapedArray, *, permutation_size: int) -> ShapedArray:
    name = "lu_pivots_to_permutation"
    if pivots_aval.kind not in "iu":
        raise TypeError(undefined_message(name, pivots_aval))
    if not pivots_aval.shape or permutation_size < pivots_aval.shape[-1]:
        raise ShapeError(
            f"{name} of {pivots_aval}{where()} with permutation_size={permutation_size}: the size must be at least the "
            "number of pivots, which is that of the last axis. Give the number of rows of the matrix."
        )
    return shaped_array((*pivots_aval.shape[:-1], permutation_size), pivots_aval.dtype)


def lu_pivots_to_permutation_impl(pivots: Value, *, permutation_size: int) -> Value:
    *leading, steps = pivots.shape
    order = exchanged(pivots.reshape(prod(leading), steps), permutation_size)
    return order.reshape(*leading, permutation_size).astype(pivots.dtype, copy=False)


lu_pivots_to_permutation_p.def_impl(lu_pivots_to_permutation_impl, leaf=True)


@lu_pivots_to_permutation_p.def_rule("decomposition")
def lu_pivots_to_permutation_decomposition(pivots: Value, *, permutation_size: int) -> Value:
    """Exchange by masks, so that each step is elementwise over a batch."""
    *leading, steps = typeof(pivots).shape
    positions = broadcasted_iota(typeof(pivots).dtype, (*leading, permutation_size), len(leading))
    padding = ((0, 0, 0),) * len(leading)

    def read(row: Value, place: Value) -> Value:
        return reduce_sum(select(eq(positions, place), row, zeros_like(row)), -1, keepdims=True)

    padded = pad(pivots, zeros_like(pivots, shape=()), (*padding, (0, permutation_size - steps, 0)))

    def step(k: Value, order: Value) -> Value:
        chosen = broadcast_to(read(padded, k), typeof(order).shape)
        moved = broadcast_to(read(order, chosen), typeof(order).shape)
        left = broadcast_to(read(order, k), typeof(order).shape)
        return select(eq(positions, k), moved, select(eq(positions, chosen), left, order))

    return fori_loop(0, steps, step, positions)


def lu_pivots_to_permutation(pivots: Value, permutation_size: int) -> Value:
    """Return the order of the rows after the exchanges `pivots`: step k exchanges the rows k and pivots[k].

    Shapes: pivots [*s, k] -> [*s, permutation_size].  Dtype: kept, an integer.
    Raises: TypeError unless the pivots are integers; ShapeError if there are more pivots than rows.

    >>> import numpy as np
    >>> from calque_linalg import lu_pivots_to_permutation
    >>> lu_pivots_to_permutation(np.array([2, 1]), 3)
    array([2, 1, 0])
    """
    size = integer("lu_pivots_to_permutation", "permutation_size", permutation_size)
    pivots = convert_element_type(pivots, typeof(pivots).dtype)
    lu_pivots_to_permutation_p.abstract(typeof(pivots), permutation_size=size)
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=size)


# QR

qr_p = Primitive("qr", multiple_results=True)


@qr_p.def_abstract_eval(cached=True)
def qr_abstract_eval(x_aval: ShapedArray, *, pivoting: bool, full_matrices: bool) -> list[ShapedArray]:
    check_matrices("qr", x_aval)
    *leading, m, n = x_aval.shape
    inner = m if full_matrices else min(m, n)
    outs = [shaped_array((*leading, *sizes), x_aval.dtype) for sizes in ((m, inner), (inner, n))]
    return [*outs, shaped_array((*leading, n), _INT32)] if pivoting else outs


def qr_impl(x: Value, *, pivoting: bool, full_matrices: bool) -> list[Value]:
    mode: Any = "complete" if full_matrices else "reduced"
    if not pivoting:
        return list(np.linalg.qr(x, mode))
    order = column_order(x)
    return [*np.linalg.qr(np.take_along_axis(x, order[..., None, :], -1), mode), order]


qr_p.def_impl(qr_impl, leaf=True)


def check_unique_q(x_aval: ShapedArray, full_matrices: bool) -> None:
    """Check that Q is a function of x alone, so that it has a derivative.  Raises: NotImplementedError."""
    m, n = x_aval.shape[-2:]
    if full_matrices and m > n:
        raise NotImplementedError(
            f"qr of {x_aval}{where()}: the last {m - n} columns of a square Q are not unique, so they have no "
            "derivative. Use full_matrices=False."
        )


def qr(x: Value, *, pivoting: bool = False, full_matrices: bool = True) -> tuple[Value, ...]:
    """Return Q with orthonormal columns and the upper triangular R for which Q R = x, or x[:, p] with `pivoting`.

    With `full_matrices`, Q is square; otherwise it has as many columns as R has rows, the smaller size of x.  The
    diagonal of R is real; the signs are those of LAPACK.  With `pivoting` the third result, p, orders the columns such
    that each next one has the greatest part that is orthogonal to those before it.
    Shapes: x [*s, m, n] -> [*s, m, k], [*s, k, n], where k is m or min(m, n), and [*s, n] with `pivoting`.
    Dtypes: that of x, one of the four dtypes of LAPACK, and int32; integers become floats.
    The derivative needs the first min(m, n) columns to be independent: it is infinite or NaN where they are not.  Q has
    none if it is square and m > n, since its last columns are not unique.
    Raises: TypeError for another dtype; ShapeError for fewer than two axes.

    >>> import numpy as np
    >>> from calque_linalg import qr
    >>> q, r = qr(np.array([[3.0, 5.0], [4.0, 5.0]]))
    >>> r
    array([[-5., -7.],
           [ 0., -1.]])
    """
    (x,) = field_operands("qr", x)
    params = {"pivoting": bool(pivoting), "full_matrices": bool(full_matrices)}
    qr_p.abstract(typeof(x), **params)
    return tuple(qr_p.bind(x, **params))
