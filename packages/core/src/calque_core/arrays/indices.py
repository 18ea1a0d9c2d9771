"""NumPy's indices in normal form: one part for each axis of the array, and one for each new axis.

One idea: the types of an index decide its `Layout`, which is worked out once; the arrays of positions stand beside it.
A part is None (a new axis), the bounds of a slice, a known integer, or `Positions`, in the place of an array.  A known
mask is the positions where it holds; `...` is full slices.  Reading (`indexing.py`) and updating (`at.py`) take the
normal form, and know no other kinds of indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.index_items import Bounds, Part, array_item, basic_item, index_of
from calque_core.context import here
from calque_core.frames.source import where
from calque_core.known.operands import Option
from calque_core.ops.indexing.windows import MOST_COUNTED, as_indices, numbers_below
from calque_core.record import Record
from calque_core.traces.tracer import unknown
from calque_core.types.avals import Shape, ShapedArray, typeof

Value = Any
FULL: Bounds = (None, None, None)


class Positions(Record):
    """Stands for an array of positions: its shape.  `mask` is the shape of the mask that gave it, or None."""

    shape: Shape
    mask: Shape | None

    @property
    def num_axes(self) -> int:
        """How many axes of the array the item indexes: each has an array of positions."""
        return 1 if self.mask is None else len(self.mask)


class Layout(Option):
    """The part of an index that types decide, for an array of type `aval`.

    `axes` holds the axis of each array of positions.  `shape` is the shape to which all positions are broadcast; its
    axes stand in the result where `place` axes, of slices and new ones, are before them.  `is_basic` says that there
    are no arrays.
    """

    __slots__ = ("aval", "axes", "is_basic", "parts", "place", "shape")

    def __init__(self, aval: ShapedArray, parts: Sequence[Part], shape: Shape, place: int, *, is_basic: bool) -> None:
        self.aval, self.parts, self.shape, self.place, self.is_basic = aval, tuple(parts), shape, place, is_basic
        of_array = [part for part in parts if part is not None]
        self.axes = tuple(axis for axis, part in enumerate(of_array) if type(part) is Positions)


class Form(Record):
    """An index in normal form: its layout and its arrays of positions.

    Known positions are counted from the start; a position out of bounds is below zero, or the size of the axis or more.
    """

    layout: Layout
    positions: Sequence[Value]

    @property
    def parts(self) -> list[Part]:
        """The parts, with the arrays of positions in their places."""
        arrays = iter(self.positions)
        return [next(arrays) if type(part) is Positions else part for part in self.layout.parts]


# `normal_form` makes both in every read: 0.3 us sooner each
_new_positions: Any = partial(tuple.__new__, Positions)
_new_form: Any = partial(tuple.__new__, Form)


# From items to parts


class OutOfBoundsError(IndexError):
    """A known position is outside of its axis; the caller sees an IndexError, or none, by the settings."""


def normal_form(aval: ShapedArray, index: Any, *, is_checked: bool = True) -> Form:
    """Return an index of an array of type `aval` in normal form.

    Raises: IndexError for an index that NumPy refuses, out of bounds only if `is_checked` and the settings check known
    indices; NonConcreteBooleanIndexError for a mask that is not known.
    """
    try:
        return _normal_form(aval, index, is_checked)
    except OutOfBoundsError as error:
        if are_known_checked():
            raise IndexError(*error.args) from None
    return _normal_form(aval, index, False)


def are_known_checked() -> bool:
    """Tell whether a known index out of bounds is an error, by the settings."""
    return here().settings.known_indices == "checked"


def _normal_form(aval: ShapedArray, index: Any, is_checked: bool) -> Form:
    items: list[Any] = []
    positions: list[Value] = []
    for item in index if type(index) is tuple else (index,):
        is_usual = type(item) is np.ndarray and item.ndim and item.dtype.kind in "iub"  # 2 us sooner
        part = unknown if is_usual or type(item) is list else basic_item(item)
        if part is unknown:
            part = _add_array(item if is_usual else array_item(aval, item), positions)
        elif type(part) is int and not is_checked:  # it may be out of bounds, as the positions of an array may
            part = _add_array(np.asarray(part), positions)
        items.append(part)
    layout = layout_of(aval, tuple(items))
    for i, p in enumerate(positions):
        if isinstance(p, np.ndarray):
            positions[i] = _from_start(aval, layout.axes[i], p, is_checked)
    return _new_form((layout, positions))  # type: ignore[no-any-return]


def _add_array(item: Value, positions: list[Value]) -> Positions:
    """Append the positions of an item to a list: of a mask those where it holds, of other arrays all elements."""
    if not isinstance(item, np.ndarray):
        positions.append(item)
        return Positions(typeof(item).shape, None)
    if item.dtype.kind != "b":
        positions.append(item)
        return _new_positions((item.shape, None))  # type: ignore[no-any-return]
    if not item.ndim:  # no axis of the array, and one of the result
        return Positions((int(item),), ())
    places = item.nonzero()
    positions += places
    return Positions(places[0].shape, item.shape)


@lru_cache(maxsize=4096)
def layout_of(aval: ShapedArray, items: tuple[Any, ...]) -> Layout:
    """Return the layout of items, each an int, None, `...`, bounds of a slice or `Positions`.  Raises: IndexError."""
    missing = _missing(aval, items)
    parts: list[Part] = []
    is_advanced: list[bool] = []  # of each item: the positions of adjacent items stay in place
    shapes: list[Shape] = []  # of positions
    axis, place = 0, None
    for item in items if Ellipsis in items else [*items, Ellipsis]:
        is_advanced.append(item is not None and item is not Ellipsis and type(item) is not tuple)
        if is_advanced[-1] and place is None:
            place = _count_axes(parts)
        if type(item) is Positions:
            shapes.append(item.shape)
        parts += [FULL] * missing if item is Ellipsis else _parts(aval, axis, item)
        axis += missing if item is Ellipsis else _consumed(item)
    if not shapes:
        return Layout(aval, parts, (), 0, is_basic=True)
    advanced = [i for i, flag in enumerate(is_advanced) if flag]
    is_adjacent = advanced[-1] - advanced[0] == len(advanced) - 1
    shape, place = _common_shape(shapes), place if place and is_adjacent else 0
    if any(type(part) is Positions for part in parts) or 0 in shape:
        return Layout(aval, parts, shape, place, is_basic=False)
    cut = next(i for i in range(len(parts) + 1) if _count_axes(parts[:i]) == place)
    return Layout(aval, [*parts[:cut], None, *parts[cut:]], (), 0, is_basic=True)  # single bools, all True: a new axis


def _count_axes(parts: Sequence[Part]) -> int:
    """Return how many axes of the result slices and new axes make."""
    return sum(part is None or type(part) is tuple for part in parts)


def is_array(part: Part) -> bool:
    """Tell whether a part is an array of positions, or stands for one."""
    return part is not None and type(part) is not tuple and type(part) is not int


def _consumed(item: Any) -> int:
    """Return how many axes an item indexes."""
    return item.num_axes if type(item) is Positions else int(item is not None and item is not Ellipsis)


def _missing(aval: ShapedArray, items: Sequence[Any]) -> int:
    """Return for how many axes the ellipsis stands, written or implied at the end."""
    count = items.count(Ellipsis)
    if count > 1:
        raise IndexError(f"an index{where()} has {count} ellipses ('...'). Use one at most.")
    missing = aval.ndim - sum(map(_consumed, items))
    if missing < 0:
        raise IndexError(
            f"too many indices for an array of type {aval}{where()}: it has {aval.ndim} axes, but "
            f"{aval.ndim - missing} were indexed. Leave out {-missing}."
        )
    return missing


def _parts(aval: ShapedArray, axis: int, item: Any) -> list[Part]:
    """Return the parts of an item: one for each axis that it indexes, an integer counted from the start."""
    if type(item) is int:
        if not -aval.shape[axis] <= item < aval.shape[axis]:
            _refuse_position(aval, axis, item)
        return [item + aval.shape[axis] if item < 0 else item]
    if type(item) is not Positions:
        return [item]
    sizes = aval.shape[axis : axis + item.num_axes]
    if item.mask and sizes != item.mask:
        raise IndexError(
            f"{index_of(aval)} is a mask of shape {item.mask}, but the axes from axis {axis} on have "
            f"sizes {sizes}. Give a mask of these sizes."
        )
    return [Positions(item.shape, None)] * item.num_axes


def _from_start(aval: ShapedArray, axis: int, positions: Value, is_checked: bool) -> Value:
    """Return known positions counted from the start, those out of bounds as -1 or the size of the axis.

    Raises: IndexError for a position out of bounds, if `is_checked`.
    """
    size = aval.shape[axis]
    if size <= MOST_COUNTED and positions.ndim and positions.dtype.kind == "i":
        try:
            return numbers_below(size)[positions]  # 6 us sooner than comparisons
        except IndexError:  # the comparisons below name the position that is out of bounds, or mark it
            pass
    elif positions.dtype.kind == "i" and positions.size and positions.min() >= 0 and positions.max() < size:
        return positions.astype(_index_dtype(size))  # a fifth of the time of comparisons
    if positions.dtype.kind == "u":
        counted: Value = np.minimum(positions.astype(np.uint64), np.uint64(size))
    else:
        positions = positions.astype(np.int64, copy=False)
        counted = np.minimum(np.maximum(np.where(positions < 0, positions + size, positions), -1), size)
    is_outside = (counted < 0) | (counted >= size)
    if is_checked and is_outside.any():
        _refuse_position(aval, axis, positions[is_outside].flat[0])
    return np.asarray(counted)  # an array of rank 0, too: a scalar would be counted once more, as a traced position


def _refuse_position(aval: ShapedArray, axis: int, position: Any) -> None:
    size = aval.shape[axis]
    advice = f"Use an index from {-size} to {size - 1}" if size else "Take a slice"
    message = f"index {position} is out of bounds{where()}: axis {axis} of {aval} has size {size}. {advice}."
    raise OutOfBoundsError(message)


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

    Each column is positions, known ones counted from the start, the size of their axis, and the axes of the rows that
    they have.  If all are known, nobody can write to the result.
    Shapes: -> [*shape, number of columns].
    """
    if len(columns) == 1 and type(columns[0][0]) is np.ndarray:  # 1.5 us sooner
        positions, size, _ = columns[0]
        counted = positions.astype(_index_dtype(size), copy=False)
        counted.setflags(write=False)  # counted positions are a new array, so no view of it can be written to
        return counted[..., None]
    if all(isinstance(positions, (int, np.ndarray)) for positions, _, _ in columns):
        rows: Value = np.empty((*shape, len(columns)), _index_dtype(max([size for _, size, _ in columns], default=0)))
        for i, (positions, _, axes) in enumerate(columns):
            rows[..., i] = _among(positions, axes, len(shape))
        rows.flags.writeable = False
        return rows
    placed = [_spread(p, size, axes, shape) for p, size, axes in columns]
    is_wide = any(typeof(p).dtype == np.int64 for p in placed)
    placed = [lax.convert_element_type(p, np.int64) for p in placed] if is_wide else placed
    return lax.concatenate([lax.expand_dims(p, (len(shape),)) for p in placed], len(shape))


