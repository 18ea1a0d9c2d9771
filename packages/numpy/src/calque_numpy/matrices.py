"""Diagonals and triangles.

One idea: in the flat elements of a matrix with m columns, a diagonal is every (m + 1)-th element from a first one;
so to read a diagonal is one slice, and to write it is one padding.

Read next: `products.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import implements, lax, typeof
from calque_core.engine.numpy_functions import canonical_axis, ravel, refuse, sum
from calque_core.extend import integer, where
from calque_numpy.ranges import tri

Value = Any
DType = Any


@implements(np.diagonal)
def diagonal(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """Return a diagonal of each matrix of two axes; `offset` > 0 is above the main diagonal.

    Shapes: a [*s, n, m] -> [*s, length], also for two other axes than the last.
    Raises: ValueError unless the axes differ and are in range.

    >>> import numpy as np
    >>> from calque_numpy import diagonal
    >>> diagonal(np.array([[1, 2], [3, 4]]))
    array([1, 4])
    """
    aval = typeof(a)
    if aval.ndim < 2:
        raise ValueError(
            f"diagonal of {aval}{where()}: the array must have at least two axes. Use diag to make a matrix."
        )
    rows, columns = canonical_axis("diagonal", axis1, aval.ndim), canonical_axis("diagonal", axis2, aval.ndim)
    if rows == columns:
        raise ValueError(f"diagonal{where()}: axis1 and axis2 are both {rows}. Give two different axes.")
    leading = [d for d in range(aval.ndim) if d not in (rows, columns)]
    return _last_diagonal(lax.transpose(a, (*leading, rows, columns)), integer("diagonal", "offset", offset))


def _last_diagonal(a: Value, offset: int) -> Value:
    *leading, n, m = typeof(a).shape
    first = offset if offset >= 0 else -offset * m
    length = max(min(n, m - offset) if offset >= 0 else min(n + offset, m), 0)
    flat = lax.reshape(a, (*leading, n * m))
    start = first if length else 0
    stop = start + (length - 1) * (m + 1) + 1 if length else 0
    zeros, ones = [0] * len(leading), [1] * len(leading)
    return lax.slice(flat, (*zeros, start), (*leading, stop), (*ones, m + 1))


@implements(np.diag)
def diag(v: Value, k: int = 0) -> Value:
    """Return the matrix with a vector on its k-th diagonal, or the k-th diagonal of a matrix.

    Raises: ValueError unless `v` has one or two axes.

    >>> import numpy as np
    >>> from calque_numpy import diag
    >>> diag(np.array([1, 2]))
    array([[1, 0],
           [0, 2]])
    """
    aval, k = typeof(v), integer("diag", "k", k)
    if aval.ndim == 2:
        return diagonal(v, k)
    if aval.ndim != 1:
        raise ValueError(
            f"diag of {aval}{where()}: the array must be a vector or a matrix. Use diagonal for more axes."
        )
    n = aval.size + abs(k)
    if not aval.size:
        return lax.full((n, n), 0, aval.dtype)
    before = k if k >= 0 else -k * n
    after = n * n - before - (aval.size - 1) * (n + 1) - 1
    return lax.reshape(lax.pad(v, aval.dtype.type(0), [(before, after, n)]), (n, n))


@implements(np.diagflat)
def diagflat(v: Value, k: int = 0) -> Value:
    """Return the matrix with the flat elements of `v` on its k-th diagonal.

    >>> import numpy as np
    >>> from calque_numpy import diagflat
    >>> diagflat(np.array([[1, 2]]))
    array([[1, 0],
           [0, 2]])
    """
    return diag(ravel(v), k)


@implements(np.trace)
def trace(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DType = None, out: None = None) -> Value:
    """Return the sum of a diagonal of each matrix of two axes.

    Shapes: a [*s, n, m] -> [*s], also for two other axes than the last.  Dtype: as `sum`.
    Raises: ValueError unless the axes differ and are in range; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import trace
    >>> trace(np.array([[1, 2], [3, 4]]))
    np.int64(5)
    """
    refuse("trace", out=out)
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


@implements(np.tril)
def tril(m: Value, k: int = 0) -> Value:
    """Return the matrices with zeros above their k-th diagonal.

    Shapes: m [*s, n, m] -> [*s, n, m]; a vector is repeated as the rows of a matrix.
    Raises: ValueError for a scalar.

    >>> import numpy as np
    >>> from calque_numpy import tril
    >>> tril(np.array([[1, 2], [3, 4]]))
    array([[1, 0],
           [3, 4]])
    """
    return lax.select(_triangle("tril", m, k), m, typeof(m).dtype.type(0))


@implements(np.triu)
def triu(m: Value, k: int = 0) -> Value:
    """Return the matrices with zeros below their k-th diagonal.

    Shapes: m [*s, n, m] -> [*s, n, m]; a vector is repeated as the rows of a matrix.
    Raises: ValueError for a scalar.

    >>> import numpy as np
    >>> from calque_numpy import triu
    >>> triu(np.array([[1, 2], [3, 4]]))
    array([[1, 2],
           [0, 4]])
    """
    return lax.select(_triangle("triu", m, integer("triu", "k", k) - 1), typeof(m).dtype.type(0), m)


def _triangle(name: str, m: Value, k: int) -> Value:
    aval = typeof(m)
    if not aval.shape:
        raise ValueError(f"{name} of {aval}{where()}: the array must have at least one axis. Give a matrix.")
    sizes = aval.shape[-2:]
    return tri(sizes[0], sizes[-1], k, bool)
