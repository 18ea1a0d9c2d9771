"""Products of groups of rows with matrices of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.arithmetic import sub
from calque_core.ops.elementwise.compare import bitwise_and, ge, lt, select
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.reductions.cumulative import cumsum
from calque_core.ops.reductions.dot import PrecisionLike, dot_general
from calque_core.ops.shapes.broadcast import broadcast_in_dim
from calque_core.ops.shapes.create import iota, zeros_like
from calque_core.ops.shapes.shape import of_one_dtype
from calque_core.types.avals import ShapedArray, typeof

Value = Any


def ragged_dot(
    lhs: Value,
    rhs: Value,
    group_sizes: Value,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the products of consecutive groups of rows of `lhs` with one matrix of `rhs` for each group.

    Group i has `group_sizes[i]` rows; rows after the last group give zeros.  `precision` and `preferred_element_type`
    are as for `dot_general`.  It is one product in which each matrix meets all rows, with zeros for other groups: it
    computes g m k n products of numbers.
    Shapes: lhs [m, k], rhs [g, k, n], group_sizes [g] -> [m, n].  Dtype: promoted, or `preferred_element_type`.
    Raises: ShapeError if the shapes do not fit; TypeError unless the sizes are integers.

    >>> import numpy as np
    >>> from calque_core.lax import ragged_dot
    >>> ragged_dot(np.ones((3, 1)), np.array([[[10.0]], [[20.0]]]), np.array([1, 2])).tolist()
    [[10.0], [20.0], [20.0]]
    """
    lhs, rhs = of_one_dtype("ragged_dot", lhs, rhs)
    _check_operands(typeof(lhs), typeof(rhs), typeof(group_sizes))
    (m, k), g = typeof(lhs).shape, typeof(group_sizes).size
    shape = (g, m, k)
    ends = convert_element_type(cumsum(group_sizes), np.int32)
    starts = sub(ends, convert_element_type(group_sizes, np.int32))
    rows = broadcast_in_dim(iota(np.int32, m), shape, (1,))
    is_own = bitwise_and(ge(rows, broadcast_in_dim(starts, shape, (0,))), lt(rows, broadcast_in_dim(ends, shape, (0,))))
    own = select(is_own, broadcast_in_dim(lhs, shape, (1, 2)), zeros_like(lhs, shape=shape))
    return dot_general(own, rhs, (((0, 2), (0, 1)), ((), ())), precision, preferred_element_type)


def _check_operands(lhs_aval: ShapedArray, rhs_aval: ShapedArray, sizes_aval: ShapedArray) -> None:
    call = f"ragged_dot of {lhs_aval} and {rhs_aval} with group sizes {sizes_aval}{where()}"
    if sizes_aval.kind not in "iu":
        raise TypeError(f"{call}: the sizes are no integers. Give an array of integers.")
    ranks = lhs_aval.ndim, rhs_aval.ndim, sizes_aval.ndim
    if ranks != (2, 3, 1) or rhs_aval.shape[:2] != (sizes_aval.size, lhs_aval.shape[1]):
        raise ShapeError(f"{call}: the shapes do not fit. Give the shapes [m, k], [g, k, n] and [g].")
