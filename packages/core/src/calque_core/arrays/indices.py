"""NumPy's indices in normal form: one part for each axis of the array, and one for each new axis.

One idea: a part is None (a new axis), the bounds of a slice, a known integer, or an array of positions, known or
traced.  A known mask is the positions where it holds; `...` is full slices.  Reading (`indexing.py`) and updating
(`at.py`) take the normal form, and know no other kinds of indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index as integer
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.numpy_sequences import array_of
from calque_core.errors import NonConcreteBooleanIndexError, TracerIntegerConversionError
from calque_core.frames.source import where
from calque_core.ops.windows import as_indices
from calque_core.record import Record
from calque_core.traces.tracer import known, unknown
from calque_core.types.array_methods import ArrayMethods
from calque_core.types.avals import Shape, ShapedArray, typeof

Value = Any
Bounds = tuple[int | None, int | None, int | None]
Part = Any  # an int, None, the Bounds of a slice, or an array of positions
FULL: Bounds = (None, None, None)

KINDS = "Use integers, slices, None, '...', or arrays of integers or bools"
MASKS = "Use numpy.where(mask, x, other), which keeps the shape"


class Form(Record):
    """An index in normal form.

    `shape` is the shape to which all positions are broadcast; its axes stand in the result where `place` axes, of
    slices and new ones, are before them.  `is_basic` says that there are no arrays.
    """

    parts: tuple[Part, ...]
    shape: Shape
    place: int
    is_basic: bool


# Single items


def basic_item(item: Any) -> Part:
    """Return an item of NumPy's basic indexing as a part or `...`; `unknown` for any other."""
    if type(item) is int or item is None or item is Ellipsis:
        return item
    if type(item) is slice:
        return _bound(item.start), _bound(item.stop), _bound(item.step)
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return integer(item)
    if isinstance(item, (np.ndarray, ArrayMethods)) and not typeof(item).shape and typeof(item).kind in "iu":
        value = known(item)
        return unknown if value is unknown else integer(np.asarray(value)[()])
    return unknown


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


def _name(aval: ShapedArray) -> str:
    return f"an index of {aval}{where()}"


def _array(aval: ShapedArray, item: Any) -> Value:
    """Return an item of NumPy's advanced indexing as an array of integers or bools, of NumPy's if it is known."""
    if isinstance(item, (list, tuple)):
        item = array_of(list(item)) if len(item) else np.zeros(0, np.int64)
    if not isinstance(item, (bool, np.ndarray, np.generic, ArrayMethods)):
        raise IndexError(f"{_name(aval)} is {item!r} of type {type(item).__name__}. {KINDS}.")
    if typeof(item).kind not in "iub":
        raise IndexError(f"{_name(aval)} has type {typeof(item)}. {KINDS}.")
    value = known(item)
    if value is not unknown:
        return np.asarray(value)
    if typeof(item).kind == "b":
        raise NonConcreteBooleanIndexError(
            f"{_name(aval)} is a boolean mask of type {typeof(item)}: how many elements it takes is not known "
            f"while tracing. {MASKS}."
        )
    return item


# From items to parts


def normal_form(aval: ShapedArray, index: Any, *, is_checked: bool = True) -> Form:
    """Return an index of an array of type `aval` in normal form.

    Raises: IndexError for an index that NumPy refuses, out of bounds only if `is_checked`;
    NonConcreteBooleanIndexError for a mask that is not known.
    """
    items = [_part(aval, item) for item in (index if type(index) is tuple else (index,))]
    return form_of(aval, items, is_checked=is_checked)


def form_of(aval: ShapedArray, items: Sequence[Any], *, is_checked: bool = True) -> Form:
    """Return items, each an int, None, `...`, bounds of a slice or an array, in normal form.  Raises: IndexError."""
    missing = _missing(aval, items)
    parts: list[Part] = []
    is_advanced: list[bool] = []  # of each item: the positions of adjacent items stay in place
    shapes: list[Shape] = []  # of positions
    axis, place = 0, None
    for item in items if any(item is Ellipsis for item in items) else [*items, Ellipsis]:
        new = [FULL] * missing if item is Ellipsis else list(_positions(aval, axis, item, is_checked=is_checked))
        is_advanced.append(item is not None and item is not Ellipsis and type(item) is not tuple)
        shapes += [(int(item),)] if is_single_bool(item) else [typeof(part).shape for part in new if is_array(part)]
        if is_advanced[-1] and place is None:
            place = _count_axes(parts)
        parts += new
        axis += missing if item is Ellipsis else consumed(item)
    if not shapes:
        return Form(tuple(parts), (), 0, is_basic=True)
    advanced = [i for i, flag in enumerate(is_advanced) if flag]
    is_adjacent = advanced[-1] - advanced[0] == len(advanced) - 1
    form = Form(tuple(parts), _common_shape(shapes), place if place and is_adjacent else 0, is_basic=False)
    has_positions = any(is_array(part) for part in parts)
    return form if has_positions or 0 in form.shape else _without_bools(form)


def _count_axes(parts: Sequence[Part]) -> int:
    """Return how many axes of the result slices and new axes make."""
    return sum(part is None or type(part) is tuple for part in parts)


def _without_bools(form: Form) -> Form:
    """Return a form whose only arrays are single bools, all True: they are one new axis."""
    cut = next(i for i in range(len(form.parts) + 1) if _count_axes(form.parts[:i]) == form.place)
    return Form((*form.parts[:cut], None, *form.parts[cut:]), (), 0, is_basic=True)


