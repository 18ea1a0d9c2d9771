"""Lengths of vectors and matrices, as in `numpy.linalg`.

Read next: `condition.py`, for quotients of the greatest and the least length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import implements, lax, typeof
from calque_core.engine import numpy_functions as reductions
from calque_core.engine.numpy_functions import as_dtype, canonical_axis, integers, reduced_axes, wide_float
from calque_core.extend import integer, late_function, where

Value = Any

svdvals = late_function("calque_numpy.spectra", "svdvals")  # few norms need it, and it brings factorisations along


@implements(np.linalg.norm)
def norm(x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the norm of vectors along one axis, or of matrices along two.

    Dtype: the dtype of the real and imaginary parts; float64 for integers and bools.
    Without `axis`, `x` is one vector or matrix; without `ord` too, it is the norm of the flat array.

    The default `ord` of vectors is 2; 1, inf, -inf, 0 and other numbers are as in NumPy.  The default of matrices is
    "fro"; 1, -1, inf and -inf are the extreme sums of columns and rows, 2, -2 and "nuc" the greatest, the least and
    the sum of the singular values.
    Raises: ValueError for another `ord`, or more than two axes.

    >>> import numpy as np
    >>> from calque_numpy.linalg import norm
    >>> norm(np.array([3.0, 4.0]))
    np.float64(5.0)
    """
    x = _in_doubles(x)
    ndim = typeof(x).ndim
    if axis is None and ord is None:
        out = _length(x, tuple(range(ndim)))
        return lax.reshape(out, (1,) * ndim) if keepdims else out
    if axis is None:
        axes = tuple(range(ndim))
    else:
        axes = integers("norm", "axis", axis) if isinstance(axis, tuple) else (integer("norm", "axis", axis),)
    axes = tuple(canonical_axis("norm", d, ndim) for d in axes)
    if len(axes) == 1:
        out = _vector_norm(x, ord, axes)
    elif len(axes) == 2 and axes[0] != axes[1]:
        out = _matrix_norm(x, ord, axes)
    else:
        raise ValueError(f"norm of {typeof(x)}{where()} along {axes}. Give one axis, or two different axes.")
    return lax.expand_dims(out, axes) if keepdims else out


def _in_doubles(x: Value) -> Value:
    """Return `x`, integers as float64, as in NumPy: squares of 8 bits do not fit float16."""
    return as_dtype(x, wide_float(typeof(x).dtype)) if typeof(x).kind in "biu" else x


def _length(x: Value, axes: tuple[int, ...]) -> Value:
    return lax.sqrt(lax.reduce_sum(lax.square(_modulus(x)), axes))


def _modulus(x: Value) -> Value:
    """Return the moduli of complex numbers, other numbers unchanged: their squares are equal."""
    return lax.abs(x) if typeof(x).kind == "c" else x


def _vector_norm(x: Value, ord: Any, axes: tuple[int, ...]) -> Value:
    if ord is None or ord == 2:
        return _length(x, axes)
    if not isinstance(ord, (int, float)):
        raise ValueError(f"norm{where()}: ord is {ord!r}, which is no norm of vectors. Use a number, inf or -inf.")
    size = lax.abs(x)
    if abs(ord) == np.inf:
        return _extreme(size, ord, axes)
    if ord == 0:
        return lax.reduce_sum(as_dtype(lax.ne(x, 0), typeof(size).dtype), axes)
    if ord == 1:
        return lax.reduce_sum(size, axes)
    return lax.pow(lax.reduce_sum(lax.pow(size, float(ord)), axes), 1.0 / ord)


def _matrix_norm(x: Value, ord: Any, axes: tuple[int, ...]) -> Value:
    if ord is None or ord == "fro":
        return _length(x, axes)
    rows, columns = axes
    if ord in ("nuc", 2, -2):
        return _singular_norm(x, ord, rows, columns)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(
            f"norm{where()}: ord is {ord!r}, which is no norm of matrices. Use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."
        )
    summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = lax.reduce_sum(lax.abs(x), (summed,))
    return _extreme(sums, ord, (other - (other > summed),))


def _singular_norm(x: Value, ord: Any, rows: int, columns: int) -> Value:
    """Return the sum, the greatest or the least of the singular values."""
    ndim = typeof(x).ndim
    values = svdvals(lax.transpose(x, (*(d for d in range(ndim) if d not in (rows, columns)), rows, columns)))
    if ord == "nuc":
        return lax.reduce_sum(values, (ndim - 2,))
    return _extreme(values, ord, (ndim - 2,))


def _extreme(sizes: Value, ord: Any, axes: tuple[int, ...]) -> Value:
    """Return the greatest of numbers that are not negative, 0 if there is none; for a negative `ord`, the least."""
    if ord < 0:
        return reductions.min(sizes, axes)
    shape = typeof(sizes).shape
    return reductions.max(sizes, axes, initial=None if all(shape[d] for d in axes) else 0)


@implements(np.linalg.vector_norm)
def vector_norm(x: Value, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Value:
    """Return the norm of the vectors along one axis or several, or of all elements.

    `ord` is as for `norm` of vectors.
    Dtype: the dtype of the real and imaginary parts; float64 for integers and bools.
    Raises: ValueError for another `ord`, or an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy.linalg import vector_norm
    >>> vector_norm(np.array([[3.0], [4.0]]))
    np.float64(5.0)
    """
    x = _in_doubles(x)
    axes = reduced_axes("vector_norm", axis, typeof(x).ndim)
    out = _vector_norm(x, ord, axes)
    return lax.expand_dims(out, axes) if keepdims else out


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Value, /, *, keepdims: bool = False, ord: Any = "fro") -> Value:
    """Return the norm of the matrices of the last two axes.

    `ord` is as for `norm` of matrices.
    Dtype: the dtype of the real and imaginary parts; float64 for integers and bools.
    Raises: ValueError for another `ord`, or fewer than two axes.

    >>> import numpy as np
    >>> from calque_numpy.linalg import matrix_norm
    >>> matrix_norm(np.array([[3.0, 0.0], [0.0, 4.0]]), ord=2)
    np.float64(4.0)
    """
    return norm(x, ord, (-2, -1), keepdims)
