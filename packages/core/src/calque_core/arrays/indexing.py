"""Basic indexing: `x[1, ::-2, None]` with NumPy's semantics, and iteration, which uses it.

One idea: the type and the index determine a plan of at most one slice, one reversal and one change of shape, and plans
are cached.  So the positions of the elements must be known while tracing.
"""

# ruff: noqa: N807  (methods are functions here: array_methods.py says why)

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from operator import index as integer
from typing import Any, NamedTuple

import numpy as np

from calque_core import lax
from calque_core.errors import NonConcreteBooleanIndexError, TracerIntegerConversionError
from calque_core.frames.source import where
from calque_core.primitives.primitive import Primitive
from calque_core.traces.tracer import is_tracer, view_of
from calque_core.types.array_methods import ArrayMethods, array_method
from calque_core.types.avals import ShapedArray, typeof

Value = Any
Bounds = tuple[int | None, int | None, int | None]
Item = Any  # an int, None, Ellipsis, or the Bounds of a slice
Step = tuple[Primitive, dict[str, Any]]


@array_method
def __getitem__(self: Value, index: Any) -> Value:
    items = index if type(index) is tuple else (index,)
    out = self
    for primitive, params in _plan(typeof(self), tuple([i if type(i) is int else _item(self, i) for i in items])):
        out = primitive.bind(out, **params)
    return view_of(self, out)


def is_advanced(index: Any) -> bool:
    """Tell whether an index has lists, masks or arrays of integers: NumPy's advanced indexing.

    >>> import numpy as np
    >>> from calque_core.extend import is_advanced
    >>> is_advanced((0, slice(None), np.int32(1))), is_advanced([0, 1])
    (False, True)
    """
    return any(map(_takes_elements, index if type(index) is tuple else (index,)))


def _takes_elements(item: Any) -> bool:
    if isinstance(item, (np.ndarray, np.generic, ArrayMethods)):
        return bool(typeof(item).shape) or typeof(item).dtype.kind == "b"
    return isinstance(item, (list, tuple, bool))


# From the index of the user to integers, None, Ellipsis and bounds

_KINDS = "Use integers, slices, None and '...'"
_MASKS = "Use numpy.where(mask, x, other), which keeps the shape"


def _item(x: Value, item: Any) -> Item:
    """Return one item of an index in the form of the cache keys; refuse all but basic indexing."""
    if item is None or item is Ellipsis:
        return item
    if type(item) is slice:
        return _bound(item.start), _bound(item.stop), _bound(item.step)
    if isinstance(item, bool) or not isinstance(item, (int, np.integer)):
        _refuse_other_kinds(f"an index of {typeof(x)}{where()}", item)
    try:
        return integer(item)
    except TracerIntegerConversionError as error:
        raise IndexError(
            f"an index of {typeof(x)}{where()} is a traced integer, but x[i] takes integers that are known while "
            "tracing. Use lax.dynamic_index_in_dim(x, i, axis, keepdims=False), or make the index static."
        ) from error


def _refuse_other_kinds(name: str, item: Any) -> None:
    """Refuse all but an array of one integer."""
    if isinstance(item, (list, tuple)):
        raise TypeError(f"{name} is a {type(item).__name__}. {_KINDS}; to take several elements, numpy.stack them.")
    if not isinstance(item, (bool, np.ndarray, np.generic, ArrayMethods)):
        raise IndexError(f"{name} is {item!r} of type {type(item).__name__}. {_KINDS}.")
    aval = typeof(item)
    if aval.dtype.kind == "b":
        if not isinstance(item, ArrayMethods):
            raise IndexError(f"{name} is a boolean mask of type {aval}. {_MASKS}.")
        raise NonConcreteBooleanIndexError(
            f"{name} is a boolean mask of type {aval}: how many elements it takes is not known while tracing. {_MASKS}."
        )
    if aval.dtype.kind not in "iu":
        raise IndexError(f"{name} has type {aval}. {_KINDS}.")
    if aval.shape:
        raise IndexError(
            f"{name} is an array of integers, {aval}. {_KINDS}; to take several elements, numpy.stack them."
        )


def _bound(value: Any) -> int | None:
    """Return a bound of a slice as an integer; a traced bound must have a known value."""
    if value is None or type(value) is int:
        return value
    try:
        return integer(value)
    except TracerIntegerConversionError as error:
        raise IndexError(
            f"a slice bound{where()} is a traced value of type {typeof(value)}, but how much a slice takes "
            "must be known while tracing. Make the bound static, or mask the array with numpy.where."
        ) from error
    except TypeError:
        raise IndexError(f"a slice bound{where()} is {value!r}. Use an integer or None.") from None


# From these items to operations


class AxisPlan(NamedTuple):
    """The elements of one axis: start, start + stride, ... below limit, in reverse order if `is_reversed`.

    `size` is the size of the axis in the result.  An integer removes its axis; None makes a new axis.
    """

    start: int
    limit: int
    size: int = 1
    stride: int = 1
    is_reversed: bool = False
    is_removed: bool = False
    is_new: bool = False


