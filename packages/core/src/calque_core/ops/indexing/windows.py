"""The windows of an array to which rows of indices point, for `gather` and `scatter`.

One idea: each row of indices is the corner of one window, and all windows have one size.  A batching axis of the
operand belongs to an axis of the indices: row i points into entry i.  Evaluation brings the axes that windows fill to
the end, so that one NumPy index, of as many arrays as there are other axes, holds the positions of all windows.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property, lru_cache
from math import prod
from typing import Any, TypeVar

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.arithmetic import min
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.shapes.axes import integers
from calque_core.types.avals import Shape, ShapedArray, typeof
from calque_core.types.dtypes import canonicalize_dtype, kind_of

Value = Any
Index = tuple[Any, ...]
N = TypeVar("N", bound=Any)  # a named tuple


class GatherScatterMode(Enum):
    """The treatment of a window that lies outside of the operand, wholly or in part.

    `CLIP` moves it inside.  `FILL_OR_DROP` reads a fill value, and drops an update.  `PROMISE_IN_BOUNDS` costs no
    operation: reads are clipped and updates dropped, and evaluation raises an IndexError while `enable_checks` is on.
    """

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """Return the mode for "clip", "fill", "drop" or "promise_in_bounds"; None means "fill", which is "drop".

        Raises: ValueError for any other value.

        >>> from calque_core.lax import GatherScatterMode
        >>> GatherScatterMode.from_any("drop")
        GatherScatterMode.FILL_OR_DROP
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        if not isinstance(mode, (str, type(None))) or mode not in _MODES:
            raise ValueError(f"the mode{where()} is {mode!r}. Give 'clip', 'fill', 'drop' or 'promise_in_bounds'.")
        return _MODES[mode]

    def __repr__(self) -> str:
        return f"GatherScatterMode.{self.name}"

    __str__ = __repr__


_MODES: dict[str | None, GatherScatterMode] = {
    None: GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    **{mode.value: mode for mode in GatherScatterMode},
}


