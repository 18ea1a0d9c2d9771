"""Reading windows of an array at positions that are values: `gather`.

Read next: `windows.py`, which says where the windows lie; `scatter.py`, which writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from calque_core.context import here
from calque_core.errors import ConcretizationTypeError, ShapeError
from calque_core.frames.source import where
from calque_core.jaxprs.masks import merged
from calque_core.ops.elementwise.declare import as_result
from calque_core.ops.indexing.windows import (
    GatherScatterMode,
    Windows,
    as_indices,
    check_windows,
    dimension_numbers_of,
    windows_of,
)
from calque_core.ops.shapes.axes import integers
from calque_core.primitives.primitive import Primitive, bind_checked
from calque_core.traces.tracer import is_tracer
from calque_core.types.avals import Shape, ShapedArray, is_array_like, shaped_array, typeof
from calque_core.types.dtypes import is_float, kind_of
from calque_core.types.limits import iinfo

Value = Any


class GatherDimensionNumbers(NamedTuple):
    """The meaning of the axes of a gather.

    `offset_dims`: the axes of the result that are axes of a window; the other axes come from the indices.
    `collapsed_slice_dims`: the axes of the operand where windows have size 1, and that windows leave out.
    `start_index_map`: the axis of the operand that each column of the indices points along.
    `operand_batching_dims`, `start_indices_batching_dims`: pairs of axes of equal size; a row of indices points into
    the entry of the operand with its own position.
    """

    offset_dims: Shape
    collapsed_slice_dims: Shape
    start_index_map: Shape
    operand_batching_dims: Shape = ()
    start_indices_batching_dims: Shape = ()


_FIELDS = ("collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims")
gather_p = Primitive("gather")


def gather_windows(shape: Shape, dimension_numbers: GatherDimensionNumbers, slice_sizes: Shape) -> Windows:
    """Return the windows that a gather reads from an operand of shape `shape`."""
    return windows_of(shape, slice_sizes, *dimension_numbers[1:])


@gather_p.def_abstract_eval(cached=True)
def gather_abstract_eval(  # noqa: PLR0913 -- JAX's parameters
    x_aval: ShapedArray,
    indices_aval: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> ShapedArray:
    if len(slice_sizes) != x_aval.ndim:
        raise ShapeError(f"gather of {x_aval}{where()}: slice_sizes is {slice_sizes}. Give one size for each axis.")
    windows, offset_dims = gather_windows(x_aval.shape, dimension_numbers, slice_sizes), dimension_numbers.offset_dims
    check_windows(f"gather of {x_aval}", windows, indices_aval, _FIELDS)
    ndim = indices_aval.ndim - 1 + len(windows.kept)
    if list(offset_dims) != sorted(set(offset_dims) & set(range(ndim))) or len(offset_dims) != len(windows.kept):
        raise ValueError(
            f"gather of {x_aval}{where()}: offset_dims is {offset_dims}. Give {len(windows.kept)} axes of the result, "
            f"which has {ndim}, in increasing order."
        )
    is_offset = [axis in offset_dims for axis in range(ndim)]
    return shaped_array(tuple(merged(is_offset, windows.window_shape, indices_aval.shape[:-1])), x_aval.dtype)


def gather_impl(  # noqa: PLR0913 -- JAX's parameters
    x: Value,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> Value:
    x, indices = np.asarray(x), np.asarray(indices)
    windows = gather_windows(x.shape, dimension_numbers, slice_sizes)
    if mode is GatherScatterMode.PROMISE_IN_BOUNDS and here().settings.enable_checks:
        check_promise("gather", windows, indices)
    if indices.ndim == 1:
        out = x[windows.single(windows.clipped(indices))]
    else:
        picked = x.transpose(windows.order)[windows.positions(windows.clipped(indices))]
        rows = indices.shape[:-1]
        shape = (*rows, *(windows.sizes[axis] for axis in (*windows.cut, *windows.filled)))
        picked = picked if picked.shape == shape else np.broadcast_to(picked, shape).copy()
        out = picked.transpose(result_order(windows, dimension_numbers.offset_dims, len(rows)))
    if mode is GatherScatterMode.FILL_OR_DROP:
        is_inside = windows.is_inside(indices)
        if not is_inside.all():
            fill = default_fill(x.dtype) if fill_value is None else np.asarray(fill_value).astype(x.dtype)
            return np.where(np.expand_dims(is_inside, dimension_numbers.offset_dims), out, fill)[()]
    return out[()]


def result_order(windows: Windows, offset_dims: Shape, num_rows: int) -> list[int]:
    """Return, for each axis of the result, its position in [*rows, *cut, *filled]."""
    behind = (*windows.cut, *windows.filled)
    is_offset = [axis in offset_dims for axis in range(num_rows + len(behind))]
    return merged(is_offset, (num_rows + behind.index(axis) for axis in windows.kept), range(num_rows))


def check_promise(name: str, windows: Windows, indices: Value) -> None:
    """Check, in evaluation, that all windows lie inside of the operand.  Raises: IndexError."""
    is_inside = windows.is_inside(indices)
    if not is_inside.all():
        row = indices[~is_inside][0].tolist()
        places = ", ".join(f"{i} along axis {axis}" for i, axis in zip(row, windows.mapped))
        raise IndexError(
            f"{name}{where()}: the index {places} is out of bounds for an operand of shape {windows.shape}, and "
            "enable_checks is on. Keep indices in bounds, or give mode='clip', 'fill' or 'drop'."
        )


def default_fill(dtype: np.dtype[Any]) -> Value:
    """Return the value outside of an array for a gather: nan, the least signed or greatest unsigned integer, or True.

    >>> import numpy as np
    >>> from calque_core.engine import default_fill
    >>> default_fill(np.dtype("float32")), default_fill(np.dtype("int8"))
    (np.float32(nan), np.int8(-128))
    """
    if kind_of(dtype) == "b":
        return np.bool_(True)
    if kind_of(dtype) in "iu":
        info = iinfo(dtype)
        return dtype.type(info.min if kind_of(dtype) == "i" else info.max)
    return dtype.type(np.nan)


def gather_impl_for_types(
    x_aval: ShapedArray,
    indices_aval: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    mode: GatherScatterMode,
    **_: Any,
) -> Callable[..., Value] | None:
    """Return `numpy.take` for positions along one axis whose own axes stand in its place; for more, NumPy's index."""
    windows, rows = gather_windows(x_aval.shape, dimension_numbers, slice_sizes), indices_aval.shape[:-1]
    if not windows.are_lines or mode is GatherScatterMode.FILL_OR_DROP or here().settings.enable_checks:
        return None
    order = result_order(windows, dimension_numbers.offset_dims, len(rows))
    axis, num_columns = windows.mapped[0], len(windows.mapped)
    if num_columns == 1 and order[axis : axis + len(rows)] == list(range(len(rows))):
        if prod(rows) < _MANY:
            return lambda x, indices: x.take(indices.reshape(rows), axis, mode="clip")
        return lambda x, indices: x.take(indices.reshape(rows).astype(np.intp, copy=False), axis, mode="clip")
    if not rows:
        return None
    lines_shape = (prod(x_aval.shape[i] for i in windows.indexed), *[x_aval.shape[i] for i in windows.filled])

    def evaluate(x: Value, indices: Value) -> Value:
        in_order = x.transpose(windows.order)
        if in_order.flags.c_contiguous:  # half of the time
            return in_order.reshape(lines_shape).take(windows.clipped_lines(indices), 0).transpose(order)
        places = windows.clipped(indices)
        return in_order[tuple([places[..., i] for i in range(num_columns)])].transpose(order)

    return evaluate


