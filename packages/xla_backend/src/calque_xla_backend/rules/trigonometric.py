"""Lowering of trigonometric and hyperbolic functions."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import real_dtype, shaped_array
from calque_core.lax import cos_p, sin_p, tan_p, tanh_p
from calque_xla_backend.define import IrValue, compare, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering

# Trigonometry


def _sinh_near_zero(x: IrValue, aval: ShapedArray) -> IrValue:
    """Return sinh(x) for small real numbers, without the difference of exp(x) and exp(-x), which cancels."""
    growth = hlo.exponential_minus_one(x)
    decay = hlo.divide(growth, hlo.add(growth, splat(1, aval)))
    return hlo.multiply(splat(0.5, aval), hlo.add(growth, decay))


def _near_real_axis(aval: ShapedArray, x: IrValue, out: IrValue, slope: IrValue) -> IrValue:
    """Return `out` with the imaginary part `slope` times sinh(imag(x)) near the real axis.

    There the imaginary part of `out`, the result of XLA, has no correct digits.
    """
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    y = hlo.imag(x)
    is_near = compare("LT", hlo.abs(y), splat(1, part_aval))
    near = hlo.multiply(slope, _sinh_near_zero(y, part_aval))
    return hlo.complex(hlo.real(out), hlo.select(is_near, near, hlo.imag(out)))


@register_lowering(sin_p)
def sin_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Lower to XLA's sine; of complex numbers a + bi, the imaginary part is cos(a) sinh(b)."""
    (aval,), out = ctx.avals_in, hlo.sine(x)
    return [out if aval.dtype.kind != "c" else _near_real_axis(aval, x, out, hlo.cosine(hlo.real(x)))]


@register_lowering(cos_p)
def cos_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Lower to XLA's cosine; of complex numbers a + bi, the imaginary part is -sin(a) sinh(b)."""
    (aval,), out = ctx.avals_in, hlo.cosine(x)
    return [out if aval.dtype.kind != "c" else _near_real_axis(aval, x, out, hlo.negate(hlo.sine(hlo.real(x))))]


@register_lowering(tan_p)
def tan_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """For complex numbers use tan(x) = -i tanh(ix)."""
    (aval,) = ctx.avals_in
    if aval.dtype.kind != "c":
        return [hlo.tan(x)]
    turned = _complex_tanh(aval, hlo.complex(hlo.negate(hlo.imag(x)), hlo.real(x)))
    return [hlo.complex(hlo.imag(turned), hlo.negate(hlo.real(turned)))]


@register_lowering(tanh_p)
def tanh_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    (aval,) = ctx.avals_in
    return [hlo.tanh(x) if aval.dtype.kind != "c" else _complex_tanh(aval, x)]


def _complex_tanh(aval: ShapedArray, x: IrValue) -> IrValue:
    """Return tanh(a + bi); near the poles it is (sinh a cosh a + i sin b cos b) / (sinh^2 a + cos^2 b).

    XLA divides by cosh 2a + cos 2b, whose terms cancel there.
    """
    part_aval, out = shaped_array(aval.shape, real_dtype(aval.dtype)), hlo.tanh(x)
    a, b, half = hlo.real(x), hlo.imag(x), splat(0.5, part_aval)
    sin, cos, sinh = hlo.sine(b), hlo.cosine(b), _sinh_near_zero(a, part_aval)
    cosh = hlo.sqrt(hlo.add(splat(1, part_aval), hlo.multiply(sinh, sinh)))
    is_near = hlo.and_(compare("LT", hlo.abs(a), half), compare("LT", hlo.abs(cos), half))
    divisor = hlo.add(hlo.multiply(sinh, sinh), hlo.multiply(cos, cos))
    near = (hlo.divide(hlo.multiply(x, y), divisor) for x, y in ((sinh, cosh), (sin, cos)))
    far = hlo.real(out), hlo.imag(out)
    return hlo.complex(*(hlo.select(is_near, close, away) for close, away in zip(near, far)))
