"""The properties of an array that its type tells: `x.shape`, `x.dtype`.

They are loaded for the first tracer, as operators are: nearly all programs ask for one.

Read next: `methods.py`, for `x.T` and `x.reshape(2, 3)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.types.array_methods import array_property
from calque_core.types.avals import Shape, typeof

Value = Any


@array_property
def shape(a: Value) -> Shape:
    """Return the sizes of the axes."""
    return typeof(a).shape  # type: ignore[no-any-return]


@array_property
def dtype(a: Value) -> np.dtype[Any]:
    """Return the dtype of the elements."""
    return typeof(a).dtype  # type: ignore[no-any-return]


@array_property
def ndim(a: Value) -> int:
    """Return the number of axes."""
    return len(typeof(a).shape)


@array_property
def size(a: Value) -> int:
    """Return the number of elements."""
    return typeof(a).size  # type: ignore[no-any-return]


@array_property
def itemsize(a: Value) -> int:
    """Return the number of bytes of one element."""
    return typeof(a).dtype.itemsize  # type: ignore[no-any-return]


@array_property
def nbytes(a: Value) -> int:
    """Return the number of bytes of all elements."""
    aval = typeof(a)
    return aval.size * aval.dtype.itemsize  # type: ignore[no-any-return]
