"""Reading elements: `x[1, ::-2, None]`, `x[rows, :, 0]` with NumPy's semantics, and iteration, which uses it.

One idea: slices and integers are a plan of at most one slice, one reversal and one change of shape, which the type and
the index determine; plans are cached.  Arrays of positions, known or traced, are one `gather` of the plan's result;
their rows of indices are an operand of a function that types decide.

Read next: `indices.py`, the normal form of an index; `at.py`, updates of elements.
"""

# ruff: noqa: N807  (methods are functions here: array_methods.py says why)

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from calque_core import lax
from calque_core.arrays.index_items import Bounds, Part, basic_item
from calque_core.arrays.indices import (
    FULL,
    Form,
    Layout,
    OutOfBoundsError,
    are_known_checked,
    is_array,
    layout_of,
    normal_form,
    rows_of,
    rows_of_indices,
)
from calque_core.context import here
from calque_core.frames.source import where
from calque_core.known.operands import Option
from calque_core.ops.elementwise.declare import as_result
from calque_core.primitives.primitive import Primitive
from calque_core.traces.tracer import is_tracer, unknown, view_of
from calque_core.types.array_methods import (
    ArrayMethods,
    array_method,
    array_operation,
    in_every_size,
    types_decide,
)
from calque_core.types.avals import Shape, ShapedArray, typeof

Value = Any
Step = tuple[Primitive, dict[str, Any]]


@array_operation
@in_every_size(lax.slice_p)
def __getitem__(self: Value, index: Any) -> Value:
    items = index if type(index) is tuple else (index,)
    parts = tuple([i if type(i) is int else basic_item(i) for i in items])
    if unknown not in parts:
        try:
            return view_of(self, cut(self, parts))
        except OutOfBoundsError as error:
            if are_known_checked():
                raise IndexError(*error.args) from None
    return read(self, normal_form(typeof(self), index))


def cut(x: Value, parts: tuple[Part, ...]) -> Value:
    """Return `x` at an index of integers, bounds of slices, None and `...`."""
    for primitive, params in _plan(typeof(x), parts):
        x = primitive.bind(x, **params)
    return x


def check_sizes(aval: ShapedArray, axes: Iterable[int]) -> None:
    """Check that the axes that positions point along have elements.  Raises: IndexError."""
    for axis in axes:
        if not aval.shape[axis]:
            raise IndexError(
                f"an index{where()} points along axis {axis} of {aval}, which has no elements. Take a slice."
            )


def is_advanced(index: Any) -> bool:
    """Tell whether an index has lists, masks or arrays of integers: NumPy's advanced indexing.

    >>> import numpy as np
    >>> from calque_core.engine import is_advanced
    >>> is_advanced((0, slice(None), np.int32(1))), is_advanced([0, 1])
    (False, True)
    """
    return any(map(_takes_elements, index if type(index) is tuple else (index,)))


def _takes_elements(item: Any) -> bool:
    if isinstance(item, (np.ndarray, np.generic, ArrayMethods)):
        return bool(typeof(item).shape) or typeof(item).kind == "b"
    return isinstance(item, (list, tuple, bool))


# Arrays of positions


def read(x: Value, form: Form, **options: Any) -> Value:
    """Return `x` at an index in normal form; `options` are those of `lax.gather`."""
    layout = form.layout
    if layout.is_basic:
        return as_result(cut(x, layout.parts))
    reading = _reading(layout)
    if reading.is_empty:
        return lax.full(reading.out_shape, 0, typeof(x).dtype)
    columns = [(p, size, axes) for p, (size, axes) in zip(form.positions, reading.columns)]
    return here().trace.process_function(_taken, (x, rows_of_indices(columns, layout.shape), reading.taking), options)


class Taking(Option):
    """The part of a read that no size decides: an index of slices and integers, then one gather.

    `axes` are the axes that positions point along, after that index.
    """

    __slots__ = ("axes", "basic", "numbers")

    def __init__(self, basic: tuple[Part, ...], numbers: lax.GatherDimensionNumbers) -> None:
        self.basic, self.numbers, self.axes = basic, numbers, numbers.collapsed_slice_dims

    @property
    def is_gather(self) -> bool:
        """Whether positions alone make the index, and slices of whole axes."""
        return all(part == FULL for part in self.basic)

    def slice_sizes(self, shape: Shape) -> list[int]:
        """Return the sizes of the windows of the gather from an array of shape `shape`."""
        return [1 if axis in self.axes else n for axis, n in enumerate(shape)]