def _index_dtype(size: int) -> np.dtype[Any]:
    """Return the dtype of known indices along axes of at most this size, which marks a position out of bounds."""
    return _INT32 if size <= _MOST_INT32 else _INT64


_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_MOST_INT32 = np.iinfo(np.int32).max


def _among(positions: Value, axes: Shape, ndim: int) -> Value:
    """Return known positions with axes of size 1 among their own."""
    if isinstance(positions, int) or positions.ndim == ndim:
        return positions
    sizes = dict(zip(axes, positions.shape))
    return positions.reshape([sizes.get(axis, 1) for axis in range(ndim)])


def _spread(positions: Value, size: int, axes: Shape, shape: Shape) -> Value:
    """Return positions, counted from the start, broadcast to the shape of the rows."""
    if isinstance(positions, (int, np.ndarray)):
        counted: Value = np.asarray(positions).astype(_index_dtype(size))
        return np.broadcast_to(_among(counted, axes, len(shape)), shape)
    is_unsigned = typeof(positions).kind == "u"
    positions = as_indices(positions)
    if not is_unsigned:
        positions = lax.select(lax.lt(positions, 0), lax.add(positions, size), positions)
    return lax.broadcast_in_dim(positions, shape, axes) if typeof(positions).shape != shape else positions


def rows_of(shape: Shape, place: int, ndim: int) -> Shape:
    """Return the axes of the rows that positions of `shape` have; all positions have `ndim`, from axis `place` on."""
    return tuple(range(place + ndim - len(shape), place + ndim))