@lru_cache(maxsize=4096)
def _plan(aval: ShapedArray, index: tuple[Item, ...]) -> list[Step]:
    """Return the operations that compute `x[index]`: at most three, none if it is the array itself."""
    axes: list[AxisPlan] = []
    axis = 0
    for item in _expand(aval, index):
        axes.append(_plan_axis(aval, axis, item))
        axis += item is not None
    old = [p for p in axes if not p.is_new]
    return [*_cut(aval, old), *_turn(old), *_reshape(axes, old)]


def _expand(aval: ShapedArray, index: tuple[Item, ...]) -> list[Item]:
    """Return the index with its ellipsis, written or implied at the end, as full slices."""
    places = [place for place, item in enumerate(index) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError(f"an index{where()} has {len(places)} ellipses ('...'). Use one at most.")
    missing = aval.ndim - sum(item is not None and item is not Ellipsis for item in index)
    if missing < 0:
        raise IndexError(
            f"too many indices for an array of type {aval}{where()}: it has {aval.ndim} axes, but "
            f"{aval.ndim - missing} were indexed. Leave out {-missing}."
        )
    place = places[0] if places else len(index)
    return [*index[:place], *[(None, None, None)] * missing, *index[place + 1 :]]


def _plan_axis(aval: ShapedArray, axis: int, item: Item) -> AxisPlan:
    if item is None:
        return AxisPlan(0, 1, is_new=True)
    size = aval.shape[axis]
    if type(item) is tuple:
        return _plan_slice(item, size)
    position = item + size if item < 0 else item
    if not 0 <= position < size:
        advice = f"Use an index from {-size} to {size - 1}" if size else "Take a slice"
        raise IndexError(f"index {item} is out of bounds{where()}: axis {axis} of {aval} has size {size}. {advice}.")
    return AxisPlan(position, position + 1, is_removed=True)


def _plan_slice(bounds: Bounds, size: int) -> AxisPlan:
    if bounds[2] == 0:
        raise ValueError(f"slice step cannot be zero{where()}. Use a positive or a negative step.")
    start, stop, step = slice(*bounds).indices(size)
    positions = range(start, stop, step)
    if not positions:
        return AxisPlan(0, 0, size=0)
    first, last = (positions[0], positions[-1]) if step > 0 else (positions[-1], positions[0])
    several = len(positions) > 1
    return AxisPlan(first, last + 1, len(positions), abs(step) if several else 1, step < 0 and several)


def _cut(aval: ShapedArray, axes: list[AxisPlan]) -> list[Step]:
    if all((p.start, p.limit, p.stride) == (0, size, 1) for p, size in zip(axes, aval.shape)):
        return []
    strides = tuple(p.stride for p in axes)
    params = {
        "start_indices": tuple(p.start for p in axes),
        "limit_indices": tuple(p.limit for p in axes),
        "strides": None if set(strides) == {1} else strides,
    }
    return [(lax.slice_p, params)]


def _turn(axes: list[AxisPlan]) -> list[Step]:
    turned = tuple(axis for axis, p in enumerate(axes) if p.is_reversed)
    return [(lax.rev_p, {"dimensions": turned})] if turned else []


def _reshape(axes: list[AxisPlan], old: list[AxisPlan]) -> list[Step]:
    """Return the operation that removes axes, makes new ones, or both."""
    removed = tuple(axis for axis, p in enumerate(old) if p.is_removed)
    kept = [p for p in axes if not p.is_removed]
    shape = tuple(p.size for p in kept)
    positions = tuple(axis for axis, p in enumerate(kept) if not p.is_new)
    if not removed and len(positions) == len(kept):
        return []
    if len(positions) == len(kept):
        return [(lax.squeeze_p, {"dimensions": removed})]
    if not removed:
        return [(lax.broadcast_in_dim_p, {"shape": shape, "broadcast_dimensions": positions})]
    return [(lax.reshape_p, {"new_sizes": shape})]


# Iteration, length and assignment


@array_method
def __iter__(self: Value) -> Iterator[Value]:
    if not typeof(self).shape:
        raise TypeError(f"iteration over a 0-d array{where()}. Iterate over an array with at least one axis.")
    return (self[i] for i in range(len(self)))


@array_method
def __len__(self: Value) -> int:
    shape = typeof(self).shape
    if not shape:
        raise TypeError(f"len() of a 0-d array{where()}. Use x.size, or give the array an axis.")
    return shape[0]  # type: ignore[no-any-return]


@array_method
def __setitem__(self: Value, index: Any, value: Any) -> None:
    advice = "Make a new one: numpy.where(mask, value, x), or numpy.concatenate of its parts"
    raise TypeError(
        f"x[...] = value{where()}: an array of type {typeof(self)} that is traced or on a device cannot be "
        f"changed in place. {advice}{'' if is_tracer(self) else '; or change a copy, numpy.array(x)'}."
    )