class Windows:
    """Windows of `sizes` in an operand of `shape`; `windows_of` returns the same object for the same fields.

    `removed` are the axes where windows have size 1 and that are no axes of a window: collapsed or batching axes.
    """

    def __init__(
        self, shape: Shape, sizes: Shape, collapsed: Shape, mapped: Shape, batching: Shape, rows: Shape
    ) -> None:
        self.shape, self.sizes = shape, sizes
        self.collapsed, self.mapped, self.batching, self.rows = collapsed, mapped, batching, rows
        self.removed = frozenset((*collapsed, *batching))

    @cached_property
    def kept(self) -> Shape:
        """The axes of the operand that are axes of a window."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.removed)

    @cached_property
    def window_shape(self) -> Shape:
        """The shape of one window."""
        return tuple(self.sizes[axis] for axis in self.kept)

    @cached_property
    def limits(self) -> Value:
        """The largest index of a window inside of the operand, for each column of the indices."""
        return np.array([self.shape[axis] - self.sizes[axis] for axis in self.mapped], np.int64)

    @cached_property
    def are_lines(self) -> bool:
        """Whether windows leave out the axes that indices point along, in their order, and fill all other axes."""
        return bool(self.mapped) and self.mapped == self.collapsed and not self.batching and not self.cut

    # Evaluation

    @cached_property
    def filled(self) -> Shape:
        """The axes that each window fills."""
        return tuple(axis for axis in self.kept if self.sizes[axis] == self.shape[axis])

    @cached_property
    def indexed(self) -> Shape:
        """The other axes, which need positions."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.filled)

    @cached_property
    def cut(self) -> Shape:
        """The axes that windows fill in part: each is an axis of the positions, behind the axes of the indices."""
        return tuple(axis for axis in self.indexed if axis not in self.removed)

    @cached_property
    def order(self) -> Shape:
        """The axes of the operand in the order of evaluation."""
        return self.indexed + self.filled

    def is_inside(self, indices: Value) -> Value:
        """Tell for each row of indices whether its window lies inside of the operand."""
        return np.logical_and(indices >= 0, indices <= self.limits).all(-1)

    def clipped(self, indices: Value) -> Value:
        """Return the indices of the nearest windows inside of the operand."""
        return np.minimum(np.maximum(indices, 0), self.limits)  # `numpy.clip` takes five times as long

    def clipped_lines(self, indices: Value) -> Value:
        """Return the positions of lines: of the nearest windows inside of the operand, where they `are_lines`.

        Shapes: indices [*rows, k] -> [*rows].
        """
        if self._counted is not None:
            return self._counted.take(indices[..., 0].astype(np.intp, copy=False), 0, None, "clip")  # 1 us sooner
        return clipped_lines(indices, [self.shape[axis] for axis in self.mapped])

    @cached_property
    def _counted(self) -> Value:
        """The numbers of the lines along one short axis; None for several axes or a long one."""
        size = self.shape[self.mapped[0]]
        is_short = len(self.mapped) == 1 and size <= MOST_COUNTED
        return numbers_below(size).astype(np.intp) if is_short else None  # `take` needs this dtype

    def positions(self, indices: Value) -> Index:
        """Return the NumPy index, into the operand with its axes in `order`, of all windows: [*rows, *cut]."""
        rows, n_cut = indices.shape[:-1], len(self.cut)
        index = []
        for axis in self.indexed:
            if axis in self.batching:
                position = along(np.arange(self.shape[axis]), self.rows[self.batching.index(axis)], len(rows))
            elif axis in self.mapped:
                position = indices[..., self.mapped.index(axis)]
            else:
                position = np.zeros((1,) * len(rows), np.int64)
            position = position.reshape(*position.shape, *(1,) * n_cut)
            if axis in self.cut:
                position = position + along(np.arange(self.sizes[axis]), self.cut.index(axis), n_cut)
            index.append(position)
        return tuple(index)

    @cached_property
    def strides(self) -> list[int]:
        """For each of the axes `indexed`, the step from an element to the next, counted in elements of these axes."""
        sizes = [self.shape[axis] for axis in self.indexed]
        return [prod(sizes[i + 1 :]) for i in range(len(sizes))]

    def flat_positions(self, indices: Value) -> Value:
        """Return `positions` as positions among all elements of the axes `indexed`: [rows * cut]."""
        flat = sum(position * stride for position, stride in zip(self.positions(indices), self.strides))
        shape = indices.shape[:-1] + tuple(self.sizes[axis] for axis in self.cut)
        return (flat if np.shape(flat) == shape else np.broadcast_to(flat, shape)).reshape(-1)

    def single(self, starts: Value) -> Index:
        """Return the NumPy index of the one window of a single row of indices."""
        corner = dict(zip(self.mapped, starts.tolist()))
        ends = ((corner.get(axis, 0), self.sizes[axis]) for axis in range(len(self.shape)))
        return tuple(
            start if axis in self.removed else slice(start, start + size) for axis, (start, size) in enumerate(ends)
        )


MOST_COUNTED = 1 << 13  # elements of an axis whose positions are kept in memory


@lru_cache(maxsize=64)
def numbers_below(size: int) -> Value:
    """Return 0, 1, ... below `size`: an index of NumPy's into it counts from the start, and is refused outside.

    >>> from calque_core.ops.indexing.windows import numbers_below
    >>> numbers_below(3)[[-1, 0]]
    array([2, 0], dtype=int32)
    """
    return np.arange(size, dtype=np.int32)


def clipped_lines(indices: Value, sizes: Sequence[int]) -> Value:
    """Return the positions of lines along axes of these sizes; an index outside means the nearest line.

    Shapes: indices [*rows, k] -> [*rows].

    >>> import numpy as np
    >>> from calque_core.engine import clipped_lines
    >>> clipped_lines(np.array([[0, 2], [1, 9]]), (2, 3))
    array([2, 5])
    """
    columns = [indices[..., i] for i in range(len(sizes))]
    if len(columns) == 1 and indices.size > _MANY and indices.min() >= 0 and indices.max() < sizes[0]:
        return columns[0].astype(np.intp, copy=False)  # a third of the time
    return np.ravel_multi_index(columns, sizes, mode="clip")


_MANY = 1 << 10  # positions: to find the least and the greatest takes less time than to clip all

windows_of: Callable[..., Windows] = lru_cache(maxsize=4096)(Windows)


