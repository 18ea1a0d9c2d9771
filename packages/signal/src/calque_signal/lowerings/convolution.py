"""Lowering of convolutions.

Complex numbers are convolved by parts: XLA has no fast complex convolution on a CPU, and none on other platforms.
Without a stated precision it is the highest, as for sums of products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from calque_core.extend import Shape, real_dtype, shaped_array
from calque_core.lax import Precisions
from calque_signal.ops.convolution import conv_general_dilated_p
from calque_signal.ops.convolution_layouts import ConvDimensionNumbers
from calque_signal.ops.paddings import Pads
from calque_xla_backend.kernels import (
    IrValue,
    LoweringRuleContext,
    aval_to_ir_type,
    cached_in_context,
    convert,
    dense_attribute,
    evaluate_on_host,
    hlo,
    precision_attribute,
    product_dtype,
    register_lowering,
    splat,
    undivided_along,
)

DType = np.dtype[Any]


@register_lowering(conv_general_dilated_p, platform="cuda")
def conv_general_dilated_cuda_lowering(
    ctx: LoweringRuleContext, lhs: IrValue, rhs: IrValue, **params: Any
) -> Sequence[IrValue]:
    """CuDNN has convolutions of floats alone: the host computes those of integers."""
    rule = conv_general_dilated_lowering if ctx.avals_out[0].kind in "fc" else evaluate_on_host
    return rule(ctx, lhs, rhs, **params)


@register_lowering(conv_general_dilated_p)
def conv_general_dilated_lowering(
    ctx: LoweringRuleContext, lhs: IrValue, rhs: IrValue, *, preferred_element_type: DType | None, **params: Any
) -> Sequence[IrValue]:
    """Operands are widened before the sums, and sums narrowed after them, in the order of evaluation."""
    (lhs_aval, rhs_aval), (out_aval,) = ctx.avals_in, ctx.avals_out
    if 0 in (lhs_aval.size, rhs_aval.size, out_aval.size):
        return [splat(0, out_aval)]
    wide = product_dtype(lhs_aval.dtype, out_aval.dtype)
    lhs, rhs = convert(lhs, lhs_aval, wide), convert(rhs, rhs_aval, wide)
    attributes = convolution_attributes(**params)
    axes = whole_axes(**params) if ctx.is_divided else None
    if axes is not None:
        lhs, rhs = (undivided_along(ctx.module_context, x, x_axes) for x, x_axes in zip((lhs, rhs), axes))
    if wide.kind == "c":
        parts_type = aval_to_ir_type(shaped_array(out_aval.shape, real_dtype(wide)))
        out = by_parts(lambda x, y: hlo.convolution(parts_type, x, y, **attributes), lhs, rhs)
    else:
        out = hlo.convolution(aval_to_ir_type(shaped_array(out_aval.shape, wide)), lhs, rhs, **attributes)
    if axes is not None:
        out = undivided_along(ctx.module_context, out, axes[-1])
    return [convert(out, shaped_array(out_aval.shape, wide), out_aval.dtype)]


def whole_axes(
    *, dimension_numbers: ConvDimensionNumbers, feature_group_count: int, batch_group_count: int, **_: Any
) -> tuple[list[int], list[int], list[int]]:
    """Return the axes of operands and result along which XLA divides a convolution wrongly.

    It adds products twice where both operands are divided along spatial axes, in a mesh of several axes; and it mixes
    groups: the gradient of the kernel of a grouped convolution is wrong if the batch is divided.
    """
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    if batch_group_count > 1:
        every = list(range(len(lhs_spec)))
        return every, every, every
    if feature_group_count > 1:  # specs have the batch first, then the features
        return list(lhs_spec[1:]), list(rhs_spec), list(out_spec[1:])
    return list(lhs_spec[2:]), list(rhs_spec[2:]), list(out_spec[2:])


def convolution_attributes(
    *,
    window_strides: Shape,
    padding: Pads,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    precision: Precisions | None,
    **groups: int,
) -> dict[str, Any]:
    """Return the parameters of a convolution as attributes of StableHLO's operation."""
    n_spatial = len(window_strides)
    return {
        "dimension_numbers": cached_in_context(dimension_numbers, lambda: layout_attribute(dimension_numbers)),
        "window_strides": list(window_strides),
        "padding": dense_attribute(np.reshape(padding, (n_spatial, 2)), np.int64),
        "lhs_dilation": list(lhs_dilation),
        "rhs_dilation": list(rhs_dilation),
        "window_reversal": [False] * n_spatial,
        "precision_config": precision_attribute(precision),
        **groups,
    }


def layout_attribute(numbers: ConvDimensionNumbers) -> ir.Attribute:
    """Return a layout as an attribute."""
    (lhs_batch, lhs_features, *lhs), (rhs_out, rhs_in, *rhs), (out_batch, out_features, *out) = numbers
    return hlo.ConvDimensionNumbers.get(
        input_batch_dimension=lhs_batch,
        input_feature_dimension=lhs_features,
        input_spatial_dimensions=lhs,
        kernel_input_feature_dimension=rhs_in,
        kernel_output_feature_dimension=rhs_out,
        kernel_spatial_dimensions=rhs,
        output_batch_dimension=out_batch,
        output_feature_dimension=out_features,
        output_spatial_dimensions=out,
    )


def by_parts(multiply: Callable[[IrValue, IrValue], IrValue], x: IrValue, y: IrValue) -> IrValue:
    """Return a product of complex arrays from the products of their real and imaginary parts."""
    x_parts, y_parts = (hlo.real(x), hlo.imag(x)), (hlo.real(y), hlo.imag(y))
    (real, cross), (other_cross, imag) = [[multiply(a, b) for b in y_parts] for a in x_parts]
    return hlo.complex(hlo.subtract(real, imag), hlo.add(cross, other_cross))
