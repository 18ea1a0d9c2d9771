"""Matrices made of vectors or of other matrices, by scipy's names."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from calque_core import ShapeError, lax, typeof
from calque_core.extend import where
from calque_core.extend.numpy_functions import as_dtype, conjugate, promoted_dtype
from calque_numpy.creation import asarray
from calque_numpy.joining import concatenate
from calque_numpy.shapes import atleast_2d

Value = Any


def toeplitz(c: Value, r: Value = None) -> Value:
    """Return the matrix with equal elements on each diagonal: its first column is `c`, and its first row `r` from 1 on.

    The default of `r` is the conjugate of `c`.
    Shapes: c [n], r [m] -> [n, m].  Dtype: promoted.
    Raises: ShapeError unless both are vectors.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import toeplitz
    >>> toeplitz(np.array([1, 2, 3]), np.array([1, 7]))
    array([[1, 7],
           [2, 1],
           [3, 2]])
    """
    c = asarray(c)
    r = conjugate(c) if r is None else asarray(r)
    for x in (c, r):
        if typeof(x).ndim != 1:
            raise ShapeError(f"toeplitz{where()}: an operand is {typeof(x)}. Give vectors.")
    n, m = typeof(c).shape[0], typeof(r).shape[0]
    dtype = promoted_dtype("toeplitz", c, r)
    diagonals = concatenate([as_dtype(r[:0:-1], dtype), as_dtype(c, dtype)])  # from the one on the upper right
    return diagonals[np.arange(n)[:, None] - np.arange(m) + max(m - 1, 0)]


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
    blocks = [atleast_2d(asarray(x)) for x in arrs]
    dtype = promoted_dtype("block_diag", *blocks)
    starts = [0, *accumulate(typeof(x).shape[1] for x in blocks)]
    rows = [
        lax.pad(as_dtype(x, dtype), dtype.type(0), [(0, 0, 0), (start, starts[-1] - stop, 0)])
        for x, start, stop in zip(blocks, starts, starts[1:])
    ]
    return concatenate(rows)
