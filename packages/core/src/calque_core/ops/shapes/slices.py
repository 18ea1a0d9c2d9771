"""Slices along one axis at positions that are known: short forms of `slice`.

Read next: `dynamic.py`, for positions that are values.
"""

from __future__ import annotations

from typing import Any

from calque_core.frames.source import where
from calque_core.ops.shapes.axes import canonical_axis, integer
from calque_core.ops.shapes.shape import slice, squeeze
from calque_core.types.avals import typeof

Value = Any


def slice_in_dim(
    operand: Value, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Value:
    """Return every `stride`-th element of `operand` from `start_index` to before `limit_index` along `axis`.

    None is the first position, or the position after the last; a negative index counts from the end.
    Shapes: operand [*a, n, *b] -> [*a, ceil((limit - start) / stride), *b].  Dtype: kept.
    Raises: ValueError unless 0 <= start <= limit <= n and stride >= 1, or if the axis is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import slice_in_dim
    >>> slice_in_dim(np.arange(5), 1, None), slice_in_dim(np.arange(5), 0, -1, 2)
    (array([1, 2, 3, 4]), array([0, 2]))
    """
    shape = typeof(operand).shape
    position = canonical_axis("slice_in_dim", axis, len(shape))
    size = shape[position]
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[position] = 0 if start_index is None else _from_start("start_index", start_index, size)
    limits[position] = size if limit_index is None else _from_start("limit_index", limit_index, size)
    strides[position] = integer("slice_in_dim", "stride", stride)
    return slice(operand, starts, limits, strides)


def _from_start(argument: str, index: int, size: int) -> int:
    index = integer("slice_in_dim", argument, index)
    return index + size if index < 0 else index


def index_in_dim(operand: Value, index: int, axis: int = 0, keepdims: bool = True) -> Value:
    """Return the slice of `operand` at `index` along `axis`; a negative index counts from the end.

    Shapes: operand [*a, n, *b] -> [*a, 1, *b], or [*a, *b] without `keepdims`.  Dtype: kept.
    Raises: ValueError if the axis or the index is out of range.

    >>> import numpy as np
    >>> from calque_core.lax import index_in_dim
    >>> index_in_dim(np.array([4, 5, 6]), -1), index_in_dim(np.array([4, 5, 6]), 0, keepdims=False)
    (array([6]), np.int64(4))
    """
    shape = typeof(operand).shape
    axis = canonical_axis("index_in_dim", axis, len(shape))
    index, size = integer("index_in_dim", "the index", index), shape[axis]
    if not -size <= index < size:
        raise ValueError(
            f"index_in_dim of {typeof(operand)}{where()}: the index {index} is out of range for axis {axis} of size "
            f"{size}. Use an index from {-size} to {size - 1}."
        )
    position = index % size
    out = slice_in_dim(operand, position, position + 1, axis=axis)
    return out if keepdims else squeeze(out, axis)
