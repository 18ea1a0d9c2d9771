"""Reading and replacing one slice at a position that may be known only when the program runs.

One idea: the leading axes of the operand are the axes of the index, and the primitives index the axis after them, one
slice for each element of the index.  Batching adds a leading axis to both, so the primitives are closed under it.  An
index out of range means the nearest slice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.calls.api_util import describe_value
from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.arithmetic import add
from calque_core.ops.axes import canonical_axis
from calque_core.ops.broadcast import expand_dims
from calque_core.ops.compare import lt, select
from calque_core.ops.convert import convert_element_type
from calque_core.ops.shape import squeeze, transpose
from calque_core.primitives.primitive import Primitive, bind_checked
from calque_core.types.avals import ShapedArray, is_array_like, shaped_array, typeof

Value = Any

dynamic_index_p = Primitive("dynamic_index", linearity="linear")
dynamic_update_index_p = Primitive("dynamic_update_index", linearity="linear")


@dynamic_index_p.def_abstract_eval
def dynamic_index_abstract_eval(x_aval: ShapedArray, index_aval: ShapedArray) -> ShapedArray:
    """Shapes: x [*b, n, *s], index [*b] -> [*b, *s]."""
    rank = index_aval.ndim
    if index_aval.dtype.kind not in "iu" or x_aval.shape[:rank] != index_aval.shape or not x_aval.shape[rank:]:
        raise ShapeError(
            f"dynamic_index{where()} of {x_aval} at {index_aval}. Give integers, one for each "
            "position along the axes before the indexed one."
        )
    if not x_aval.shape[rank]:
        raise ShapeError(f"dynamic_index{where()} of {x_aval}, which has no slices. Give one or more.")
    return shaped_array(index_aval.shape + x_aval.shape[rank + 1 :], x_aval.dtype)


@dynamic_update_index_p.def_abstract_eval
def dynamic_update_index_abstract_eval(
    x_aval: ShapedArray, update_aval: ShapedArray, index_aval: ShapedArray
) -> ShapedArray:
    """Shapes: x [*b, n, *s], update [*b, *s], index [*b] -> [*b, n, *s]."""
    slice_aval = dynamic_index_abstract_eval(x_aval, index_aval)
    if (slice_aval.shape, slice_aval.dtype) != (update_aval.shape, update_aval.dtype):
        raise ShapeError(
            f"dynamic_update_index{where()} of {x_aval} with {update_aval}. Give {slice_aval}, the type of a slice."
        )
    return x_aval.strip_weak_type()


def dynamic_index_impl(x: Value, index: Value) -> Value:
    return np.asarray(x)[_numpy_index(x, index)]


def dynamic_update_index_impl(x: Value, update: Value, index: Value) -> Value:
    out = np.array(x)
    out[_numpy_index(x, index)] = update
    return out


dynamic_index_p.def_impl(dynamic_index_impl, leaf=True)
dynamic_update_index_p.def_impl(dynamic_update_index_impl, leaf=True)


def _numpy_index(x: Value, index: Value) -> tuple[Any, ...]:
    """Return the NumPy index of the slices."""
    rank = np.ndim(index)
    last = np.shape(x)[rank] - 1
    if not rank:
        return (min(max(int(index), 0), last),)
    return (*np.indices(np.shape(index), sparse=True), np.clip(index, 0, last))


def dynamic_index_in_dim(operand: Value, index: Value, axis: int = 0, keepdims: bool = True) -> Value:
    """Return the slice of `operand` at `index`, an integer scalar, along `axis`.

    Shapes: operand [.., n, ..] -> [.., 1, ..], or [.., ..] without `keepdims`.  Dtype: kept.  A negative index counts
    from the end; one out of range means the nearest slice.
    Raises: TypeError if `index` is not an integer scalar; ShapeError if there are no slices; ValueError if the axis is
    out of range.

    >>> import numpy as np
    >>> from calque_core.lax import dynamic_index_in_dim
    >>> dynamic_index_in_dim(np.array([1.0, 2.0, 3.0]), 1, keepdims=False)
    np.float64(2.0)
    """
    position = canonical_axis("dynamic_index_in_dim", axis, typeof(operand).ndim)
    place = _index("dynamic_index_in_dim", index, typeof(operand).shape[position])
    out = bind_checked(dynamic_index_p, _in_front(operand, position), place)
    return expand_dims(out, (position,)) if keepdims else out


def dynamic_update_index_in_dim(operand: Value, update: Value, index: Value, axis: int) -> Value:
    """Return `operand` with the slice at `index`, an integer scalar, along `axis` replaced by `update`.

    Shapes: operand [.., n, ..], update [.., 1, ..] or [.., ..] -> [.., n, ..].  Dtype: of `operand`.  A negative
    index counts from the end; one out of range means the nearest slice.
    Raises: TypeError if `index` is not an integer scalar; ShapeError if the update does not fit; ValueError if the axis
    is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import dynamic_update_index_in_dim
    >>> dynamic_update_index_in_dim(np.array([1.0, 2.0, 3.0]), 9.0, -1, 0)
    array([1., 2., 9.])
    """
    aval = typeof(operand)
    position = canonical_axis("dynamic_update_index_in_dim", axis, aval.ndim)
    place = _index("dynamic_update_index_in_dim", index, aval.shape[position])
    piece = convert_element_type(update, aval.dtype)
    if typeof(piece).ndim == aval.ndim:
        piece = squeeze(piece, (position,))
    out = bind_checked(dynamic_update_index_p, _in_front(operand, position), piece, place)
    return _from_front(out, position)


def _index(name: str, index: Value, size: int) -> Value:
    """Return the index counted from the start, in a dtype that holds the size."""
    if not is_array_like(index) or typeof(index).shape or typeof(index).dtype.kind not in "iu":
        raise TypeError(f"{name}{where()} got {describe_value(index)} as its index. Give an integer scalar.")
    fits_int32 = np.can_cast(typeof(index).dtype, np.int32)
    position = convert_element_type(index, np.int32) if fits_int32 else index
    return position if typeof(position).dtype.kind == "u" else select(lt(position, 0), add(position, size), position)


def _in_front(x: Value, axis: int) -> Value:
    order = [axis, *(i for i in range(typeof(x).ndim) if i != axis)]
    return transpose(x, order) if axis else x


def _from_front(x: Value, axis: int) -> Value:
    order = [*range(1, axis + 1), 0, *range(axis + 1, typeof(x).ndim)]
    return transpose(x, order) if axis else x
