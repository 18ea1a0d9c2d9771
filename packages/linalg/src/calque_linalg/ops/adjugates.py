"""Adjugates, the matrices of the derivatives of determinants, and the derivatives of adjugates.

One idea: an adjugate is a polynomial, so it and its derivative exist for singular matrices, too.  Of a regular matrix
it is the determinant times the inverse; else it follows from the singular values, by products without a division.

Read next: `determinants.py`.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from calque_core import Primitive, ShapedArray, ShapeError, finfo, typeof
from calque_core.extend import real_dtype, where
from calque_core.lax import (
    abs,
    broadcast_in_dim,
    concatenate,
    cond,
    convert_element_type,
    cumprod,
    eq,
    lt,
    mul,
    neg,
    ones_like,
    reduce_and,
    reduce_max,
    reduce_sum,
    select,
    slice_in_dim,
    stack,
    sub,
    unstack,
    zeros_like,
)
from calque_linalg.ops.determinants import det
from calque_linalg.ops.diagonals import as_rows, diagonal_of, on_diagonal, scale_columns
from calque_linalg.ops.eigen import by_lapack, svd
from calque_linalg.ops.equations import solve
from calque_linalg.ops.matrices import adjoint, check_square, field_operands, identity_like, matrix_product, on_matrices

Value = Any

adjugate_p = Primitive("adjugate")


@adjugate_p.def_abstract_eval(cached=True)
def adjugate_abstract_eval(x_aval: ShapedArray) -> ShapedArray:
    check_square("adjugate", x_aval)
    return x_aval.strip_weak_type()


def adjugate_impl(x: Value) -> Value:
    try:
        inverse = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return _of_nearly_singular(x)
    conditions = np.abs(x).sum(-1).max(-1) * np.abs(inverse).sum(-1).max(-1)
    if not (conditions < _greatest_condition(x)).all():
        return _of_nearly_singular(x)
    return np.linalg.det(x)[..., None, None] * inverse


def _of_nearly_singular(x: Value) -> Value:
    """Evaluate `_by_singular_values`."""
    u, s, vh = by_lapack("adjugate", np.linalg.svd, x)
    one = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    turned = vh.conj().mT * (before * after)[..., None, :].astype(x.dtype, copy=False)
    return np.linalg.det(u @ vh)[..., None, None] * (turned @ u.conj().mT)


adjugate_p.def_impl(adjugate_impl, leaf=True)


def _greatest_condition(x: Value) -> float:
    """Return the condition number up to which an inverse keeps half of the digits."""
    return 1.0 / sqrt(float(finfo(real_dtype(typeof(x).dtype)).eps))


@adjugate_p.def_rule("decomposition")
def adjugate_decomposition(x: Value) -> Value:
    """Choose the formula for the whole batch: singular values cost many times the elimination."""
    inverse = solve(x, identity_like(x))
    is_regular = lt(mul(_size(x), _size(inverse)), _greatest_condition(x))
    return cond(
        reduce_and(is_regular),
        lambda x, inverse: mul(_over_matrices(det(x), x), inverse),
        lambda x, inverse: _by_singular_values(x),
        x,
        inverse,
    )


def _size(x: Value) -> Value:
    """Return the greatest sum of the moduli in a row."""
    ndim = typeof(x).ndim
    return reduce_max(reduce_sum(abs(x), ndim - 1), ndim - 2)


def _by_singular_values(x: Value) -> Value:
    """Reverse the product u s vh: the adjugate of an orthogonal matrix is its adjoint times its determinant.

    That of the diagonal matrix s has the products of the other elements of s.
    """
    u, s, vh = svd(x)
    turned = scale_columns(adjoint(vh), _products_of_others(s))
    return mul(_over_matrices(det(matrix_product(u, vh)), x), matrix_product(turned, adjoint(u)))


def _products_of_others(x: Value) -> Value:
    """Return, for each element along the last axis, the product of the other elements."""
    axis = typeof(x).ndim - 1
    one = ones_like(slice_in_dim(x, 0, 1, axis=axis))
    before = cumprod(concatenate([one, slice_in_dim(x, 0, -1, axis=axis)], axis), axis)
    return mul(before, cumprod(concatenate([slice_in_dim(x, 1, None, axis=axis), one], axis), axis, reverse=True))


def _over_matrices(numbers: Value, x: Value) -> Value:
    shape = typeof(x).shape
    return broadcast_in_dim(numbers, shape, range(len(shape) - 2))


def adjugate(x: Value) -> Value:
    """Return the adjugates of square matrices: the transposes of the matrices of their cofactors.

    Shapes: x [*s, n, n] -> [*s, n, n].  Dtype: one of the four dtypes of LAPACK; integers become floats.
    Derivatives: the first for every matrix; of every order for matrices that are not singular, or if n is at most 3.
    Raises: TypeError for another dtype; ShapeError unless the matrices are square; LinAlgError if the iteration for the
    singular values does not converge.  Compiled, the result is then NaN.

    >>> import numpy as np
    >>> from calque_linalg import adjugate
    >>> adjugate(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 4., -2.],
           [-3.,  1.]])
    """
    (x,) = field_operands("adjugate", x)
    adjugate_p.abstract(typeof(x))
    n = typeof(x).shape[-1]
    return _SMALL[n](x) if n in _SMALL else adjugate_p.bind(x)


def _adjugate_of_two(x: Value) -> Value:
    (a, b), (c, d) = (unstack(row, -1) for row in unstack(x, -2))
    return stack([stack([d, neg(b)], -1), stack([neg(c), a], -1)], -2)


def _adjugate_of_three(x: Value) -> Value:
    """Return the columns y z, z x and x y, as vector products of rows."""
    rows = unstack(x, -2)
    return stack([_vector_product(rows[i - 2], rows[i - 1]) for i in range(3)], -1)


def _vector_product(x: Value, y: Value) -> Value:
    a, b = unstack(x, -1), unstack(y, -1)
    return stack([sub(mul(a[i - 2], b[i - 1]), mul(a[i - 1], b[i - 2])) for i in range(3)], -1)


_SMALL = {0: lambda x: x, 1: ones_like, 2: _adjugate_of_two, 3: _adjugate_of_three}


# The derivative

adjugate_slope_p = Primitive("adjugate_slope")


@adjugate_slope_p.def_abstract_eval(cached=True)
def adjugate_slope_abstract_eval(x_aval: ShapedArray, y_aval: ShapedArray) -> ShapedArray:
    check_square("adjugate_slope", x_aval)
    if (x_aval.shape, x_aval.dtype) != (y_aval.shape, y_aval.dtype):
        raise ShapeError(
            f"adjugate_slope of {x_aval} and {y_aval}{where()}: the types differ. Give a change for each element."
        )
    return x_aval.strip_weak_type()


@adjugate_slope_p.def_impl
@adjugate_slope_p.def_rule("decomposition")
def adjugate_slope_decomposition(x: Value, y: Value) -> Value:
    """Change the diagonal matrix s of singular values by m = u^H y vh^H, and turn back as the adjugate does.

    To first order, element (i, j) of adj(s + m) changes by -m[i, j] p[i, j], where p[i, j] is the product of all values
    but s[i] and s[j], and element (i, i) by the sum of m[j, j] p[i, j] over the other j.
    """
    n = typeof(x).shape[-1]
    if n < 2:
        return zeros_like(x)
    u, s, vh = svd(x)
    others = _with_diagonal(_products_of_others(_with_diagonal(as_rows(s, n), 1)), 0)
    others = convert_element_type(others, typeof(x).dtype)
    change = matrix_product(adjoint(u), matrix_product(y, adjoint(vh)))
    traces = reduce_sum(mul(others, as_rows(diagonal_of(change), n)), typeof(x).ndim - 1)
    inner = sub(on_diagonal(as_rows(traces, n), 0), mul(others, change))
    outer = matrix_product(adjoint(vh), matrix_product(inner, adjoint(u)))
    return mul(_over_matrices(det(matrix_product(u, vh)), x), outer)


def _with_diagonal(x: Value, element: float) -> Value:
    return select(on_matrices(eq, x), element, x)


def adjugate_slope(x: Value, y: Value) -> Value:
    """Return the derivative of the adjugates of square matrices x along changes y of them.

    Shapes: x, y [*s, n, n] -> [*s, n, n].  Dtype: promoted, one of the four dtypes of LAPACK; integers become floats.
    Derivatives: along y for every matrix; along x for matrices that are not singular.
    Raises: TypeError for another dtype; ShapeError unless the matrices are square and of one shape; LinAlgError as
    `adjugate`.

    >>> import numpy as np
    >>> from calque_linalg import adjugate_slope
    >>> adjugate_slope(np.zeros((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 4., -2.],
           [-3.,  1.]])
    """
    x, y = field_operands("adjugate_slope", x, y)
    adjugate_slope_p.abstract(typeof(x), typeof(y))
    return adjugate_slope_p.bind(x, y)
