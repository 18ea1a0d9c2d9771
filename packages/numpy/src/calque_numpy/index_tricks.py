"""Arrays of indices: triangles, diagonals, grids.  Most depend on sizes alone, so NumPy makes them.

Read next: `taking.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import diag_indices, mgrid, ogrid, tril_indices, triu_indices

from calque_core import ShapeError, canonicalize_dtype, implements, lax, typeof
from calque_core.engine import is_array_like
from calque_core.engine.numpy_functions import as_dtype, at, dtype_argument, one_or_several
from calque_core.extend import check_callable
from calque_core.extend import where as place
from calque_numpy.creation import asarray, ones
from calque_numpy.places import known_array, nonzero, nonzero_places

Value = Any

__all__ = [
    "diag_indices", "diag_indices_from", "fill_diagonal", "indices", "ix_", "mask_indices", "mgrid", "ogrid",
    "ravel_multi_index", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
]  # fmt: skip


def indices(dimensions: Sequence[int], dtype: Any = int, sparse: bool = False) -> Any:
    """Return for each axis of a grid an array of the positions along it, stacked; if `sparse`, a tuple of them.

    Shapes: dimensions (n, m) -> [2, n, m], or [n, 1] and [1, m].  Dtype: the default integer unless `dtype` is passed.
    Raises: TypeError unless the sizes are integers; ValueError for a negative one.

    >>> from calque_numpy import indices
    >>> indices((2, 2))
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    sizes = one_or_several("indices", "dimensions", dimensions)
    if any(size < 0 for size in sizes):
        raise ValueError(f"indices{place()}: dimensions is {dimensions!r}. Give sizes of zero or more.")
    return np.indices(sizes, dtype_argument(int if dtype is None else dtype), sparse)  # type: ignore[call-overload]