def _part(aval: ShapedArray, item: Any) -> Part:
    part = basic_item(item)
    return _array(aval, item) if part is unknown else part


def is_array(part: Part) -> bool:
    """Tell whether a part is an array of positions."""
    return part is not None and type(part) is not tuple and type(part) is not int


def is_single_bool(item: Any) -> bool:
    """Tell whether an item is a mask of no axes, which makes an axis of size 0 or 1."""
    return isinstance(item, np.ndarray) and not item.ndim and item.dtype.kind == "b"


def consumed(item: Any) -> int:
    """Return how many axes an item indexes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype.kind == "b" else 1


def _missing(aval: ShapedArray, items: Sequence[Any]) -> int:
    """Return for how many axes the ellipsis stands, written or implied at the end."""
    count = sum(item is Ellipsis for item in items)
    if count > 1:
        raise IndexError(f"an index{where()} has {count} ellipses ('...'). Use one at most.")
    missing = aval.ndim - sum(map(consumed, items))
    if missing < 0:
        raise IndexError(
            f"too many indices for an array of type {aval}{where()}: it has {aval.ndim} axes, but "
            f"{aval.ndim - missing} were indexed. Leave out {-missing}."
        )
    return missing


def _positions(aval: ShapedArray, axis: int, item: Any, *, is_checked: bool) -> Iterator[Part]:
    """Give the parts of an item: the positions where a mask holds, any other as it is, if it is in bounds."""
    if isinstance(item, np.ndarray) and item.dtype.kind == "b":
        sizes = aval.shape[axis : axis + item.ndim]
        if sizes != item.shape:
            raise IndexError(
                f"{_name(aval)} is a mask of shape {item.shape}, but the axes from axis {axis} on have "
                f"sizes {sizes}. Give a mask of these sizes."
            )
        yield from item.nonzero() if item.ndim else ()
        return
    is_known = type(item) is int or isinstance(item, np.ndarray)
    if is_known and is_checked:
        check_bounds(aval, axis, item)
    yield np.asarray(item) if is_known and not is_checked else item  # an integer may be out of bounds, as arrays may


def check_bounds(aval: ShapedArray, axis: int, positions: Any) -> None:
    """Check that known positions along an axis are in bounds.  Raises: IndexError."""
    size = aval.shape[axis]
    outside = np.asarray(positions)
    outside = outside[(outside < -size) | (outside >= size)]
    if outside.size:
        advice = f"Use an index from {-size} to {size - 1}" if size else "Take a slice"
        raise IndexError(
            f"index {outside.flat[0]} is out of bounds{where()}: axis {axis} of {aval} has size {size}. {advice}."
        )


def _common_shape(shapes: Sequence[Shape]) -> Shape:
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(map(str, shapes))
        raise IndexError(
            f"the arrays of an index{where()} have shapes {listed}, which do not broadcast. Make the sizes of each "
            "axis equal, or 1; to take rows and columns, use x[rows[:, None], columns]."
        ) from None


# From parts to indices of windows


def rows_of_indices(columns: Sequence[tuple[Value, int, Shape]], shape: Shape) -> Value:
    """Return positions along several axes as rows of indices.

    Each column is positions, the size of their axis, and the axes of the rows that they have.
    Shapes: -> [*shape, number of columns].
    """
    if not columns:
        return np.zeros((*shape, 0), np.int32)
    placed = [_spread(p, size, axes, shape) for p, size, axes in columns]
    if all(isinstance(p, np.ndarray) for p in placed):
        return np.stack(placed, -1) if len(placed) > 1 else placed[0][..., None]
    is_wide = any(typeof(p).dtype == np.int64 for p in placed)
    placed = [lax.convert_element_type(p, np.int64) for p in placed] if is_wide else placed
    return lax.concatenate([lax.expand_dims(p, (len(shape),)) for p in placed], len(shape))


def _from_start(positions: Value, size: int) -> Value:
    """Return known positions counted from the start, all those out of bounds as -1 or `size`."""
    if positions.dtype.kind == "u":
        counted = np.minimum(positions.astype(np.uint64), np.uint64(size))
    else:
        positions = positions.astype(np.int64, copy=False)
        counted = np.minimum(np.maximum(np.where(positions < 0, positions + size, positions), -1), size)
    return counted.astype(np.int32 if size <= np.iinfo(np.int32).max else np.int64)


def _among(positions: Value, axes: Shape, ndim: int) -> Value:
    """Return known positions with axes of size 1 among their own."""
    sizes = dict(zip(axes, positions.shape))
    return positions.reshape([sizes.get(axis, 1) for axis in range(ndim)])


def _spread(positions: Value, size: int, axes: Shape, shape: Shape) -> Value:
    """Return positions, counted from the start, broadcast to the shape of the rows."""
    if isinstance(positions, (int, np.ndarray)):
        counted = _from_start(np.asarray(positions), size)
        return counted if counted.shape == shape else np.broadcast_to(_among(counted, axes, len(shape)), shape)
    is_unsigned = typeof(positions).kind == "u"
    positions = as_indices(positions)
    if not is_unsigned:
        positions = lax.select(lax.lt(positions, 0), lax.add(positions, size), positions)
    return lax.broadcast_in_dim(positions, shape, axes) if typeof(positions).shape != shape else positions


def rows_of(positions: Value, place: int, ndim: int) -> Shape:
    """Return which axes of the rows positions have, if their common shape has `ndim` axes from axis `place` on."""
    return tuple(range(place + ndim - len(typeof(positions).shape), place + ndim))
