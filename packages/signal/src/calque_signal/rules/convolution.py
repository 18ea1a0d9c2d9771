"""The derivative of a convolution: it is linear in each operand, and its transposes are convolutions again.

One idea: leave the spatial axes aside, and a convolution is a matrix product of [batch, features] with [features, out
features].  So the transposes exchange axes as those of a product do; a stride becomes a dilation, and the other way
round.  Groups stay outermost in the axis that holds them.
"""

from __future__ import annotations

from typing import Any

from calque_core import UndefinedPrimal, typeof
from calque_core.extend import Shape, defbilinear, dilated_shape, merge_axis, split_axis, transposed_pads
from calque_core.lax import (
    ConvDimensionNumbers,
    Precisions,
    conv_general_dilated,
    conv_general_dilated_p,
    convert_element_type,
    full,
    rev,
)

Value = Any
Pads = tuple[tuple[int, int], ...]


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


defbilinear(conv_general_dilated_p, conv_general_dilated_transpose_lhs, conv_general_dilated_transpose_rhs)
