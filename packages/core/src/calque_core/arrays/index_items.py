"""Single items of NumPy's indices: which are basic, and which are arrays.

One idea: an item of basic indexing is an int, None, `...` or the bounds of a slice; any other item is an array of
positions or a mask, known or traced.  An item that NumPy refuses is refused here, by its type.

Read next: `indices.py`, which puts items together.
"""

from __future__ import annotations

from contextlib import suppress
from operator import index as integer
from typing import Any

import numpy as np

from calque_core.arrays.numpy_sequences import array_of
from calque_core.errors import NonConcreteBooleanIndexError, TracerIntegerConversionError
from calque_core.frames.source import where
from calque_core.traces.tracer import known, unknown
from calque_core.types.array_methods import ArrayMethods
from calque_core.types.avals import ShapedArray, is_array_like, typeof

Value = Any
Bounds = tuple[int | None, int | None, int | None]
Part = Any  # an int, None, the Bounds of a slice, or an array of positions

KINDS = "Use integers, slices, None, '...', or arrays of integers or bools"
MASKS = "Use numpy.where(mask, x, other), which keeps the shape"


def basic_item(item: Any) -> Part:
    """Return an item of NumPy's basic indexing as a part or `...`; `unknown` for any other."""
    if type(item) is int or item is None or item is Ellipsis:
        return item
    if type(item) is np.ndarray and item.ndim:  # 0.5 us sooner
        return unknown
    if type(item) is slice:
        return _bound(item.start), _bound(item.stop), _bound(item.step)
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return integer(item)
    value = known(item) if isinstance(item, (np.ndarray, ArrayMethods)) and _is_integer(item) else unknown
    return unknown if value is unknown else integer(np.asarray(value)[()])


def _is_integer(item: Value) -> bool:
    """Tell whether an array is an integer; an array of texts, say, is refused later, with its dtype."""
    return is_array_like(item) and not typeof(item).shape and typeof(item).kind in "iu"


def _bound(value: Any) -> int | None:
    """Return a bound of a slice as an integer; a traced bound must have a known value."""
    if value is None or type(value) is int:
        return value
    try:
        return integer(value)
    except TracerIntegerConversionError as error:
        raise IndexError(
            f"a slice bound{where()} is a traced value of type {typeof(value)}, but how much a slice takes must be "
            "known while tracing. Use lax.dynamic_slice_in_dim(x, start, size), which takes a known number of elements."
        ) from error
    except TypeError:
        raise IndexError(f"a slice bound{where()} is {value!r}. Use an integer or None.") from None


def index_of(aval: ShapedArray) -> str:
    """Return how an error names an index of an array of type `aval`."""
    return f"an index of {aval}{where()}"


def _array_of(items: list[Any]) -> Value:
    """Return a list as an array; an empty list has no positions."""
    if {*map(type, items)} == {int}:  # nearly always; 4 us sooner
        with suppress(OverflowError):
            return np.array(items, np.int64)
    return array_of(items, "an index") if items else np.zeros(0, np.int64)


def array_item(aval: ShapedArray, item: Any) -> Value:
    """Return an item of NumPy's advanced indexing as an array of integers or bools, of NumPy's if it is known."""
    if isinstance(item, (list, tuple)):
        item = _array_of(list(item))
    if not isinstance(item, (bool, np.ndarray, np.generic, ArrayMethods)):
        raise IndexError(f"{index_of(aval)} is {item!r} of type {type(item).__name__}. {KINDS}.")
    if not is_array_like(item):
        raise IndexError(f"{index_of(aval)} is an array of dtype {np.asarray(item).dtype}. {KINDS}.")
    if typeof(item).kind not in "iub":
        raise IndexError(f"{index_of(aval)} has type {typeof(item)}. {KINDS}.")
    value = known(item)
    if value is not unknown:
        return np.asarray(value)
    if typeof(item).kind == "b":
        raise NonConcreteBooleanIndexError(
            f"{index_of(aval)} is a boolean mask of type {typeof(item)}: how many elements it takes is not known "
            f"while tracing. {MASKS}."
        )
    return item
