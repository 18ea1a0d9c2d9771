"""Batching a convolution: the batch axis merges with an axis that the operation treats element by element.

One idea: a mapped operand alone makes the batch longer, a mapped kernel alone gives more features of the result, and
both together are groups.  Groups that are there already stay outermost in the axis that holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import typeof
from calque_core.extend import batch_size, defbatch, merge_axis, split_axis
from calque_core.lax import ConvDimensionNumbers, conv_general_dilated, conv_general_dilated_p, full

Value = Any
Dims = Sequence[int | None]
Params = dict[str, Any]


def conv_general_dilated_batch(args: Sequence[Value], dims: Dims, **params: Any) -> tuple[Value, int]:
    (lhs, rhs), (lhs_bdim, rhs_bdim), size = args, dims, batch_size(args, dims)
    if size == 0:  # there is no group of size zero
        return no_results(args, dims, params), 0
    if rhs_bdim is None:
        assert lhs_bdim is not None
        return batch_of_operands(lhs, lhs_bdim, size, rhs, params)
    if lhs_bdim is None:
        return batch_of_kernels(lhs, rhs, rhs_bdim, size, params)
    return batch_of_pairs(lhs, lhs_bdim, rhs, rhs_bdim, params)


def batch_of_operands(lhs: Value, bdim: int, size: int, rhs: Value, params: Params) -> tuple[Value, int]:
    """Shapes, without spatial axes and for b elements: lhs [b n, c], rhs [o, c] -> [b n, o]."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    lhs = merge_axis(lhs, bdim, numbers.lhs_spec[0], params["batch_group_count"])
    out_batch = numbers.out_spec[0]
    return split_axis(conv_general_dilated(lhs, rhs, **params), out_batch, size), out_batch


def batch_of_kernels(lhs: Value, rhs: Value, bdim: int, size: int, params: Params) -> tuple[Value, int]:
    """Shapes, without spatial axes and for b elements: lhs [n, c], rhs [b o, c] -> [n, b o]."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    groups = params["feature_group_count"] * params["batch_group_count"]
    rhs = merge_axis(rhs, bdim, numbers.rhs_spec[0], groups)
    out_features = numbers.out_spec[1]
    return split_axis(conv_general_dilated(lhs, rhs, **params), out_features, size, groups), out_features


def batch_of_pairs(lhs: Value, lhs_bdim: int, rhs: Value, rhs_bdim: int, params: Params) -> tuple[Value, int]:
    """Shapes, without spatial axes and for b elements: lhs [n, b c], rhs [b o, c] -> [n, b o].

    With batch groups, lhs is [b n, c].
    """
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    size, out_features = typeof(lhs).shape[lhs_bdim], numbers.out_spec[1]
    count, axis = ("batch_group_count", 0) if params["batch_group_count"] > 1 else ("feature_group_count", 1)
    lhs, rhs = merge_axis(lhs, lhs_bdim, numbers.lhs_spec[axis]), merge_axis(rhs, rhs_bdim, numbers.rhs_spec[0])
    out = conv_general_dilated(lhs, rhs, **params | {count: params[count] * size})
    return split_axis(out, out_features, size), out_features


def no_results(args: Sequence[Value], dims: Dims, params: Params) -> Value:
    """Return the results for a batch of size zero."""
    avals = [typeof(x).update(shape=without(typeof(x).shape, bdim)) for x, bdim in zip(args, dims)]
    (out_aval,) = conv_general_dilated_p.abstract(*avals, **params)
    return full((0, *out_aval.shape), 0, out_aval.dtype)


def without(shape: Sequence[int], bdim: int | None) -> Sequence[int]:
    """Return the shape of one element."""
    return shape if bdim is None else (*shape[:bdim], *shape[bdim + 1 :])


defbatch(conv_general_dilated_p, conv_general_dilated_batch)
