"""Reading and replacing one window of known size at a position that may be known only when the program runs.

One idea: the indices of the window's corner are scalar operands, one per axis, and a window that does not fit moves
inside.  A negative index counts from the end of its axis; the public functions see to that, unless
`allow_negative_indices=False` says that there is none.

Read next: `gather.py`, for several windows at once.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.calls.api_util import describe_value
from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.arithmetic import add, rem
from calque_core.ops.elementwise.compare import lt, select
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.elementwise.declare import as_result
from calque_core.ops.indexing.gather import GatherDimensionNumbers, gather
from calque_core.ops.indexing.windows import GatherScatterMode, as_indices
from calque_core.ops.shapes.axes import canonical_axis, integer, integers
from calque_core.ops.shapes.joining import concatenate
from calque_core.ops.shapes.shape import reshape, slice, squeeze
from calque_core.primitives.primitive import Primitive, bind_checked
from calque_core.types.avals import Shape, ShapedArray, is_array_like, shaped_array, typeof

Value = Any

dynamic_slice_p = Primitive("dynamic_slice", linearity="linear")
dynamic_update_slice_p = Primitive("dynamic_update_slice", linearity="linear")


@dynamic_slice_p.def_abstract_eval(cached=True)
def dynamic_slice_abstract_eval(x_aval: ShapedArray, *start_avals: ShapedArray, slice_sizes: Shape) -> ShapedArray:
    _check_starts("dynamic_slice", x_aval, start_avals)
    if len(slice_sizes) != x_aval.ndim or any(not 0 <= n <= whole for n, whole in zip(slice_sizes, x_aval.shape)):
        raise ShapeError(
            f"dynamic_slice of {x_aval}{where()}: the sizes of the slice are {slice_sizes}. Give one size for each "
            "axis, at most the size of the axis."
        )
    return shaped_array(slice_sizes, x_aval.dtype)


@dynamic_update_slice_p.def_abstract_eval(cached=True)
def dynamic_update_slice_abstract_eval(
    x_aval: ShapedArray, update_aval: ShapedArray, *start_avals: ShapedArray
) -> ShapedArray:
    _check_starts("dynamic_update_slice", x_aval, start_avals)
    fits = len(update_aval.shape) == x_aval.ndim and all(n <= m for n, m in zip(update_aval.shape, x_aval.shape))
    if not fits or update_aval.dtype != x_aval.dtype:
        raise ShapeError(
            f"dynamic_update_slice of {x_aval} with {update_aval}{where()}: the update does not fit. Give an array of "
            "the same dtype and number of axes, with no axis longer."
        )
    return x_aval.strip_weak_type()


def _check_starts(name: str, x_aval: ShapedArray, start_avals: Sequence[ShapedArray]) -> None:
    is_index = all(not aval.shape and aval.kind in "iu" for aval in start_avals)
    if not is_index or len(start_avals) != x_aval.ndim or len({aval.dtype for aval in start_avals}) > 1:
        types = ", ".join(map(str, start_avals)) or "none"
        raise TypeError(
            f"{name} of {x_aval}{where()}: the indices have types {types}. Give {x_aval.ndim} integer scalars of one "
            "dtype, one for each axis."
        )


def dynamic_slice_impl(x: Value, *starts: Value, slice_sizes: Shape) -> Value:
    x = np.asarray(x)
    return x[_place(x.shape, starts, slice_sizes)][()]


def dynamic_update_slice_impl(x: Value, update: Value, *starts: Value) -> Value:
    out = np.array(x)
    out[_place(out.shape, starts, np.shape(update))] = update
    return out[()]


dynamic_slice_p.def_impl(dynamic_slice_impl, leaf=True)
dynamic_update_slice_p.def_impl(dynamic_update_slice_impl, leaf=True, makes_arrays=True)


def dynamic_update_slice_adder_for_types(*_: ShapedArray) -> Callable[..., None]:
    def add(total: Value, update: Value, *starts: Value) -> None:
        part = total[_place(total.shape, starts, np.shape(update))]
        np.add(part, update, part)

    return add


dynamic_update_slice_p.def_adder(0, dynamic_update_slice_adder_for_types)


def _place(shape: Shape, starts: Sequence[Value], sizes: Shape) -> tuple[Any, ...]:
    """Return the NumPy index of the window; `...` keeps an array of rank 0 an array."""
    corner = (min(max(int(i), 0), whole - n) for i, n, whole in zip(starts, sizes, shape))
    return (*(builtins.slice(start, start + n) for start, n in zip(corner, sizes)), ...)


def dynamic_slice(
    operand: Value,
    start_indices: Sequence[Value] | Value,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Return the window of size `slice_sizes` of `operand` whose corner is `start_indices`, integer scalars.

    A negative index counts from the end, unless `allow_negative_indices` is False; a window that does not fit moves
    inside.
    Shapes: operand [*s] -> slice_sizes.  Dtype: kept.
    Raises: TypeError if the indices are not one integer for each axis; ShapeError if a size is larger than its axis.

    >>> import numpy as np
    >>> from calque_core.lax import dynamic_slice
    >>> dynamic_slice(np.arange(5), (1,), (3,)), dynamic_slice(np.arange(5), (4,), (3,))
    (array([1, 2, 3]), array([2, 3, 4]))
    """
    sizes = integers("dynamic_slice", "slice_sizes", slice_sizes)
    starts = _starts("dynamic_slice", operand, start_indices, allow_negative_indices)
    return bind_checked(dynamic_slice_p, as_result(operand), *starts, slice_sizes=sizes)


