"""Products in which groups of rows have matrices of their own, or groups of terms have sums of their own.

One idea: an axis in front counts the groups; along it, each element of the ragged axis stays in its own group, and is
zero in every other group.  Then one `dot_general` is the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.elementwise.arithmetic import sub
from calque_core.ops.elementwise.compare import bitwise_and, ge, lt, select
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.reductions.cumulative import cumsum
from calque_core.ops.reductions.dot import canonical_dimensions, dot_general
from calque_core.ops.reductions.precision import PrecisionLike
from calque_core.ops.shapes.axes import canonical_axis
from calque_core.ops.shapes.broadcast import broadcast_in_dim
from calque_core.ops.shapes.create import iota, zeros_like
from calque_core.ops.shapes.shape import of_one_dtype, transpose
from calque_core.types.avals import Shape, ShapedArray, typeof

Value = Any
Axes = Sequence[int]


class RaggedDotDimensionNumbers(NamedTuple):
    """The axes of `ragged_dot_general`: those of `dot_general`, the ragged axis of `lhs`, the axis of groups of `rhs`.

    >>> from calque_core.lax import RaggedDotDimensionNumbers
    >>> RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,)).lhs_ragged_dimensions
    (0,)
    """

    dot_dimension_numbers: tuple[tuple[Axes, Axes], tuple[Axes, Axes]]
    lhs_ragged_dimensions: Axes
    rhs_group_dimensions: Axes


_OF_ROWS = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(
    lhs: Value,
    rhs: Value,
    group_sizes: Value,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the products of consecutive groups of rows of `lhs` with one matrix of `rhs` for each group.

    Group i has `group_sizes[i]` rows; rows after the last group give zeros.  `precision` and `preferred_element_type`
    are as for `dot_general`.  It is one product of each matrix with all rows, zeros for rows of other groups: it
    computes g m k n products of numbers.
    Shapes: lhs [m, k], rhs [g, k, n], group_sizes [g] -> [m, n].  Dtype: promoted, or `preferred_element_type`.
    Raises: ShapeError if the shapes do not fit; TypeError unless the sizes are integers.

    >>> import numpy as np
    >>> from calque_core.lax import ragged_dot
    >>> ragged_dot(np.ones((3, 1)), np.array([[[10.0]], [[20.0]]]), np.array([1, 2])).tolist()
    [[10.0], [20.0], [20.0]]
    """
    avals = [typeof(x) for x in (lhs, rhs, group_sizes)]
    call = _checked_call("ragged_dot", *avals)
    fits = [aval.ndim for aval in avals] == [2, 3, 1]
    if not fits or avals[1].shape[:2] != (avals[2].size, avals[0].shape[1]):
        raise ShapeError(f"{call}: the shapes do not fit. Give the shapes [m, k], [g, k, n] and [g].")
    return ragged_dot_general(lhs, rhs, group_sizes, _OF_ROWS, precision, preferred_element_type)


