"""Matrices made of vectors or of other matrices, by scipy's names.

One idea: each element is one of a vector, or a constant; so a matrix is that vector at a table of positions.

Read next: `constant_matrices.py`, for matrices that follow from their size.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from calque_core import ShapeError, lax, result_type, typeof
from calque_core.engine import is_array_like
from calque_core.engine.numpy_functions import (
    as_dtype,
    broadcast_to,
    check_dtypes,
    promoted_dtype,
    true_divide,
)
from calque_core.extend import integer, where
from calque_core.lax import broadcast_shapes
from calque_linalg.kit import conjugated
from calque_numpy.creation import asarray
from calque_numpy.joining import concatenate
from calque_numpy.shapes import atleast_1d, atleast_2d

Value = Any


def _vectors(name: str, *operands: Value) -> list[Value]:
    """Return vectors, or batches of vectors with one shape of the leading axes, in one dtype.  Raises: ShapeError."""
    vectors = [asarray(x) for x in operands]
    for x in vectors:
        if not typeof(x).ndim:
            raise ShapeError(f"{name}{where()}: an operand is {typeof(x)}. Give vectors.")
    dtype = promoted_dtype(name, *vectors)
    try:
        leading = broadcast_shapes(*(typeof(x).shape[:-1] for x in vectors))
    except ValueError:
        types = " and ".join(str(typeof(x)) for x in vectors)
        raise ShapeError(f"{name} of {types}{where()}: the leading axes do not broadcast.") from None
    return [broadcast_to(as_dtype(x, dtype), (*leading, typeof(x).shape[-1])) for x in vectors]


def _at(vectors: list[Value], table: Value) -> Value:
    """Return the elements, at a table of positions, of the vectors one after the other."""
    return concatenate(vectors, -1)[..., table]


def looked_up(vectors: list[Value], table: Value) -> Value:
    """Return the elements, at a table of positions, of the vectors one after the other; position -2 is 0, and -1 is 1.

    >>> looked_up([np.array([3.0, 4.0])], np.array([[0, -1], [-2, 1]]))
    array([[3., 1.],
           [0., 4.]])
    """
    like = vectors[0]
    constants = broadcast_to(np.array([0, 1], typeof(like).dtype), (*typeof(like).shape[:-1], 2))
    return _at([*vectors, constants], table)


def toeplitz(c: Value, r: Value = None) -> Value:
    """Return the matrix with equal elements on each diagonal: its first column is `c`, and its first row `r` from 1 on.

    The default of `r` is the conjugate of `c`.
    Shapes: c [*b, n], r [*b, m] -> [*b, n, m]; the axes b broadcast.  Dtype: promoted.
    Raises: ShapeError for scalars, or if the leading axes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import toeplitz
    >>> toeplitz(np.array([1, 2, 3]), np.array([1, 7]))
    array([[1, 7],
           [2, 1],
           [3, 2]])
    """
    column, row = _vectors("toeplitz", c, conjugated(asarray(c)) if r is None else r)
    n, m = typeof(column).shape[-1], typeof(row).shape[-1]
    steps = np.arange(n)[:, None] - np.arange(m)
    return _at([column, row], np.where(steps < 0, n - steps, steps))


def circulant(c: Value) -> Value:
    """Return the square matrix with the first column `c`; each next column is shifted down by one element, in a cycle.

    Shapes: c [*b, n] -> [*b, n, n].  Dtype: kept.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import circulant
    >>> circulant(np.array([1, 2, 3]))
    array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]])
    """
    c = atleast_1d(asarray(c))
    positions = np.arange(typeof(c).shape[-1])
    return _at([c], (positions[:, None] - positions) % max(len(positions), 1))


def hankel(c: Value, r: Value = None) -> Value:
    """Return the matrix with equal elements on each counterdiagonal: its first column is `c`, its last row `r` from 1.

    The default of `r` is zeros.
    Shapes: c [*b, n], r [*b, m] -> [*b, n, m]; the axes b broadcast.  Dtype: promoted.
    Raises: ShapeError for scalars, or if the leading axes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import hankel
    >>> hankel(np.array([1, 2, 3]), np.array([3, 7]))
    array([[1, 2],
           [2, 3],
           [3, 7]])
    """
    column, row = _vectors("hankel", c, lax.zeros_like(asarray(c)) if r is None else r)
    n, m = typeof(column).shape[-1], typeof(row).shape[-1]
    steps = np.arange(n)[:, None] + np.arange(m)
    return _at([column, row], np.where(steps < n, steps, steps + 1))


def companion(a: Value) -> Value:
    """Return the matrix whose eigenvalues are the roots of the polynomial with the coefficients `a`, highest first.

    Shapes: a [*b, n] -> [*b, n - 1, n - 1].  Dtype: a's; float64 for integers.
    Raises: ShapeError for fewer than two coefficients; ValueError if the first one is known to be 0.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import companion
    >>> companion(np.array([2.0, -10.0, 12.0]))
    array([[ 5., -6.],
           [ 1.,  0.]])
    """
    coefficients = _monic("companion", a, 2)
    size = typeof(coefficients).shape[-1] - 1
    table = np.where(np.eye(size, k=-1), -1, -2)
    table[0] = np.arange(1, size + 1)
    return looked_up([lax.neg(coefficients)], table)


def _monic(name: str, a: Value, least: int) -> Value:
    """Return coefficients divided by the first one.  Raises: ShapeError, ValueError."""
    a = atleast_1d(asarray(a))
    aval = typeof(a)
    if aval.shape[-1] < least:
        raise ShapeError(f"{name} of {aval}{where()}: there are too few coefficients. Give {least} or more.")
    if type(a) is np.ndarray and (a[..., 0] == 0).any():
        raise ValueError(f"{name} of {aval}{where()}: the first coefficient is 0. Remove leading zeros.")
    return true_divide(a, a[..., :1])


def fiedler(a: Value) -> Value:
    """Return the symmetric matrix of the absolute differences of elements.

    Shapes: a [*b, n] -> [*b, n, n].  Dtype: kept.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import fiedler
    >>> fiedler(np.array([1, 4, 6]))
    array([[0, 3, 5],
           [3, 0, 2],
           [5, 2, 0]])
    """
    a = atleast_1d(asarray(a))
    return lax.abs(lax.sub(*_pairs(a)))


def _pairs(a: Value) -> tuple[Value, Value]:
    shape = (*typeof(a).shape, typeof(a).shape[-1])
    return broadcast_to(lax.expand_dims(a, (-1,)), shape), broadcast_to(lax.expand_dims(a, (-2,)), shape)


def fiedler_companion(a: Value) -> Value:
    """Return a matrix of five diagonals whose eigenvalues are the roots of the polynomial with the coefficients `a`.

    Shapes: a [*b, n] -> [*b, n - 1, n - 1].  Dtype: a's; float64 for integers.
    Raises: ShapeError without coefficients; ValueError if the first one is known to be 0.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import fiedler_companion
    >>> fiedler_companion(np.array([1.0, -6.0, 11.0, -6.0]))
    array([[  6., -11.,   1.],
           [  1.,   0.,   0.],
           [  0.,   6.,   0.]])
    """
    coefficients = _monic("fiedler_companion", a, 1)
    n = typeof(coefficients).shape[-1] - 1
    table = np.full((n, n), -2)
    for k in range(1, n + 1):  # coefficient k is above the diagonal if k is even, and below it if k is odd
        table[(k - 2, k - 1) if k % 2 == 0 else (k - 1, max(k - 2, 0))] = k
    for k in range(n - 2):
        table[(k, k + 2) if k % 2 == 0 else (k + 2, k)] = -1
    table[1:2, :1] = -1
    return looked_up([lax.neg(coefficients)], table)


def leslie(f: Value, s: Value) -> Value:
    """Return the matrix with the first row `f`, and `s` on the diagonal below the main one: a model of generations.

    Shapes: f [*b, n], s [*b, n - 1] -> [*b, n, n]; the axes b broadcast.  Dtype: promoted.
    Raises: ShapeError if the lengths do not fit, or n is less than 2.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import leslie
    >>> leslie(np.array([0.1, 2.0]), np.array([0.5]))
    array([[0.1, 2. ],
           [0.5, 0. ]])
    """
    births, survivals = _vectors("leslie", atleast_1d(asarray(f)), atleast_1d(asarray(s)))
    n, count = typeof(births).shape[-1], typeof(survivals).shape[-1]
    if n < 2 or count != n - 1:
        raise ShapeError(
            f"leslie{where()}: the vectors have the lengths {n} and {count}. Give two or more elements, and one fewer."
        )
    table = np.full((n, n), -2)
    table[0], table[np.arange(1, n), np.arange(n - 1)] = np.arange(n), np.arange(n, n + count)
    return looked_up([births, survivals], table)


def convolution_matrix(a: Value, n: int, mode: str = "full") -> Value:
    """Return the matrix whose product with a vector of n elements is `convolve(a, vector, mode)`.

    Shapes: a [*b, m] -> [*b, k, n], where k is n + m - 1 for "full", max(n, m) for "same", and for "valid"
    max(n, m) - min(n, m) + 1.  Dtype: kept.
    Raises: ValueError unless `n` is positive, or for another `mode`; ShapeError for a scalar or no elements.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import convolution_matrix
    >>> convolution_matrix(np.array([-1, 4, -2]), 3, mode="same")
    array([[ 4, -1,  0],
           [-2,  4, -1],
           [ 0, -2,  4]])
    """
    a, columns = asarray(a), integer("convolution_matrix", "n", n)
    if columns <= 0:
        raise ValueError(f"convolution_matrix{where()}: n is {columns}. Give a positive number of columns.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"convolution_matrix{where()}: mode is {mode!r}. Use 'full', 'valid' or 'same'.")
    aval = typeof(a)
    if not aval.shape or not aval.shape[-1]:
        raise ShapeError(f"convolution_matrix of {aval}{where()}: there are no elements. Give a vector.")
    size = aval.shape[-1]
    cut = 0 if mode == "full" else min(size, columns) - 1
    first = cut // 2 if mode == "same" else cut
    last = size + columns - 1 - (cut - first if mode == "same" else cut)
    positions = np.arange(first, last)[:, None] - np.arange(columns)
    return looked_up([a], np.where((positions >= 0) & (positions < size), positions, -2))


def block_diag(*arrs: Value) -> Value:
    """Return the matrix with these matrices on its diagonal, one after the other, and zeros elsewhere.

    A vector is a matrix of one row, a scalar of one element.
    Shapes: [n, m], [k, l], ... -> [n + k + ..., m + l + ...].  Dtype: promoted.
    Raises: ShapeError for an array of more axes.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import block_diag
    >>> block_diag(np.array([[1, 2]]), 3)
    array([[1, 2, 0],
           [0, 0, 3]])
    """
    if not arrs:
        return np.zeros((1, 0))
    for x in arrs:
        if typeof(asarray(x)).ndim > 2:
            raise ShapeError(f"block_diag{where()}: an operand is {typeof(asarray(x))}. Give matrices.")
    check_dtypes("block_diag", [typeof(x if is_array_like(x) else asarray(x)) for x in arrs])
    blocks = [atleast_2d(asarray(x)) for x in arrs]
    dtype = result_type(*blocks)
    starts = [0, *accumulate(typeof(x).shape[1] for x in blocks)]
    rows = [
        lax.pad(as_dtype(x, dtype), dtype.type(0), [(0, 0, 0), (start, starts[-1] - stop, 0)])
        for x, start, stop in zip(blocks, starts, starts[1:])
    ]
    return concatenate(rows)
