"""Places of nonzero elements, whose number depends on values.

One idea: of known values, also under a derivative, NumPy computes; of other traced values the caller says the size,
`size=`, since a program has fixed shapes.  Then the result has the first `size` places, and `fill_value` after the last
one.

Read next: `sets.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import NumpyRuleError, canonicalize_dtype, implements, is_tracer, lax, typeof
from calque_core.engine import has_short_dtype, known, unknown
from calque_core.engine.numpy_functions import as_dtype, at, broadcast_to, ravel
from calque_core.extend import integer, wide_dtype
from calque_core.extend import where as place
from calque_numpy.creation import asarray

Value = Any


def is_known(*arrays: Value) -> bool:
    """Tell whether NumPy can compute with all arrays: of a short dtype it does not sort NaN last."""
    return all(isinstance(x, (np.ndarray, np.generic)) and not has_short_dtype(x) for x in arrays)


def known_array(x: Value) -> Any:
    """Return the values of an array that Python control flow may look at, as under a derivative, or None."""
    if is_tracer(x):
        if known(x) is unknown:
            return None
        x = known(lax.stop_gradient(x))  # the operation refuses a tracer whose trace has ended
    return np.asarray(x)


def known_arrays(*arrays: Value) -> Any:
    """Return the values of arrays, in dtypes that NumPy sorts; None if a value is unknown.

    None also if no array is traced or of a short dtype: NumPy then computes with the arrays.
    """
    if not any(is_tracer(x) or has_short_dtype(x) for x in arrays):
        return None
    values = tuple(map(known_array, arrays))
    return None if any(x is None for x in values) else tuple(x.astype(wide_dtype(x.dtype), copy=False) for x in values)


def require_size(name: str, x: Value, size: int | None) -> int:
    """Return the size that the caller says.

    Raises: NumpyRuleError without a size; TypeError unless it is an integer; ValueError if it is negative.
    """
    if size is None:
        raise NumpyRuleError(
            f"{name} of {typeof(x)}{place()}: the shape of the result depends on the values of a traced array. "
            f"Use calque_numpy.{name}(.., size=n), which returns the first n elements."
        )
    if integer(name, "size", size) < 0:
        raise ValueError(f"{name}{place()}: size is {size}. Give zero or more.")
    return integer(name, "size", size)


def elements_at(x: Value, places: Value, exists: Value, fill: Value) -> Value:
    """Return the slices of an array at places along its first axis, and `fill` where a place does not exist."""
    n, *row_shape = typeof(x).shape
    shape, dtype = (*typeof(places).shape, *row_shape), typeof(x).dtype
    fill = broadcast_to(as_dtype(asarray(fill), dtype), shape)
    if not n:
        return fill
    return lax.select(lax.broadcast_in_dim(exists, shape, (0,)), at(x)[places].get(mode="clip"), fill)


@implements(np.nonzero)
def nonzero(a: Value, *, size: int | None = None, fill_value: Value = None) -> tuple[Value, ...]:
    """Return the places of the nonzero elements in the order of the flat array, one vector of indices for each axis.

    Shapes: a [n, m] -> [k], [k] for k nonzero elements, or [size]; `fill_value`, by default 0, comes after the last: a
    number, or one for each axis.
    Raises: NumpyRuleError for a traced array of unknown values without `size`; ValueError for a scalar.

    >>> import numpy as np
    >>> from calque_numpy import nonzero
    >>> nonzero(np.array([0, 3, 0, 5]), size=3)
    (array([1, 3, 0]),)
    """
    return nonzero_places("nonzero", asarray(a), size, fill_value)


def nonzero_places(name: str, a: Value, size: int | None, fill_value: Value) -> tuple[Value, ...]:
    """Return the places of the nonzero elements for the function `name`."""
    a = asarray(a)
    shape = typeof(a).shape
    if not shape:
        raise ValueError(f"{name} of {typeof(a)}{place()}: a scalar has no axes. Use numpy.atleast_1d.")
    values = known_array(a) if size is None else None
    if values is not None:
        return np.nonzero(values)
    size = require_size(name, a, size)
    is_nonzero = ravel(lax.ne(a, 0))
    flat, exists = first_places(is_nonzero, size)
    indices = []
    for d, (n, fill) in enumerate(zip(shape, _fills(name, fill_value, len(shape)))):
        stride = math.prod(shape[d + 1 :])
        index = lax.rem(lax.div(flat, max(stride, 1)), max(n, 1))
        indices.append(lax.select(exists, index, as_dtype(fill, typeof(flat).dtype)))
    return tuple(indices)


def _fills(name: str, fill_value: Value, ndim: int) -> Sequence[Value]:
    """Return the number that comes after the last index of each axis.

    Raises: ValueError unless there is one number, or one for each axis.
    """
    fill = asarray(0 if fill_value is None else fill_value)
    if not typeof(fill).ndim:
        return [fill] * ndim
    if typeof(fill).shape != (ndim,):
        raise ValueError(
            f"{name}{place()}: fill_value is {typeof(fill)} for {ndim} axes. Give one number, or one for each axis."
        )
    return lax.unstack(fill)


def first_places(mask: Value, size: int) -> tuple[Value, Value]:
    """Return the first `size` places where a vector of bools is true, and which of them exist."""
    index = canonicalize_dtype(np.intp)
    counts = lax.cumsum(as_dtype(mask, index), 0)
    target = lax.select(mask, lax.sub(counts, 1), size)
    blank = lax.full((size + 1,), 0, index)  # the last row takes the places of zeros
    places = at(blank)[target].set(lax.iota(index, typeof(mask).shape[0]), mode="drop")[:size]
    total = counts[-1] if typeof(mask).shape[0] else lax.full((), 0, index)
    return places, lax.lt(lax.iota(index, size), total)


@implements(np.flatnonzero)
def flatnonzero(a: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """Return the places of the nonzero elements in the flat array; `size` and `fill_value` as for `nonzero`.

    >>> import numpy as np
    >>> from calque_numpy import flatnonzero
    >>> flatnonzero(np.array([[0, 3], [0, 5]]))
    array([1, 3])
    """
    return nonzero_places("flatnonzero", ravel(asarray(a)), size, fill_value)[0]


@implements(np.argwhere)
def argwhere(a: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """Return the places of the nonzero elements as rows; `size` and `fill_value` as for `nonzero`.

    Shapes: a of n axes -> [k, n].

    >>> import numpy as np
    >>> from calque_numpy import argwhere
    >>> argwhere(np.array([[0, 3], [5, 0]]))
    array([[0, 1],
           [1, 0]])
    """
    a = asarray(a)
    if not typeof(a).ndim:
        rows = argwhere(lax.expand_dims(a, (0,)), size=size, fill_value=fill_value)
        return lax.slice_in_dim(rows, 0, 0, axis=1)
    return lax.stack(nonzero_places("argwhere", a, size, fill_value), 1)
