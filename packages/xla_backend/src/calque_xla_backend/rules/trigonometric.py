"""Lowering of trigonometric functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlib.mlir.dialects import chlo
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import real_dtype, shaped_array
from calque_core.lax import (
    acos_p,
    asin_p,
    atan2_p,
    atan_p,
    cos_p,
    sin_p,
    tan_p,
)
from calque_xla_backend.define import (
    IrValue,
    compare,
    elementwise,
    is_infinite,
    splat,
    with_quadrant_of,
    with_sign_of,
    with_zero_of,
)
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.rules.convert import in_single

# Circular functions


def _sinh_near_zero(x: IrValue, aval: ShapedArray) -> IrValue:
    """Return sinh(x) for real |x| < 1 by its power series: the difference of exp(x) and exp(-x) cancels."""
    square = hlo.multiply(x, x)
    total = splat(1 / math.factorial(_SINH_ORDER), aval)
    for order in range(_SINH_ORDER - 2, 0, -2):
        total = hlo.add(hlo.multiply(total, square), splat(1 / math.factorial(order), aval))
    return hlo.multiply(total, x)


_SINH_ORDER = 19  # 1 / 21! < 2e-20


def _exponentials(factor: IrValue, x: IrValue, aval: ShapedArray) -> tuple[IrValue, IrValue]:
    """Return exp(|x|) / 2, which overflows only where its product with `factor` does, and exp(-|x|) / 2, times it."""
    half = splat(0.5, aval)
    root = hlo.exponential(hlo.multiply(half, hlo.abs(x)))
    half_root = hlo.multiply(half, root)
    growth = hlo.multiply(hlo.multiply(factor, half_root), root)
    decay = hlo.divide(splat(0.25, aval), hlo.multiply(half_root, root))
    return growth, hlo.multiply(factor, decay)


def times_cosh(factor: IrValue, x: IrValue, aval: ShapedArray) -> IrValue:
    """Return factor * cosh(x) of real numbers; a factor of zero gives zero, also where cosh(x) is infinite or NaN."""
    is_zero = compare("EQ", factor, splat(0, aval))
    return hlo.select(is_zero, factor, hlo.add(*_exponentials(factor, x, aval)))


def times_sinh(factor: IrValue, x: IrValue, aval: ShapedArray) -> IrValue:
    """Return factor * sinh(x) of real numbers; one of them zero gives zero, also where the other is infinite or NaN.

    Near zero the difference of the exponentials has no correct digits.
    """
    far = hlo.multiply(hlo.sign(x), hlo.subtract(*_exponentials(factor, x, aval)))
    near = hlo.multiply(factor, _sinh_near_zero(x, aval))
    out = hlo.select(compare("LT", hlo.abs(x), splat(1, aval)), near, far)
    for zero, other in ((x, factor), (factor, x)):
        out = hlo.select(compare("EQ", zero, splat(0, aval)), with_sign_of(zero, other, aval), out)
    return out


@register_lowering(sin_p)
def sin_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Lower to XLA's sine; of complex numbers a + bi to sin(a) cosh(b) + i cos(a) sinh(b).

    XLA's complex sine has NaN where cosh(b) is infinite and sin(a) is 0, and few digits near the real axis.
    """
    (aval,) = ctx.avals_in
    if aval.kind != "c":
        return [hlo.sine(x)]
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    a, b = hlo.real(x), hlo.imag(x)
    turn = hlo.select(hlo.is_finite(a), hlo.cosine(a), splat(math.nan, part_aval))  # XLA's NaN may have a sign
    grown = _with_infinity(times_sinh(turn, b, part_aval), a, b, part_aval)
    return [hlo.complex(times_cosh(hlo.sine(a), b, part_aval), grown)]


@register_lowering(cos_p)
def cos_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Lower to XLA's cosine; of complex numbers a + bi, as in `sin_lowering`, to cos(a) cosh(b) - i sin(a) sinh(b)."""
    (aval,) = ctx.avals_in
    if aval.kind != "c":
        return [hlo.cosine(x)]
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    a, b = hlo.real(x), hlo.imag(x)
    grown = _with_infinity(times_cosh(hlo.cosine(a), b, part_aval), a, b, part_aval)
    return [hlo.complex(grown, times_sinh(hlo.negate(hlo.sine(a)), b, part_aval))]