def dynamic_update_slice(
    operand: Value, update: Value, start_indices: Sequence[Value] | Value, *, allow_negative_indices: bool = True
) -> Value:
    """Return `operand` with the window whose corner is `start_indices`, integer scalars, replaced by `update`.

    A negative index counts from the end, unless `allow_negative_indices` is False; a window that does not fit moves
    inside.
    Shapes: operand [*s], update [*t] of no longer axes -> [*s].  Dtype: of `operand`.
    Raises: TypeError if the indices are not one integer for each axis; ShapeError if the update does not fit.

    >>> import numpy as np
    >>> from calque_core.lax import dynamic_update_slice
    >>> dynamic_update_slice(np.zeros(5), np.ones(2), (2,))
    array([0., 0., 1., 1., 0.])
    """
    starts = _starts("dynamic_update_slice", operand, start_indices, allow_negative_indices)
    piece = convert_element_type(update, typeof(operand).dtype)
    return bind_checked(dynamic_update_slice_p, as_result(operand), piece, *starts)


def dynamic_slice_in_dim(
    operand: Value, start_index: Value, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Value:
    """Return `slice_size` entries of `operand` from `start_index`, an integer scalar, along `axis`.

    Shapes: operand [.., n, ..] -> [.., slice_size, ..].  Dtype, indices out of bounds, errors: as `dynamic_slice`;
    ValueError if the axis is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import dynamic_slice_in_dim
    >>> dynamic_slice_in_dim(np.arange(5), 1, 3)
    array([1, 2, 3])
    """
    shape = typeof(operand).shape
    position = canonical_axis("dynamic_slice_in_dim", axis, len(shape))
    sizes = list(shape)
    sizes[position] = integer("dynamic_slice_in_dim", "slice_size", slice_size)
    return _sliced("dynamic_slice_in_dim", operand, start_index, position, tuple(sizes), allow_negative_indices)


def dynamic_update_slice_in_dim(
    operand: Value, update: Value, start_index: Value, axis: int, *, allow_negative_indices: bool = True
) -> Value:
    """Return `operand` with `update` in place of entries along `axis`, from `start_index`, an integer scalar, on.

    Shapes: operand [.., n, ..], update [.., m, ..] -> [.., n, ..].  Dtype, indices out of bounds, errors: as
    `dynamic_update_slice`; ValueError if the axis is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import dynamic_update_slice_in_dim
    >>> dynamic_update_slice_in_dim(np.zeros(5), np.ones(2), 2, 0)
    array([0., 0., 1., 1., 0.])
    """
    return _updated("dynamic_update_slice_in_dim", operand, update, start_index, axis, allow_negative_indices)


def dynamic_index_in_dim(
    operand: Value, index: Value, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Value:
    """Return the slice of `operand` at `index`, an integer scalar, along `axis`.

    Shapes: operand [.., n, ..] -> [.., 1, ..], or [.., ..] without `keepdims`.  Dtype: kept.  A negative index counts
    from the end, unless `allow_negative_indices` is False; one out of range means the nearest slice.
    Raises: TypeError if `index` is not an integer scalar; ShapeError if there are no slices; ValueError if the axis is
    out of range.

    >>> import numpy as np
    >>> from calque_core.lax import dynamic_index_in_dim
    >>> dynamic_index_in_dim(np.array([1.0, 2.0, 3.0]), 1, keepdims=False)
    np.float64(2.0)
    """
    shape = typeof(operand).shape
    position = canonical_axis("dynamic_index_in_dim", axis, len(shape))
    sizes = (*shape[:position], 1, *shape[position + 1 :])
    out = _sliced("dynamic_index_in_dim", operand, index, position, sizes, allow_negative_indices)
    return out if keepdims else squeeze(out, (position,))


def dynamic_update_index_in_dim(
    operand: Value, update: Value, index: Value, axis: int, *, allow_negative_indices: bool = True
) -> Value:
    """Return `operand` with the slice at `index`, an integer scalar, along `axis` replaced by `update`.

    Shapes: operand [.., n, ..], update [.., 1, ..] or [.., ..] -> [.., n, ..].  Dtype: of `operand`.  A negative
    index counts from the end, unless `allow_negative_indices` is False; one out of range means the nearest slice.
    Raises: TypeError if `index` is not an integer scalar; ShapeError if the update does not fit; ValueError if the axis
    is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import dynamic_update_index_in_dim
    >>> dynamic_update_index_in_dim(np.array([1.0, 2.0, 3.0]), 9.0, -1, 0)
    array([1., 2., 9.])
    """
    shape, update_shape = typeof(operand).shape, typeof(update).shape
    position = canonical_axis("dynamic_update_index_in_dim", axis, len(shape))
    piece_shape = (*shape[:position], 1, *shape[position + 1 :])
    if update_shape not in (piece_shape, shape[:position] + shape[position + 1 :]) or not shape[position]:
        raise ShapeError(
            f"dynamic_update_index_in_dim of {typeof(operand)} with {typeof(update)}{where()}: the update is no slice "
            f"along axis {position}. Give an array of shape {piece_shape}, with or without that axis."
        )
    piece = reshape(update, piece_shape)
    return _updated("dynamic_update_index_in_dim", operand, piece, index, axis, allow_negative_indices)


def _sliced(name: str, operand: Value, index: Value, axis: int, sizes: Shape, may_be_negative: bool) -> Value:
    """Return the window of `sizes` from `index` along an axis, and from 0 along other axes."""
    starts = _from_one(name, operand, index, axis, may_be_negative)
    return bind_checked(dynamic_slice_p, as_result(operand), *starts, slice_sizes=sizes)


def _updated(name: str, operand: Value, update: Value, index: Value, axis: int, may_be_negative: bool) -> Value:
    aval = typeof(operand)
    starts = _from_one(name, operand, index, canonical_axis(name, axis, aval.ndim), may_be_negative)
    return bind_checked(dynamic_update_slice_p, as_result(operand), convert_element_type(update, aval.dtype), *starts)


def _from_one(name: str, operand: Value, index: Value, axis: int, may_be_negative: bool) -> list[Value]:
    """Return the indices of a corner that is 0 along all axes but one."""
    shape = typeof(operand).shape
    start = _start(name, index, shape[axis], may_be_negative)
    zero = typeof(start).dtype.type(0)
    return [start if i == axis else zero for i in range(len(shape))]


def _starts(name: str, operand: Value, start_indices: Sequence[Value] | Value, may_be_negative: bool) -> list[Value]:
    """Return the indices of a corner, of one dtype; they may be elements of one array."""
    shape = typeof(operand).shape
    if is_array_like(start_indices) and typeof(start_indices).ndim == 1:
        start_indices = [slice(start_indices, (i,), (i + 1,)) for i in range(typeof(start_indices).shape[0])]
        start_indices = [squeeze(i, (0,)) for i in start_indices]
    if not isinstance(start_indices, (list, tuple)) or len(start_indices) != len(shape):
        raise TypeError(
            f"{name}{where()} got {describe_value(start_indices)} as its indices. Give one integer for each of "
            f"{len(shape)} axes."
        )
    starts = [_start(name, index, size, may_be_negative) for index, size in zip(start_indices, shape)]
    is_wide = any(typeof(i).dtype == np.int64 for i in starts)
    return [convert_element_type(i, np.int64) for i in starts] if is_wide else starts


def _start(name: str, index: Value, size: int, may_be_negative: bool) -> Value:
    """Return an index, counted from the start of an axis of `size` entries."""
    if not is_array_like(index) or typeof(index).shape or typeof(index).kind not in "iu":
        raise TypeError(f"{name}{where()} got {describe_value(index)} as its index. Give an integer scalar.")
    if isinstance(index, (int, np.integer)):  # known under every trace
        position = int(index) + size if index < 0 and may_be_negative else int(index)
        return np.int32(min(max(position, 0), size, _INT32_MAX))
    position, is_unsigned = as_indices(index), typeof(index).kind == "u"
    return position if is_unsigned or not may_be_negative else select(lt(position, 0), add(position, size), position)


_INT32_MAX = np.iinfo(np.int32).max


def index_take(src: Value, idxs: Sequence[Value], axes: Sequence[int]) -> Value:
    """Return slices of `src` at the positions `idxs`, one vector of integers for each of `axes`; positions wrap around.

    Shapes: src [*s], each index [n] -> [n, *s without the axes].  Dtype: kept.
    Raises: ShapeError if the indices are no vectors of one length or an axis is empty; ValueError if an axis is out of
    range.

    >>> import numpy as np
    >>> from calque_core.lax import index_take
    >>> index_take(np.array([[1, 2], [3, 4]]), (np.array([0, 1, 5]), np.array([1, -2, 0])), (0, 1))
    array([2, 3, 3])
    """
    aval, taken = typeof(src), [canonical_axis("index_take", axis, typeof(src).ndim) for axis in axes]
    vectors = [as_indices(x) for x in idxs]
    lengths = {typeof(x).shape for x in vectors}
    if len(vectors) != len(taken) or len(lengths) != 1 or len(lengths.copy().pop()) != 1:
        raise ShapeError(
            f"index_take of {aval}{where()}: the indices have types {', '.join(str(typeof(x)) for x in vectors)}. Give "
            f"one vector of integers for each of {len(taken)} axes, of one length."
        )
    for axis in taken:
        if not aval.shape[axis]:
            raise ShapeError(f"index_take of {aval}{where()}: axis {axis} is empty. Take from an axis with elements.")
    columns = [reshape(_wrapped(x, aval.shape[axis]), (typeof(x).size, 1)) for x, axis in zip(vectors, taken)]
    kept = [n for axis, n in enumerate(aval.shape) if axis not in taken]
    numbers = GatherDimensionNumbers(tuple(range(1, len(kept) + 1)), tuple(sorted(taken)), tuple(taken))
    sizes = [1 if axis in taken else n for axis, n in enumerate(aval.shape)]
    return gather(src, concatenate(columns, 1), numbers, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def _wrapped(index: Value, size: int) -> Value:
    place = rem(index, size)
    return select(lt(place, 0), add(place, size), place)
