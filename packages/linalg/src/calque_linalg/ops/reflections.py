"""Householder reflections: the form in which LAPACK stores the orthogonal matrix of a QR factorisation.

One idea: reflection k is I - tau v v^H, where v has zeros before position k, a one at it, and the elements of column k
below the diagonal after it.  Q is the product of the reflections in order.

Read next: `factorizations.py`, whose `qr` has derivatives.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, typeof
from calque_core.extend import shaped_array, where
from calque_core.lax import add, mul, slice_in_dim, sub
from calque_linalg.ops.diagonals import as_rows
from calque_linalg.ops.matrices import (
    adjoint,
    check_matrices,
    conjugated,
    field_operands,
    identity_like,
    lower_triangle,
    matrix_product,
    transposed,
)
from calque_linalg.ops.triangular import triangular_solve

Value = Any

geqrf_p = Primitive("geqrf", multiple_results=True)


@geqrf_p.def_abstract_eval(cached=True)
def geqrf_abstract_eval(a_aval: ShapedArray) -> list[ShapedArray]:
    check_matrices("geqrf", a_aval)
    return [a_aval.strip_weak_type(), shaped_array((*a_aval.shape[:-2], min(a_aval.shape[-2:])), a_aval.dtype)]


def geqrf_impl(a: Value) -> list[Value]:
    if not a.size:
        return [np.array(a), np.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)]
    transposed, taus = np.linalg.qr(a, "raw")
    return [np.ascontiguousarray(transposed.mT), taus]


geqrf_p.def_impl(geqrf_impl, leaf=True)


def geqrf(a: Value) -> tuple[Value, Value]:
    """Return the QR factorisation as LAPACK stores it: R in the upper triangle, reflections below, and their taus.

    Shapes: a [*s, m, n] -> [*s, m, n], [*s, min(m, n)].  Dtype: one of the four dtypes of LAPACK; integers become
    floats.  It has no derivative; `qr` has one.
    Raises: TypeError for another dtype; ShapeError for fewer than two axes.

    >>> import numpy as np
    >>> from calque_linalg import geqrf
    >>> packed, taus = geqrf(np.array([[3.0], [4.0]]))
    >>> packed, taus
    (array([[-5. ],
           [ 0.5]]), array([1.6]))
    """
    (a,) = field_operands("geqrf", a)
    geqrf_p.abstract(typeof(a))
    packed, taus = geqrf_p.bind(a)
    return packed, taus


householder_product_p = Primitive("householder_product")


@householder_product_p.def_abstract_eval(cached=True)
def householder_product_abstract_eval(a_aval: ShapedArray, taus_aval: ShapedArray) -> ShapedArray:
    check_reflections("householder_product", a_aval, taus_aval)
    m, n = a_aval.shape[-2:]
    if m < n:
        raise ShapeError(
            f"householder_product of {a_aval}{where()}: the matrix has more columns than rows. Slice its columns."
        )
    return a_aval.strip_weak_type()


def check_reflections(name: str, a_aval: ShapedArray, taus_aval: ShapedArray) -> None:
    """Check that there are no more reflections, of the matrices' dtype, than the smaller size of a matrix."""
    check_matrices(name, a_aval)
    if taus_aval.dtype != a_aval.dtype:
        raise TypeError(
            f"{name} of {a_aval} and {taus_aval}{where()}: the dtypes differ. Convert one of the operands first."
        )
    if taus_aval.shape[:-1] != a_aval.shape[:-2] or not taus_aval.shape or taus_aval.shape[-1] > min(a_aval.shape[-2:]):
        raise ShapeError(
            f"{name} of {a_aval} and {taus_aval}{where()}: the shapes do not fit. Give one tau per reflection, that is "
            "at most one per column and per row, for each matrix."
        )


@householder_product_p.def_impl
@householder_product_p.def_rule("decomposition")
def householder_product_decomposition(a: Value, taus: Value) -> Value:
    return ormqr(a, taus, identity_like(a))