def _with_infinity(part: IrValue, a: IrValue, b: IrValue, aval: ShapedArray) -> IrValue:
    """Return a part of a function of a + bi, infinite where b is and the angle a is infinite or NaN, as by C99."""
    is_endless = hlo.and_(is_infinite(b, aval), hlo.not_(hlo.is_finite(a)))
    return hlo.select(is_endless, splat(math.inf, aval), part)


@register_lowering(tan_p)
def tan_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """For complex numbers use tan(x) = -i tanh(ix)."""
    (aval,) = ctx.avals_in
    if aval.kind != "c":
        return [hlo.tan(x)]
    turned = complex_tanh(aval, hlo.complex(hlo.negate(hlo.imag(x)), hlo.real(x)))
    return [hlo.complex(hlo.imag(turned), hlo.negate(hlo.real(turned)))]


def complex_tanh(aval: ShapedArray, x: IrValue) -> IrValue:
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
    components = (hlo.select(is_near, close, away) for close, away in zip(near, far))
    return hlo.complex(*(with_zero_of(x, side, part_aval) for x, side in zip(components, (a, b))))


# Inverses of the circular functions


def on_its_side(aval: ShapedArray, x: IrValue, out: IrValue) -> IrValue:
    """Return `out` with the sign of the imaginary part of `x`: XLA loses the side of a branch cut on the real axis."""
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    return hlo.complex(hlo.real(out), with_sign_of(hlo.abs(hlo.imag(out)), hlo.imag(x), part_aval))


@register_lowering(asin_p)
@in_single
def asin_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    (aval,), out = ctx.avals_in, chlo.asin(x)
    if aval.kind != "c":
        return [out]
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    on_axis = hlo.complex(with_zero_of(hlo.real(out), hlo.real(x), part_aval), hlo.imag(out))
    return [with_quadrant_of(on_axis, x, part_aval)]


@register_lowering(acos_p)
@in_single
def acos_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """On the imaginary axis the real part of a complex result is pi / 2, beside NaN too."""
    (aval,), out = ctx.avals_in, chlo.acos(x)
    if aval.kind != "c":
        return [out]
    angle = with_right_angle(hlo.real(out), hlo.real(x), shaped_array(aval.shape, real_dtype(aval.dtype)))
    return [on_its_side(aval, hlo.negate(x), hlo.complex(angle, hlo.imag(out)))]


def with_right_angle(angle: IrValue, a: IrValue, aval: ShapedArray) -> IrValue:
    """Return an angle, which is pi / 2 where a is zero."""
    return hlo.select(compare("EQ", a, splat(0, aval)), splat(math.pi / 2, aval), angle)


@register_lowering(atan_p)
@in_single
def atan_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """For complex numbers use atan(x) = -i atanh(ix)."""
    (aval,) = ctx.avals_in
    if aval.kind != "c":
        return [chlo.atan(x)]
    turned = complex_atanh(aval, hlo.complex(hlo.negate(hlo.imag(x)), hlo.real(x)))
    return [hlo.complex(hlo.imag(turned), hlo.negate(hlo.real(turned)))]


def complex_atanh(aval: ShapedArray, x: IrValue) -> IrValue:
    """Return atanh(x); beside 1 and -1, at a distance of |b|, its real part is log(2 / |b|) / 2: XLA squares b."""
    part_aval, out = shaped_array(aval.shape, real_dtype(aval.dtype)), chlo.atanh(x)
    height = hlo.abs(hlo.imag(x))
    is_beside = hlo.and_(
        compare("EQ", hlo.abs(hlo.real(x)), splat(1, part_aval)), compare("LT", height, splat(_NEAR, part_aval))
    )
    beside = hlo.multiply(splat(0.5, part_aval), hlo.subtract(splat(math.log(2), part_aval), hlo.log(height)))
    size = with_zero_of(hlo.select(is_beside, beside, hlo.real(out)), hlo.real(x), part_aval)
    has_no_angle = hlo.and_(compare("NE", x, x), hlo.not_(is_infinite(height, part_aval)))  # XLA's is pi / 2
    angle = hlo.select(has_no_angle, splat(math.nan, part_aval), hlo.imag(out))
    return with_quadrant_of(hlo.complex(size, angle), x, part_aval)


_NEAR = 2.0**-30  # its square is below the last digit of 1

elementwise(atan2_p, hlo.atan2)