def dimension_numbers_of(name: str, kind: type[N], numbers: N) -> N:
    """Return the dimension numbers of `name` with tuples of integers as fields.

    Raises: TypeError if they are of another class, or hold values that are no integers.
    """
    if not isinstance(numbers, kind):
        raise TypeError(f"{name}{where()}: dimension_numbers is {numbers!r}. Give {kind.__name__}(...).")
    canonical: N = kind(*(integers(name, field, axes) for field, axes in zip(kind._fields, numbers)))
    return canonical


def along(x: Value, axis: int, ndim: int) -> Value:
    """Return the elements of a vector along one of `ndim` axes."""
    return x.reshape(*(-1 if i == axis else 1 for i in range(ndim)))


def check_windows(name: str, windows: Windows, indices_aval: ShapedArray, fields: tuple[str, str, str, str]) -> None:
    """Check dimension numbers, by the names of their fields, against the types of operand and indices.

    Raises: TypeError for indices that are no integers; ShapeError for sizes that do not fit; ValueError for axes.
    """
    collapsed, mapped, batching, rows = fields
    if indices_aval.kind not in "iu":
        raise TypeError(f"{name}{where()}: the indices have type {indices_aval}. Give integers.")
    if not indices_aval.ndim or indices_aval.shape[-1] != len(windows.mapped):
        raise ShapeError(
            f"{name}{where()}: the indices have type {indices_aval}, but {mapped} has {len(windows.mapped)} axes. Give "
            "indices with one index per axis along their last axis."
        )
    ndim = len(windows.shape)
    _check_axes(name, collapsed, windows.collapsed, ndim, is_sorted=True)
    _check_axes(name, batching, windows.batching, ndim, is_sorted=True)
    _check_axes(name, mapped, windows.mapped, ndim)
    _check_axes(name, rows, windows.rows, indices_aval.ndim - 1)
    if len(windows.removed) != len(windows.collapsed) + len(windows.batching):
        raise ValueError(f"{name}{where()}: {collapsed} and {batching} share an axis. Name an axis in one of them.")
    if not set(windows.mapped).isdisjoint(windows.batching):
        raise ValueError(f"{name}{where()}: {mapped} and {batching} share an axis. Name an axis in one of them.")
    _check_sizes(name, windows, indices_aval, fields)


def _check_axes(name: str, field: str, axes: Shape, ndim: int, *, is_sorted: bool = False) -> None:
    if (
        len(set(axes)) != len(axes)
        or any(not 0 <= axis < ndim for axis in axes)
        or (is_sorted and sorted(axes) != [*axes])
    ):
        order = ", in increasing order" if is_sorted else ""
        raise ValueError(f"{name}{where()}: {field} is {axes}. Give different axes below {ndim}{order}.")


def _check_sizes(name: str, windows: Windows, indices_aval: ShapedArray, fields: tuple[str, str, str, str]) -> None:
    _, _, batching, rows = fields
    paired = [tuple(shape[axis] for axis in axes) for shape, axes in (
        (windows.shape, windows.batching), (indices_aval.shape, windows.rows))]  # fmt: skip
    if paired[0] != paired[1]:
        raise ShapeError(
            f"{name}{where()}: {batching} and {rows} have sizes {paired[0]} and {paired[1]}. Pair axes of equal size."
        )
    for axis, (size, whole) in enumerate(zip(windows.sizes, windows.shape)):
        most = builtins.min(1, whole) if axis in windows.batching else whole
        if not 0 <= size <= most or (axis in windows.collapsed and size != 1):
            advice = "1" if axis in windows.removed else f"0 to {whole}"
            raise ShapeError(
                f"{name}{where()}: a slice has size {size} along axis {axis} of an operand of shape {windows.shape}. "
                f"Use a size of {advice}."
            )


def as_indices(x: Value) -> Value:
    """Return integers in a signed dtype of 32 or 64 bits; an unsigned integer that does not fit becomes the greatest.

    >>> as_indices(np.uint8(200)), as_indices(np.int64(3))
    (np.int32(200), np.int64(3))
    """
    dtype = typeof(x).dtype
    if kind_of(dtype) not in "iu":
        return x
    if dtype != np.int64 and np.can_cast(dtype, np.int32):
        return convert_element_type(x, np.int32)
    signed = canonicalize_dtype(np.int64)
    fits = np.can_cast(dtype, signed)
    return convert_element_type(x if fits else min(x, dtype.type(np.iinfo(signed).max)), signed)