def mask_indices(
    n: int, mask_func: Callable[[Value, Any], Value], k: Any = 0, *, size: int | None = None
) -> tuple[Value, ...]:
    """Return the indices of the elements of an n by n matrix that `mask_func(matrix, k)`, such as `triu`, keeps.

    With `size`, the mask may be traced: the first `size` indices, and 0 after the last.
    Raises: NumpyRuleError for a traced mask without `size`; TypeError unless `mask_func` is a function.

    >>> from calque_numpy import mask_indices, triu
    >>> mask_indices(2, triu)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    check_callable(mask_func, "mask_indices")
    mask = asarray(mask_func(ones((n, n), int), k))
    return nonzero_places("mask_indices", mask, size, None)


def _matrix_shape(name: str, arr: Value) -> tuple[int, int]:
    shape = typeof(arr).shape
    if len(shape) != 2:
        raise ShapeError(f"{name} of {typeof(arr)}{place()}. Give a matrix.")
    return shape[0], shape[1]


@implements(np.tril_indices_from)
def tril_indices_from(arr: Value, k: int = 0) -> tuple[np.ndarray, ...]:
    """Return the indices of the lower triangle of a matrix, up to its k-th diagonal.

    Raises: ShapeError unless `arr` is a matrix.

    >>> import numpy as np
    >>> from calque_numpy import tril_indices_from
    >>> tril_indices_from(np.ones((2, 2)))
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    n, m = _matrix_shape("tril_indices_from", arr)
    return np.tril_indices(n, k, m)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Value, k: int = 0) -> tuple[np.ndarray, ...]:
    """Return the indices of the upper triangle of a matrix, from its k-th diagonal on.

    Raises: ShapeError unless `arr` is a matrix.

    >>> import numpy as np
    >>> from calque_numpy import triu_indices_from
    >>> triu_indices_from(np.ones((2, 2)))
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    n, m = _matrix_shape("triu_indices_from", arr)
    return np.triu_indices(n, k, m)


@implements(np.diag_indices_from)
def diag_indices_from(arr: Value) -> tuple[np.ndarray, ...]:
    """Return the indices of the main diagonal of an array whose axes have one size.

    Raises: ShapeError for axes of different sizes, or fewer than two.

    >>> import numpy as np
    >>> from calque_numpy import diag_indices_from
    >>> diag_indices_from(np.ones((2, 2)))
    (array([0, 1]), array([0, 1]))
    """
    shape = typeof(arr).shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError(f"diag_indices_from of {typeof(arr)}{place()}. Give two or more axes of one size.")
    return np.diag_indices(shape[0], len(shape))


def fill_diagonal(a: Value, val: Value, wrap: bool = False, *, inplace: bool = False) -> Value:
    """Return the array with `val` on its main diagonal; NumPy's function changes its argument instead.

    Values are repeated; with `wrap`, a tall matrix has the diagonal again after each block.
    Shapes: a [n, m] or equal axes -> the same.
    Raises: ShapeError for fewer than two axes, or more than two that differ; TypeError for `inplace`.

    >>> import numpy as np
    >>> from calque_numpy import fill_diagonal
    >>> fill_diagonal(np.zeros((2, 2)), 5)
    array([[5., 0.],
           [0., 5.]])
    """
    if inplace:
        raise TypeError(f"fill_diagonal{place()}: an array is not changed in place. Use the result.")
    a = asarray(a)
    shape = typeof(a).shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(f"fill_diagonal of {typeof(a)}{place()}. Give a matrix, or axes of one size.")
    index = np.arange(typeof(a).size).reshape(shape)
    places = index.copy()
    np.fill_diagonal(places, -1, wrap)
    flat = np.flatnonzero(places.ravel() == -1)
    values = lax.reshape(asarray(val), (typeof(asarray(val)).size,))
    values = at(values)[np.arange(len(flat)) % max(typeof(values).size, 1)].get()
    flat_array = lax.reshape(a, (typeof(a).size,))
    return lax.reshape(at(flat_array)[flat].set(as_dtype(values, typeof(a).dtype), unique_indices=True), shape)


@implements(np.ix_)
def ix_(*args: Value) -> tuple[Value, ...]:
    """Return vectors of indices, each along an axis of its own: `x[ix_(rows, columns)]` is a part of a matrix.

    A vector of bools stands for the places where it is true, which must be known; a range is a vector, too.
    Shapes: [n], [m], .. -> [n, 1, ..], [1, m, ..], ..
    Raises: ShapeError for an array that is no vector; NumpyRuleError for traced bools.

    >>> import numpy as np
    >>> from calque_numpy import ix_
    >>> np.arange(6).reshape(2, 3)[ix_([0, 1], [True, False, True])]
    array([[0, 2],
           [3, 5]])
    """
    return tuple(
        lax.expand_dims(_vector_of_indices(x), [d for d in range(len(args)) if d != axis])
        for axis, x in enumerate(args)
    )


def _vector_of_indices(x: Value) -> Value:
    is_sequence = isinstance(x, Sequence) and not isinstance(x, (str, bytes)) and not is_array_like(x)
    x = asarray(list(x) if is_sequence else x)
    if typeof(x).ndim != 1:
        raise ShapeError(f"ix_ of {typeof(x)}{place()}. Give vectors.")
    if typeof(x).kind == "b":
        return nonzero(x)[0]
    return x if typeof(x).size else as_dtype(x, canonicalize_dtype(np.intp))  # an empty list has floats


def _require_integers(name: str, *indices: Value) -> None:
    for index in indices:
        if typeof(index).kind not in "biu":
            raise TypeError(f"{name} of {typeof(index)}{place()}: only integers are indices. Convert them first.")


@implements(np.unravel_index)
def unravel_index(indices: Value, shape: Any, order: str = "C") -> tuple[Value, ...]:
    """Return the indices of each axis for positions in the flat array; traced positions are not checked.

    Raises: ValueError for a known position out of bounds or another order than "C" and "F"; TypeError unless the
    positions are integers.

    >>> import numpy as np
    >>> from calque_numpy import unravel_index
    >>> unravel_index(np.array([5]), (2, 3))
    (array([1]), array([2]))
    """
    flat = asarray(indices)
    if isinstance(flat, (np.ndarray, np.generic)):
        return tuple(np.unravel_index(flat, shape, order))  # type: ignore[call-overload]
    if order not in ("C", "F"):
        raise ValueError(f"unravel_index{place()}: the order is {order!r}. Use 'C' or 'F'.")
    _require_integers("unravel_index", flat)
    sizes = one_or_several("unravel_index", "shape", shape)
    if (values := known_array(flat)) is not None:
        np.unravel_index(values, sizes)  # refuses positions out of bounds
    remaining, positions = as_dtype(flat, canonicalize_dtype(np.intp)), []
    for n in reversed(sizes) if order == "C" else sizes:
        positions.append(lax.rem(remaining, n))
        remaining = lax.div(remaining, n)
    return tuple(reversed(positions)) if order == "C" else tuple(positions)


def _check_known(parts: Sequence[Value], dims: Any, modes: Sequence[Any]) -> None:
    """Let NumPy refuse an unknown mode, and known indices out of bounds under the mode "raise".  Raises: ValueError."""
    nowhere = np.zeros(1, int)
    known = [known_array(part) if how == "raise" else nowhere for part, how in zip(parts, modes)]
    checked: Any = np.ravel_multi_index
    checked([nowhere if x is None else x for x in known], dims, modes)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Value:
    """Return the positions in the flat array of indices of each axis; traced indices are clipped or wrapped.

    Raises: ValueError for known indices out of bounds under the mode "raise", or an unknown order; TypeError unless the
    indices are integers.

    >>> import numpy as np
    >>> from calque_numpy import ravel_multi_index
    >>> ravel_multi_index((np.array([1]), np.array([2])), (2, 3))
    array([5])
    """
    parts = [asarray(part) for part in multi_index]
    if all(isinstance(part, (np.ndarray, np.generic)) for part in parts):
        return np.ravel_multi_index(tuple(parts), dims, mode, order)  # type: ignore[call-overload]
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index{place()}: the order is {order!r}. Use 'C' or 'F'.")
    _require_integers("ravel_multi_index", *parts)
    parts = [as_dtype(part, canonicalize_dtype(np.intp)) for part in parts]
    modes = (mode,) * len(parts) if isinstance(mode, str) else tuple(mode)
    _check_known(parts, dims, modes)
    strides = np.cumprod([1, *(dims[::-1] if order == "C" else dims)][: len(dims)])
    strides = strides[::-1] if order == "C" else strides
    out: Value = 0
    for part, n, stride, how in zip(parts, dims, strides, modes, strict=True):
        inside = lax.rem(lax.add(lax.rem(part, n), n), n) if how == "wrap" else lax.clamp(0, part, n - 1)
        out = lax.add(out, lax.mul(inside, int(stride)))
    return out
