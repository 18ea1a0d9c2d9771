"""Lowering of hyperbolic functions; those of complex numbers are trigonometric functions of the turned operand."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir.dialects import chlo
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.extend import real_dtype, shaped_array
from calque_core.lax import acosh_p, asinh_p, atanh_p, cosh_p, sinh_p, tanh_p
from calque_xla_backend.define import IrValue, splat, with_quadrant_of, with_zero_of
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.rules.convert import in_single
from calque_xla_backend.rules.trigonometric import (
    complex_atanh,
    complex_tanh,
    cos_lowering,
    on_its_side,
    sin_lowering,
    times_cosh,
    times_sinh,
    with_right_angle,
)

# Hyperbolic functions


@register_lowering(sinh_p)
@in_single
def sinh_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """XLA rounds the operand of an exponential, and loses digits; for complex numbers use sinh(x) = -i sin(ix)."""
    (aval,) = ctx.avals_in
    if aval.kind == "c":
        (turned,) = sin_lowering(ctx, hlo.complex(hlo.negate(hlo.imag(x)), hlo.real(x)))
        return [hlo.complex(hlo.imag(turned), hlo.negate(hlo.real(turned)))]
    return [times_sinh(splat(1, aval), x, aval)]


@register_lowering(cosh_p)
@in_single
def cosh_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """As `sinh_lowering`; for complex numbers use cosh(x) = cos(ix)."""
    (aval,) = ctx.avals_in
    if aval.kind == "c":
        return cos_lowering(ctx, hlo.complex(hlo.negate(hlo.imag(x)), hlo.real(x)))
    return [times_cosh(splat(1, aval), x, aval)]


@register_lowering(tanh_p)
def tanh_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    (aval,) = ctx.avals_in
    return [hlo.tanh(x) if aval.kind != "c" else complex_tanh(aval, x)]


# Inverses of the hyperbolic functions


@register_lowering(asinh_p)
@in_single
def asinh_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    (aval,), out = ctx.avals_in, chlo.asinh(x)
    if aval.kind != "c":
        return [out]
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    on_axis = hlo.complex(hlo.real(out), with_zero_of(hlo.imag(out), hlo.imag(x), part_aval))
    return [with_quadrant_of(on_axis, x, part_aval)]


@register_lowering(acosh_p)
@in_single
def acosh_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """On the imaginary axis the size of the imaginary part of a complex result is pi / 2, beside NaN too."""
    (aval,), out = ctx.avals_in, chlo.acosh(x)
    if aval.kind != "c":
        return [out]
    angle = hlo.abs(hlo.imag(out))
    angle = with_right_angle(angle, hlo.real(x), shaped_array(aval.shape, real_dtype(aval.dtype)))
    return [on_its_side(aval, x, hlo.complex(hlo.real(out), angle))]


@register_lowering(atanh_p)
@in_single
def atanh_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Return log(1 + 2 |x| / (1 - |x|)) / 2 with the sign of x: XLA takes a logarithm with few digits for some x."""
    (aval,) = ctx.avals_in
    if aval.kind == "c":
        return [complex_atanh(aval, x)]
    size = hlo.abs(x)
    odds = hlo.divide(hlo.add(size, size), hlo.subtract(splat(1, aval), size))
    return [hlo.multiply(hlo.sign(x), hlo.multiply(splat(0.5, aval), hlo.log_plus_one(odds)))]