def ragged_dot_general(
    lhs: Value,
    rhs: Value,
    group_sizes: Value,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return sums of products over paired axes, for consecutive groups along one ragged axis of `lhs`.

    If the ragged axis is free, each group is multiplied with its own slice of `rhs` along the axis of groups.  If it is
    contracted, each group has a sum of its own, along a new axis in front.  If it is a batch axis, it is `dot_general`.
    `group_sizes` may have axes in front: the batch axes, then the axes of the ragged axis' kind before it.
    Shapes: lhs [*b, *m, *k], rhs [g, *b, *k, *n], group_sizes [g] -> [*b, *m, *n]; or rhs [*b, *k, *n] -> [g, *b, *m,
    *n]; all in any order of axes.
    Dtype, `precision` and `preferred_element_type`: as for `dot_general`.
    Raises: ShapeError if the shapes do not fit; ValueError for axes that are out of range, or not as many as above;
    TypeError unless the sizes are integers.

    >>> import numpy as np
    >>> from calque_core.lax import RaggedDotDimensionNumbers, ragged_dot_general
    >>> numbers = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    >>> ragged_dot_general(np.arange(4.0), np.ones(4), np.array([1, 3]), numbers)
    array([0., 6.])
    """
    avals = [typeof(x) for x in (lhs, rhs, group_sizes)]
    call = _checked_call("ragged_dot_general", *avals)
    lhs, rhs = of_one_dtype("ragged_dot_general", lhs, rhs)
    numbers, lhs_ragged, rhs_groups = ragged_dot_dimension_numbers
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = canonical_dimensions(avals[0].ndim, avals[1].ndim, numbers)
    paired = (*lhs_contract, *lhs_batch)
    free = tuple(axis for axis in range(avals[0].ndim) if axis not in paired)
    ragged, group = _ragged_axes(call, avals, (lhs_ragged, rhs_groups), paired)
    if ragged in lhs_batch:
        return dot_general(lhs, rhs, numbers, precision, preferred_element_type)
    peers = lhs_contract if ragged in lhs_contract else free
    prefix = (*lhs_batch, *peers[: peers.index(ragged)])
    sizes = _sizes_of_groups(call, group_sizes, [avals[0].shape[axis] for axis in prefix])
    own, contract, batch = _of_groups(lhs, sizes, prefix, ragged), _after(lhs_contract), _after(lhs_batch)
    if group is not None:
        pairs = ((0, *contract), (group, *rhs_contract)), (batch, rhs_batch)
        return dot_general(own, rhs, pairs, precision, preferred_element_type)
    place = lhs_contract.index(ragged)
    others = _of_groups(rhs, sizes, (*rhs_batch, *rhs_contract[:place]), rhs_contract[place])
    pairs = (contract, _after(rhs_contract)), ((0, *batch), (0, *_after(rhs_batch)))
    return dot_general(own, others, pairs, precision, preferred_element_type)


def _checked_call(name: str, lhs_aval: ShapedArray, rhs_aval: ShapedArray, sizes_aval: ShapedArray) -> str:
    """Return the call in words.  Raises: TypeError unless the sizes are integers."""
    call = f"{name} of {lhs_aval} and {rhs_aval} with group sizes {sizes_aval}{where()}"
    if sizes_aval.kind not in "iu":
        raise TypeError(f"{call}: the sizes are no integers. Give an array of integers.")
    return call


def _after(axes: Shape) -> Shape:
    """Return axes of an array that has one more axis in front."""
    return tuple(axis + 1 for axis in axes)


def _ragged_axes(
    call: str, avals: Sequence[ShapedArray], axes: tuple[Axes, Axes], paired: Shape
) -> tuple[int, int | None]:
    """Return the ragged axis of lhs, and the axis of groups of rhs; None unless the ragged axis is free.

    Raises: ValueError for another number of axes; ShapeError if the axis of groups has another size.
    """
    if len(axes[0]) != 1:
        raise ValueError(f"{call}: lhs_ragged_dimensions is {axes[0]}. Give one axis.")
    ragged = canonical_axis("ragged_dot_general", axes[0][0], avals[0].ndim)
    is_paired = ragged in paired
    if len(axes[1]) != (not is_paired):
        axis = "no axis, since the ragged one is paired" if is_paired else "one axis, since the ragged one is free"
        raise ValueError(f"{call}: rhs_group_dimensions is {axes[1]}. Give {axis}.")
    if is_paired:
        return ragged, None
    group = canonical_axis("ragged_dot_general", axes[1][0], avals[1].ndim)
    groups = avals[2].shape[-1] if avals[2].ndim else 0
    if avals[1].shape[group] != groups:
        raise ShapeError(f"{call}: the axis of groups of rhs has size {avals[1].shape[group]}. Give {groups}.")
    return ragged, group


def _sizes_of_groups(call: str, sizes: Value, prefix: Sequence[int]) -> Value:
    """Return the sizes of groups with all axes in front: [*prefix, g].  Raises: ShapeError."""
    aval = typeof(sizes)
    if aval.ndim == 0 or (aval.ndim > 1 and aval.shape[:-1] != tuple(prefix)):
        raise ShapeError(f"{call}: the sizes do not fit. Give the shape [g], or {[*prefix, 'g']}.")
    shape = (*prefix, aval.shape[-1])
    return sizes if aval.shape == shape else broadcast_in_dim(sizes, shape, (len(prefix),))


def _of_groups(x: Value, sizes: Value, prefix: Shape, ragged: int) -> Value:
    """Return `x` once for each group, with zeros for elements of other groups.

    Shapes: x [*s], sizes [*prefix, g] -> [g, *s].
    """
    last = len(prefix)
    shape = (typeof(sizes).shape[-1], *typeof(x).shape)
    ends = convert_element_type(cumsum(sizes, axis=last), np.int32)
    starts = sub(ends, convert_element_type(sizes, np.int32))
    axes = (*_after(prefix), 0)
    order = tuple(sorted(range(last + 1), key=axes.__getitem__))
    starts, ends = (broadcast_in_dim(transpose(x, order), shape, tuple(sorted(axes))) for x in (starts, ends))
    places = broadcast_in_dim(iota(np.int32, typeof(x).shape[ragged]), shape, (ragged + 1,))
    is_own = bitwise_and(ge(places, starts), lt(places, ends))
    return select(is_own, broadcast_in_dim(x, shape, tuple(range(1, len(shape)))), zeros_like(x, shape=shape))
