"""The transposes and the batches of a convolution: all of them are convolutions again.

One idea: leave the spatial axes aside, and a convolution is a matrix product of [batch, features] with [features, out
features].  So the transposes exchange axes as those of a product do; a stride becomes a dilation, and the other way
round.  A mapped operand alone makes the batch longer, a mapped kernel alone gives more features of the result, and both
together are groups.  Groups that are there already stay outermost in the axis that holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import UndefinedPrimal, moveaxis, typeof
from calque_core.engine import batch_size
from calque_core.extend import Shape, defbatch, defbilinear
from calque_core.lax import Precisions, convert_element_type, full, reshape, rev
from calque_signal.ops.convolution import conv_general_dilated, conv_general_dilated_p
from calque_signal.ops.convolution_layouts import ConvDimensionNumbers
from calque_signal.ops.paddings import Pads, dilated_shape, transposed_pads

Value = Any
Dims = Sequence[int | None]
Params = dict[str, Any]

# Derivatives: linear in each operand


def conv_general_dilated_transpose_lhs(  # noqa: PLR0913 -- JAX's parameters
    ct: Value,
    lhs: UndefinedPrimal,
    rhs: Value,
    *,
    window_strides: Shape,
    padding: Pads,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Precisions | None,
    **params: Any,
) -> Value:
    """Convolve with the reversed kernel: [n, o] [o, c] -> [n, c].

    With feature groups g, [n, g o] [o, g c] -> [n, g c]; with batch groups, the same, and then [n, g c] -> [g n, c].
    """
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    groups = max(feature_group_count, batch_group_count)
    kernel = rev(move_groups(rhs, rhs_spec[0], rhs_spec[1], groups), rhs_spec[2:])
    shape, window = spatial_sizes(lhs, lhs_spec), spatial_sizes(rhs, rhs_spec)
    pads = transposed_pads(shape, window, window_strides, padding, lhs_dilation, rhs_dilation)
    numbers = ConvDimensionNumbers(out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec)
    lhs_bar = conv_general_dilated(
        ct, as_wide(kernel, ct), lhs_dilation, pads, window_strides, rhs_dilation, numbers, groups, 1, precision
    )
    return convert_element_type(move_groups(lhs_bar, lhs_spec[1], lhs_spec[0], batch_group_count), lhs.aval.dtype)


def conv_general_dilated_transpose_rhs(  # noqa: PLR0913 -- JAX's parameters
    ct: Value,
    lhs: Value,
    rhs: UndefinedPrimal,
    *,
    window_strides: Shape,
    padding: Pads,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Precisions | None,
    **params: Any,
) -> Value:
    """Convolve the operand with the cotangent, over the batch: [c, n] [n, o] -> [c, o].

    Feature groups become batch groups, [g c, n] [n, g o] -> [c, g o], and batch groups feature groups.
    """
    if not typeof(ct).size:  # no window, or no batch: a convolution takes no kernel of size zero
        return full(rhs.aval.shape, 0, rhs.aval.dtype)
    specs = [(spec[1], spec[0], *spec[2:]) for spec in dimension_numbers]
    shape, counts = spatial_sizes(lhs, dimension_numbers.lhs_spec), spatial_sizes(ct, dimension_numbers.out_spec)
    spans = dilated_shape(spatial_sizes(rhs, dimension_numbers.rhs_spec), rhs_dilation)
    reads = zip(padding, dilated_shape(counts, window_strides), spans, dilated_shape(shape, lhs_dilation))
    pads = [(low, last + span - 1 - low - size) for (low, _), last, span, size in reads]  # what the windows read
    rhs_bar = conv_general_dilated(
        as_wide(lhs, ct),
        ct,
        rhs_dilation,
        pads,
        lhs_dilation,
        window_strides,
        ConvDimensionNumbers(specs[0], specs[2], specs[1]),
        batch_group_count,
        feature_group_count,
        precision,
    )
    return convert_element_type(rhs_bar, rhs.aval.dtype)


def spatial_sizes(x: Value, spec: Shape) -> Shape:
    """Return the sizes of the spatial axes, in the order of `spec`."""
    shape = x.aval.shape if type(x) is UndefinedPrimal else typeof(x).shape
    return tuple(shape[axis] for axis in spec[2:])


def as_wide(x: Value, ct: Value) -> Value:
    """Return `x` in the dtype of a wider cotangent, which comes from sums in `preferred_element_type`."""
    dtype = typeof(ct).dtype
    return convert_element_type(x, dtype) if dtype.itemsize > typeof(x).dtype.itemsize else x


def move_groups(x: Value, source: int, target: int, groups: int) -> Value:
    """Return `x` with its groups moved: they are the outer part of the axis `source`, and then of `target`."""
    return x if groups == 1 else merge_axis(split_axis(x, source, groups), source, target)


def merge_axis(x: Value, axis: int, into: int, groups: int = 1) -> Value:
    """Return `x` with one axis merged into another: its outer part, but inside of the `groups` of the other axis.

    `into` is the position among the other axes.
    Shapes: x [*a, n, *b], where [*a, *b] is [*c, m, *d] -> [*c, n * m, *d].  Dtype: kept.

    >>> import numpy as np
    >>> x = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    >>> merge_axis(x, 0, 0), merge_axis(x, 0, 0, groups=2)
    (array([1, 2, 3, 4, 5, 6, 7, 8]), array([1, 2, 5, 6, 3, 4, 7, 8]))
    """
    x = moveaxis(x, axis, into)
    shape = typeof(x).shape
    before, (n, m), after = shape[:into], shape[into : into + 2], shape[into + 2 :]
    if groups > 1:
        x = moveaxis(reshape(x, (*before, n, groups, m // groups, *after)), into, into + 1)
    return reshape(x, (*before, n * m, *after))


def split_axis(x: Value, axis: int, size: int, groups: int = 1) -> Value:
    """Return `x` with an axis of `size` cut out of another one, before it: the inverse of `merge_axis`.

    Shapes: x [*a, size * m, *b] -> [*a, size, m, *b].  Dtype: kept.

    >>> import numpy as np
    >>> split_axis(np.arange(4), 0, 2), split_axis(np.arange(4), 0, 2, groups=2)
    (array([[0, 1],
           [2, 3]]), array([[0, 2],
           [1, 3]]))
    """
    shape = typeof(x).shape
    before, m, after = shape[:axis], shape[axis] // size, shape[axis + 1 :]
    if groups > 1:
        x = moveaxis(reshape(x, (*before, groups, size, m // groups, *after)), axis + 1, axis)
    return reshape(x, (*before, size, m, *after))


defbilinear(conv_general_dilated_p, conv_general_dilated_transpose_lhs, conv_general_dilated_transpose_rhs)

# Batches


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