_taking = lru_cache(maxsize=4096)(Taking)  # one object stands for equal ones


class Reading(NamedTuple):
    """The part of a read that its layout decides.

    `columns` holds, for each array of positions, the size of its axis, and its axes among the rows of indices.
    """

    columns: Sequence[tuple[int, Shape]]
    taking: Taking
    out_shape: Shape
    is_empty: bool


@lru_cache(maxsize=4096)
def _reading(layout: Layout) -> Reading:
    shape, place = layout.shape, layout.place
    basic = tuple(FULL if is_array(part) else part for part in layout.parts)
    kept = [part for part in layout.parts if type(part) is not int]
    taken = tuple(axis for axis, part in enumerate(kept) if is_array(part))
    sizes = [plan.size for plan in _axes(layout.aval, basic) if not plan.is_removed]
    windows = [n for axis, n in enumerate(sizes) if axis not in taken]
    out_shape = (*windows[:place], *shape, *windows[place:])
    if math.prod(out_shape):
        check_sizes(layout.aval, layout.axes)
    offset_dims = tuple(i for i in range(len(out_shape)) if not place <= i < place + len(shape))
    return Reading(
        [(sizes[axis], rows_of(kept[axis].shape, 0, len(shape))) for axis in taken],
        _taking(basic, lax.GatherDimensionNumbers(offset_dims, taken, taken)),
        out_shape,
        not math.prod(out_shape),
    )


@types_decide
@in_every_size(lax.gather_p)
def _taken(
    x: Value,
    indices: Value,
    taking: Taking,
    mode: lax.GatherScatterMode = lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    **options: Any,
) -> Value:
    """Return `x` at rows of indices: slices and integers first, then positions by one `gather`."""
    x = cut(x, taking.basic)
    return lax.gather(x, indices, taking.numbers, taking.slice_sizes(typeof(x).shape), mode=mode, **options)


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
def _plan(aval: ShapedArray, index: tuple[Part, ...]) -> list[Step]:
    """Return the operations that compute `x[index]`: at most three, none if it is the array itself."""
    axes = _axes(aval, index)
    old = [p for p in axes if not p.is_new]
    steps = _cut(aval, old)
    if any(p.is_reversed for p in old):
        steps.append(_turn(old))
    if any(p.is_removed or p.is_new for p in axes):
        steps.append(_reshape(axes, old))
    return steps


def _axes(aval: ShapedArray, index: tuple[Part, ...]) -> list[AxisPlan]:
    axes: list[AxisPlan] = []
    axis = 0
    for item in layout_of(aval, index).parts:
        axes.append(_plan_axis(aval, axis, item))
        axis += item is not None
    return axes


def _plan_axis(aval: ShapedArray, axis: int, item: Part) -> AxisPlan:
    if item is None:
        return AxisPlan(0, 1, is_new=True)
    size = aval.shape[axis]
    if type(item) is tuple:
        return _plan_slice(item, size)
    return AxisPlan(item, item + 1, is_removed=True)


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
    starts, limits = tuple([p.start for p in axes]), tuple([p.limit for p in axes])
    strides = tuple([p.stride for p in axes])
    is_dense = {*strides} <= {1}
    if is_dense and limits == aval.shape and not any(starts):
        return []
    params = {"start_indices": starts, "limit_indices": limits, "strides": None if is_dense else strides}
    return [(lax.slice_p, params)]


def _turn(axes: list[AxisPlan]) -> Step:
    return lax.rev_p, {"dimensions": tuple(axis for axis, p in enumerate(axes) if p.is_reversed)}


def _reshape(axes: list[AxisPlan], old: list[AxisPlan]) -> Step:
    """Return the operation that removes axes, makes new ones, or both."""
    removed = tuple(axis for axis, p in enumerate(old) if p.is_removed)
    kept = [p for p in axes if not p.is_removed]
    shape = tuple(p.size for p in kept)
    positions = tuple(axis for axis, p in enumerate(kept) if not p.is_new)
    if len(positions) == len(kept):
        return lax.squeeze_p, {"dimensions": removed}
    if not removed:
        return lax.broadcast_in_dim_p, {"shape": shape, "broadcast_dimensions": positions}
    return lax.reshape_p, {"new_sizes": shape}


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
    advice = "Make a new one: x.at[index].set(value)"
    raise TypeError(
        f"x[...] = value{where()}: an array of type {typeof(self)} that is traced or on a device cannot be "
        f"changed in place. {advice}{'' if is_tracer(self) else '; or change a copy, numpy.array(x)'}."
    )