def householder_product(a: Value, taus: Value) -> Value:
    """Return the first columns of the orthogonal matrix Q whose reflections `geqrf` stored in `a` and `taus`.

    Shapes: a [*s, m, n] with n <= m, taus [*s, k] with k <= n -> [*s, m, n].  Dtype: promoted, one of the four dtypes
    of LAPACK.
    Raises: TypeError for another dtype; ShapeError if the shapes do not fit.

    >>> import numpy as np
    >>> from calque_linalg import geqrf, householder_product
    >>> householder_product(*geqrf(np.array([[3.0], [4.0]])))
    array([[-0.6],
           [-0.8]])
    """
    a, taus = field_operands("householder_product", a, taus)
    householder_product_p.abstract(typeof(a), typeof(taus))
    return householder_product_p.bind(a, taus)


def ormqr(a: Value, taus: Value, c: Value, *, left: bool = True, transpose: bool = False) -> Value:
    """Return q c, or c q without `left`, for the orthogonal matrix q that `geqrf` stored in `a` and `taus`.

    With `transpose`, the adjoint of q takes its place.  q is square; it is not formed.
    Shapes: a [*s, m, n], taus [*s, k] with k <= min(m, n), c [*s, m, l], or [*s, l, m] without `left` -> as c.
    Dtype: promoted, one of the four dtypes of LAPACK; integers become floats.
    Raises: TypeError for another dtype; ShapeError if the shapes do not fit.

    >>> import numpy as np
    >>> from calque_linalg import geqrf, ormqr
    >>> ormqr(*geqrf(np.array([[3.0], [4.0]])), np.array([[5.0], [10.0]]), transpose=True)
    array([[-11.],
           [  2.]])
    """
    a, taus, c = field_operands("ormqr", a, taus, c)
    a_aval, c_aval = typeof(a), typeof(c)
    check_reflections("ormqr", a_aval, typeof(taus))
    check_matrices("ormqr", a_aval, c_aval)
    if c_aval.shape[-2 if left else -1] != a_aval.shape[-2]:
        side = "rows" if left else "columns"
        raise ShapeError(
            f"ormqr of {a_aval} and {c_aval}{where()}: the last operand must have {a_aval.shape[-2]} {side}. Use "
            f"left={not left} for matrices on the other side."
        )
    if not left:  # c q is the adjoint of q^H c^H
        return adjoint(_product_of_reflections(a, taus, adjoint(c), is_adjoint=not transpose))
    return _product_of_reflections(a, taus, c, is_adjoint=transpose)


def _product_of_reflections(a: Value, taus: Value, c: Value, *, is_adjoint: bool) -> Value:
    """Return q c, or q^H c, where q is I - V T V^H, with the vectors of the reflections as the columns of V.

    T is upper triangular; its inverse is the strict upper triangle of V^H V with the 1 / tau on the diagonal, so
    T = (I + D S)^-1 D for D = diag(taus) and this strict triangle S.
    Source: Schreiber & Van Loan (1989), A storage-efficient WY representation for products of Householder matrices.
    """
    count = typeof(taus).shape[-1]
    below = slice_in_dim(a, 0, count, axis=-1)
    vectors = add(lower_triangle(below, -1), identity_like(below))
    rows = transposed(as_rows(taus, count))
    triangle = mul(rows, matrix_product(adjoint(vectors), vectors))  # its strict upper triangle is D S
    shares = matrix_product(adjoint(vectors), c)
    solve = partial(triangular_solve, triangle, left_side=True, unit_diagonal=True)
    scales = transposed(as_rows(taus, typeof(c).shape[-1]))
    if is_adjoint:
        shares = mul(conjugated(scales), solve(shares, transpose_a=True, conjugate_a=True))
    else:
        shares = solve(mul(scales, shares))
    return sub(c, matrix_product(vectors, shares))
