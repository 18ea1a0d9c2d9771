"""Writing windows of an array at positions that are values: `scatter` and its kinds, which combine old with new.

One idea: a scatter is a gather read backwards, over the same windows (`windows.py`).  Of several updates of one
element, `scatter` keeps the last, and the other kinds combine all of them.

Read next: `scatter_writes.py`, which writes into arrays; `updates.py`, which follows each update, for derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from calque_core.context import here
from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.arithmetic import neg
from calque_core.ops.elementwise.declare import ANY, NUMBER, undefined_message
from calque_core.ops.indexing.gather import check_promise, result_order
from calque_core.ops.indexing.scatter_writes import Lines, inverse, write_window, write_windows
from calque_core.ops.indexing.windows import (
    GatherScatterMode,
    Windows,
    as_indices,
    check_windows,
    dimension_numbers_of,
    windows_of,
)
from calque_core.ops.shapes.shape import of_one_dtype
from calque_core.primitives.primitive import ImplForTypes, Linearity, Primitive, bind_checked
from calque_core.types.avals import Shape, ShapedArray, typeof

Value = Any


class ScatterDimensionNumbers(NamedTuple):
    """The meaning of the axes of a scatter.

    `update_window_dims`: the axes of the updates that are axes of a window; the other axes come from the indices.
    `inserted_window_dims`: the axes of the operand where windows have size 1, and that the updates leave out.
    `scatter_dims_to_operand_dims`: the axis of the operand that each column of the indices points along.
    `operand_batching_dims`, `scatter_indices_batching_dims`: pairs of axes of equal size; a row of indices points into
    the entry of the operand with its own position.
    """

    update_window_dims: Shape
    inserted_window_dims: Shape
    scatter_dims_to_operand_dims: Shape
    operand_batching_dims: Shape = ()
    scatter_indices_batching_dims: Shape = ()


_FIELDS = (
    "inserted_window_dims", "scatter_dims_to_operand_dims", "operand_batching_dims", "scatter_indices_batching_dims"
)  # fmt: skip


def scatter_windows(shape: Shape, update_shape: Shape, dimension_numbers: ScatterDimensionNumbers) -> Windows:
    """Return the windows that a scatter writes into an operand of shape `shape`."""
    window_dims, inserted, mapped, batching, rows = dimension_numbers
    window = iter(update_shape[axis] for axis in window_dims)
    sizes = tuple(
        min(1, n) if axis in batching else 1 if axis in inserted else next(window, 0) for axis, n in enumerate(shape)
    )
    return windows_of(shape, sizes, inserted, mapped, batching, rows)


def _abstract_eval(name: str, kinds: str) -> Callable[..., ShapedArray]:
    def abstract_eval(
        x_aval: ShapedArray,
        indices_aval: ShapedArray,
        updates_aval: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
    ) -> ShapedArray:
        if x_aval.kind not in kinds:
            raise TypeError(undefined_message(name, x_aval))
        if x_aval.dtype != updates_aval.dtype:
            raise TypeError(f"{_call(name, x_aval, updates_aval)}: the dtypes differ. Convert one of them first.")
        _check_updates(name, x_aval, indices_aval, updates_aval, dimension_numbers)
        return x_aval.strip_weak_type()

    return abstract_eval


def _call(name: str, x_aval: ShapedArray, updates_aval: ShapedArray) -> str:
    return f"{name} of {updates_aval} into {x_aval}{where()}"


def _check_updates(
    name: str,
    x_aval: ShapedArray,
    indices_aval: ShapedArray,
    updates_aval: ShapedArray,
    dimension_numbers: ScatterDimensionNumbers,
) -> None:
    window_dims, inserted, _, batching, _ = dimension_numbers
    num_kept = x_aval.ndim - len(inserted) - len(batching)
    is_ordered = list(window_dims) == sorted(set(window_dims) & set(range(updates_aval.ndim)))
    if not is_ordered or len(window_dims) != num_kept:
        raise ValueError(
            f"{_call(name, x_aval, updates_aval)}: update_window_dims is {window_dims}. Give the {num_kept} axes of "
            "the updates that are axes of a window, in increasing order."
        )
    windows = scatter_windows(x_aval.shape, updates_aval.shape, dimension_numbers)
    check_windows(_call(name, x_aval, updates_aval), windows, indices_aval, _FIELDS)
    rows = tuple(n for axis, n in enumerate(updates_aval.shape) if axis not in window_dims)
    if rows != indices_aval.shape[:-1]:
        raise ShapeError(
            f"{_call(name, x_aval, updates_aval)}: the updates are {rows} windows, the indices {indices_aval} point to "
            f"{indices_aval.shape[:-1]}. Give one update for each row of indices."
        )


def _impl(name: str, ufunc: np.ufunc | None) -> Callable[..., Value]:
    """Return the evaluation of a scatter that combines old and new by `ufunc`, or replaces."""

    def impl(
        x: Value,
        indices: Value,
        updates: Value,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
    ) -> Value:
        x, indices, updates = np.asarray(x), np.asarray(indices), np.asarray(updates)
        windows = scatter_windows(x.shape, updates.shape, dimension_numbers)
        if mode is GatherScatterMode.PROMISE_IN_BOUNDS and here().settings.enable_checks:
            check_promise(name, windows, indices)
        is_kept = None if mode is GatherScatterMode.CLIP else windows.is_inside(indices)
        indices = windows.clipped(indices)
        if indices.ndim == 1:
            return write_window(ufunc, x, windows.single(indices), updates, is_kept)
        if is_kept is None or is_kept.all():
            is_kept = None
        order = result_order(windows, dimension_numbers.update_window_dims, indices.ndim - 1)
        rows = updates.transpose(inverse(order))
        return write_windows(ufunc, x, windows, indices, rows, is_kept, unique_indices)

    return impl


def _impl_for_types(ufunc: np.ufunc) -> ImplForTypes:
    """Return the evaluation for known types of a scatter that combines old and new by `ufunc`."""

    def impl_for_types(
        x_aval: ShapedArray, indices_aval: ShapedArray, updates_aval: ShapedArray, **params: Any
    ) -> Callable[..., Value] | None:
        lines = _lines(ufunc, x_aval, indices_aval, updates_aval, **params)
        return None if lines is None else lines.combined

    return impl_for_types


def _adder_for_types(
    x_aval: ShapedArray, indices_aval: ShapedArray, updates_aval: ShapedArray, **params: Any
) -> Callable[[Value, Value, Value], None] | None:
    lines = _lines(np.add, x_aval, indices_aval, updates_aval, **params)
    return None if lines is None or not lines.are_last else lines.add


def _lines(
    ufunc: np.ufunc,
    x_aval: ShapedArray,
    indices_aval: ShapedArray,
    updates_aval: ShapedArray,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    mode: GatherScatterMode,
    **_: Any,
) -> Lines | None:
    """Return the writing of whole lines of the operand, which rows of indices number once they are moved inside."""
    windows = scatter_windows(x_aval.shape, updates_aval.shape, dimension_numbers)
    if not windows.are_lines or indices_aval.ndim < 2 or mode is not GatherScatterMode.CLIP:
        return None
    order = result_order(windows, dimension_numbers.update_window_dims, indices_aval.ndim - 1)
    return Lines(ufunc, windows, inverse(order))


def _declare(name: str, kinds: str, ufunc: np.ufunc | None, linearity: Linearity | None = None) -> Primitive:
    primitive = Primitive(name, linearity=linearity)
    primitive.def_abstract_eval(_abstract_eval(name, kinds), cached=True)
    for_types = None if ufunc is None else _impl_for_types(ufunc)
    primitive.def_impl(_impl(name, ufunc), leaf=True, for_types=for_types, makes_arrays=True)
    return primitive


scatter_p = _declare("scatter", ANY, None, linearity="linear")
scatter_add_p = _declare("scatter_add", NUMBER + "b", np.add, linearity="linear")
scatter_add_p.def_adder(0, _adder_for_types)
scatter_mul_p = _declare("scatter_mul", NUMBER + "b", np.multiply)
scatter_min_p = _declare("scatter_min", ANY, np.minimum)
scatter_max_p = _declare("scatter_max", ANY, np.maximum)


def bind_scatter(  # noqa: PLR0913, PLR0917 -- the arguments of every kind of scatter
    primitive: Primitive,
    operand: Value,
    indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: str | GatherScatterMode | None,
) -> Value:
    """Bind a kind of scatter to operands of one dtype; a single window is unique and sorted."""
    name = primitive.name
    operand, updates = of_one_dtype(name, operand, updates)
    indices = as_indices(indices)
    is_single = prod(typeof(indices).shape[:-1]) <= 1
    return bind_checked(
        primitive,
        operand,
        indices,
        updates,
        dimension_numbers=dimension_numbers_of(name, ScatterDimensionNumbers, dimension_numbers),
        indices_are_sorted=bool(indices_are_sorted) or is_single,
        unique_indices=bool(unique_indices) or is_single,
        mode=GatherScatterMode.from_any(mode),
    )


def scatter(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Value:
    """Return `operand` with windows replaced: the corners of the windows are the rows of `scatter_indices`.

    Of several updates of one element the last is kept.  `mode` decides about an update outside of the operand, wholly
    or in part: "clip" moves it inside; "drop", the default, and "promise_in_bounds" leave it out.  `unique_indices`
    promises that no element is updated twice, `indices_are_sorted` that rows are in order; a broken promise may give
    any elements.
    Shapes: operand [*s], scatter_indices [*rows, k], updates rows and windows -> [*s].  Dtype: promoted.
    Raises: ShapeError, ValueError, TypeError for dimension numbers that do not fit; IndexError, while `enable_checks`
    is on, where evaluation finds a broken promise of bounds.

    >>> import numpy as np
    >>> from calque_core.lax import ScatterDimensionNumbers, scatter
    >>> elements = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter(np.zeros(4), np.array([[3], [1]]), np.array([5.0, 6.0]), elements)
    array([0., 6., 0., 5.])
    """
    options = indices_are_sorted, unique_indices, mode
    return bind_scatter(scatter_p, operand, scatter_indices, updates, dimension_numbers, *options)


def scatter_add(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Value:
    """Return `operand` with all updates of each element added.

    Windows, modes, promises and shapes are as for `scatter`.  Bools are added as by `or`.
    Raises: as `scatter`.

    >>> import numpy as np
    >>> from calque_core.lax import ScatterDimensionNumbers, scatter_add
    >>> elements = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter_add(np.ones(3), np.array([[2], [2]]), np.array([5.0, 6.0]), elements)
    array([ 1.,  1., 12.])
    """
    options = indices_are_sorted, unique_indices, mode
    return bind_scatter(scatter_add_p, operand, scatter_indices, updates, dimension_numbers, *options)


def scatter_sub(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Value:
    """Return `operand` with all updates of each element subtracted.

    Windows, modes, promises and shapes are as for `scatter`.
    Raises: as `scatter`; TypeError for bools.

    >>> import numpy as np
    >>> from calque_core.lax import ScatterDimensionNumbers, scatter_sub
    >>> elements = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter_sub(np.ones(3), np.array([[2], [2]]), np.array([5.0, 6.0]), elements)
    array([  1.,   1., -10.])
    """
    options = indices_are_sorted, unique_indices, mode
    return bind_scatter(scatter_add_p, operand, scatter_indices, neg(updates), dimension_numbers, *options)


def scatter_mul(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Value:
    """Return `operand` with each element multiplied by all its updates.

    Windows, modes, promises and shapes are as for `scatter`.
    Raises: as `scatter`.

    >>> import numpy as np
    >>> from calque_core.lax import ScatterDimensionNumbers, scatter_mul
    >>> elements = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter_mul(np.ones(3), np.array([[2], [2]]), np.array([5.0, 6.0]), elements)
    array([ 1.,  1., 30.])
    """
    options = indices_are_sorted, unique_indices, mode
    return bind_scatter(scatter_mul_p, operand, scatter_indices, updates, dimension_numbers, *options)


def scatter_min(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Value:
    """Return `operand` with each element replaced by the least of it and its updates.

    Windows, modes, promises and shapes are as for `scatter`.  NaN wins.  Equal elements share the derivative.
    Complex numbers are compared by the real part first.
    Raises: as `scatter`.

    >>> import numpy as np
    >>> from calque_core.lax import ScatterDimensionNumbers, scatter_min
    >>> elements = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter_min(np.ones(3), np.array([[2], [2]]), np.array([0.5, -6.0]), elements)
    array([ 1.,  1., -6.])
    """
    options = indices_are_sorted, unique_indices, mode
    return bind_scatter(scatter_min_p, operand, scatter_indices, updates, dimension_numbers, *options)


def scatter_max(
    operand: Value,
    scatter_indices: Value,
    updates: Value,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Value:
    """Return `operand` with each element replaced by the greatest of it and its updates.

    Windows, modes, promises and shapes are as for `scatter`.  NaN wins.  Equal elements share the derivative.
    Complex numbers are compared by the real part first.
    Raises: as `scatter`.

    >>> import numpy as np
    >>> from calque_core.lax import ScatterDimensionNumbers, scatter_max
    >>> elements = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter_max(np.ones(3), np.array([[2], [2]]), np.array([5.0, 6.0]), elements)
    array([1., 1., 6.])
    """
    options = indices_are_sorted, unique_indices, mode
    return bind_scatter(scatter_max_p, operand, scatter_indices, updates, dimension_numbers, *options)