_MANY = 64  # positions, whose conversion beforehand takes less time than that in `take`: a fifth for 30,000

gather_p.def_impl(gather_impl, leaf=True, for_types=gather_impl_for_types)


def gather(  # noqa: PLR0913 -- JAX's signature
    operand: Value,
    start_indices: Value,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Value:
    """Return the windows of size `slice_sizes` of `operand` whose corners are the rows of `start_indices`.

    `mode` decides the value of a window outside of the operand: "clip" takes the nearest window inside; "fill", the
    default, `fill_value`, by default nan, the least signed or greatest unsigned integer, or True; "promise_in_bounds"
    is "clip".  `unique_indices` and `indices_are_sorted` promise that rows differ, and are in order; a broken promise
    may give any elements.
    Shapes: operand [*s], start_indices [*rows, k] -> rows and windows, whose axes `offset_dims` are.  Dtype: kept.
    Raises: ShapeError, ValueError, TypeError for dimension numbers that do not fit; IndexError, while `enable_checks`
    is on, where evaluation finds a broken promise of bounds.

    >>> import numpy as np
    >>> from calque_core.lax import GatherDimensionNumbers, gather
    >>> rows = GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> gather(np.array([[1, 2], [3, 4], [5, 6]]), np.array([[2], [0]]), rows, (1, 2))
    array([[5, 6],
           [1, 2]])
    """
    return bind_checked(
        gather_p,
        as_result(operand),
        as_indices(start_indices),
        dimension_numbers=dimension_numbers_of("gather", GatherDimensionNumbers, dimension_numbers),
        slice_sizes=integers("gather", "slice_sizes", slice_sizes),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
        fill_value=_fill(fill_value, typeof(operand).dtype),
    )


def _fill(fill_value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a fill value as a Python scalar; None for the default, so that programs with it compare equal."""
    if fill_value is None:
        return None
    if is_tracer(fill_value):
        raise ConcretizationTypeError(
            f"gather{where()}: the fill value is a traced value of type {typeof(fill_value)}. Give a number, or choose "
            "it afterwards with numpy.where."
        )
    if not is_array_like(fill_value) or typeof(fill_value).shape:
        raise ShapeError(f"gather{where()}: the fill value is {fill_value!r}. Give a number.")
    value = np.asarray(fill_value)
    return None if is_float(dtype) and np.isnan(value) else value.item()
