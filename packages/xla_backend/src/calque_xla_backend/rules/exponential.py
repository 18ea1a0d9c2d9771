"""Lowering of powers, roots, exponentials and logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import real_dtype, shaped_array
from calque_core.lax import (
    cbrt_p,
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log_p,
    pow_p,
    rsqrt_p,
    sqrt_p,
)
from calque_xla_backend.define import (
    IrValue,
    compare,
    elementwise,
    is_infinite,
    splat,
    with_infinite_size,
    with_sign_of,
    with_zero_of,
)
from calque_xla_backend.modules.lowering import LoweringRuleContext, broadcast_operands, register_lowering
from calque_xla_backend.rules.arithmetic import complex_reciprocal
from calque_xla_backend.rules.convert import in_single

# Powers and roots


@register_lowering(sqrt_p)
def sqrt_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    (aval,) = ctx.avals_in
    return [hlo.sqrt(x) if aval.kind != "c" else _complex_sqrt(aval, x)]


def _complex_sqrt(aval: ShapedArray, x: IrValue) -> IrValue:
    """Keep a root on the same side of the real axis as `x`, and infinite if `x` is: XLA loses the side of -1 - 0j.

    For an infinite part beside NaN, the parts are those of C99.
    """
    part_aval, out = shaped_array(aval.shape, real_dtype(aval.dtype)), hlo.sqrt(x)
    infinity, is_endless = splat(math.inf, part_aval), is_infinite(hlo.imag(x), part_aval)
    parts = []
    for part, end in ((hlo.real(out), math.inf), (hlo.abs(hlo.imag(out)), -math.inf)):
        is_end = hlo.or_(is_endless, compare("EQ", hlo.real(x), splat(end, part_aval)))
        parts.append(hlo.select(is_end, infinity, part))
    return hlo.complex(parts[0], with_sign_of(parts[1], hlo.imag(x), part_aval))


@register_lowering(rsqrt_p)
def rsqrt_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Divide for complex numbers: XLA's rsqrt has no correct digits in a part much smaller than the other."""
    (aval,) = ctx.avals_in
    return [hlo.rsqrt(x) if aval.kind != "c" else complex_reciprocal(aval, _complex_sqrt(aval, x))]


elementwise(cbrt_p, hlo.cbrt)


@register_lowering(pow_p)
def pow_lowering(ctx: LoweringRuleContext, x: IrValue, y: IrValue) -> Sequence[IrValue]:
    (out_aval,) = ctx.avals_out
    x, y = broadcast_operands(ctx, x, y)
    return [hlo.power(x, y) if out_aval.kind != "c" else _complex_pow(out_aval, x, y)]


def _complex_pow(aval: ShapedArray, x: IrValue, y: IrValue) -> IrValue:
    """Return exp(y log x) near 1, where XLA's logarithm has few correct digits, and of infinite numbers, as C does.

    A power of 0, whose exponent is above 0, is 0: XLA has NaN if the exponent has an imaginary part.
    """
    part_aval, out = shaped_array(aval.shape, real_dtype(aval.dtype)), hlo.power(x, y)
    is_near = compare("LT", hlo.abs(hlo.subtract(x, splat(1, aval))), splat(0.5, part_aval))
    is_finite = reduce(hlo.and_, (hlo.is_finite(part(z)) for z in (x, y) for part in (hlo.real, hlo.imag)))
    by_exp = complex_exp(aval, hlo.multiply(y, hlo.log(x)))
    out = hlo.select(hlo.or_(is_near, hlo.not_(is_finite)), by_exp, out)
    is_zero = hlo.and_(compare("EQ", x, splat(0, aval)), compare("GT", hlo.real(y), splat(0, part_aval)))
    out = hlo.select(is_zero, splat(0, aval), out)
    return hlo.select(compare("EQ", y, splat(0, aval)), splat(1, aval), out)


# Exponentials and logarithms


@register_lowering(exp_p)
def exp_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    (aval,) = ctx.avals_in
    return [hlo.exponential(x) if aval.kind != "c" else complex_exp(aval, x)]


def complex_exp(aval: ShapedArray, x: IrValue) -> IrValue:
    """On the real axis the imaginary part is the operand's zero: XLA loses its sign."""
    part_aval, out = shaped_array(aval.shape, real_dtype(aval.dtype)), hlo.exponential(x)
    on_axis = hlo.complex(hlo.real(out), with_zero_of(hlo.imag(out), hlo.imag(x), part_aval))
    return _without_angle(part_aval, x, on_axis)


def _without_angle(part_aval: ShapedArray, x: IrValue, out: IrValue) -> IrValue:
    """Repair exp(a + bi) of an infinite a where b is infinite or NaN: XLA's product with cos(b) is NaN.

    It is 0 for a below zero; above, the real part is infinite, and the imaginary one NaN.
    """
    a, b, zero, infinity = hlo.real(x), hlo.imag(x), splat(0, part_aval), splat(math.inf, part_aval)
    has_no_angle = hlo.and_(is_infinite(a, part_aval), hlo.not_(hlo.is_finite(b)))
    is_zero = hlo.and_(has_no_angle, compare("LT", a, zero))
    size = hlo.select(has_no_angle, hlo.select(is_zero, zero, infinity), hlo.real(out))
    return hlo.complex(size, hlo.select(is_zero, with_sign_of(zero, b, part_aval), hlo.imag(out)))


@register_lowering(log_p)
def log_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Lower to XLA's logarithm, which has NaN for the size of an infinite part beside NaN."""
    (aval,), out = ctx.avals_in, hlo.log(x)
    if aval.kind != "c":
        return [out]
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    return [hlo.complex(with_infinite_size(hlo.real(out), x, part_aval), hlo.imag(out))]


@register_lowering(exp2_p)
@in_single
def exp2_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Lower to a power of 2: the product of x and log(2) is rounded, so its exponential loses digits."""
    (aval,) = ctx.avals_in
    return [hlo.power(splat(2, aval), x) if aval.kind != "c" else _complex_exp2(aval, x)]


def _complex_exp2(aval: ShapedArray, x: IrValue) -> IrValue:
    """Return 2**a (cos(b log 2) + i sin(b log 2)) of a + bi.  A part with a factor 0 is 0, also where 2**a is infinite.

    The root of 2**a, twice a factor, overflows only where the result does.
    """
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    root = hlo.power(splat(2, part_aval), hlo.multiply(splat(0.5, part_aval), hlo.real(x)))
    angle, zero = hlo.multiply(splat(math.log(2), part_aval), hlo.imag(x)), splat(0, part_aval)
    is_zero = compare("EQ", root, zero)
    parts = []
    for turn in (hlo.cosine(angle), hlo.sine(angle)):
        part = hlo.select(is_zero, with_sign_of(root, turn, part_aval), hlo.multiply(hlo.multiply(turn, root), root))
        parts.append(hlo.select(compare("EQ", turn, zero), turn, part))
    return _without_angle(part_aval, x, hlo.complex(*parts))


@register_lowering(expm1_p)
@in_single
def expm1_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Take the imaginary part from exp, which is the same: XLA's expm1 has 0 where the real part is near -1.

    Zeros keep their signs.
    """
    (aval,), out = ctx.avals_in, hlo.exponential_minus_one(x)
    if aval.kind != "c":
        return [out]
    out = hlo.complex(hlo.real(out), hlo.imag(complex_exp(aval, x)))
    return [hlo.select(compare("EQ", x, splat(0, aval)), x, out)]


@register_lowering(log1p_p)
@in_single
def log1p_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Repair XLA's values of real numbers in (-0.5, -0.25), and of complex numbers whose sum with 1 is imaginary."""
    (aval,) = ctx.avals_in
    return [_complex_log1p(aval, x) if aval.kind == "c" else _real_log1p(aval, x)]


def _real_log1p(aval: ShapedArray, x: IrValue) -> IrValue:
    """Return -log(1 - x / (1 + x)) in (-0.5, -0.25): XLA's error there is up to 128 ulp in jaxlib 0.10."""
    half, quarter = splat(-0.5, aval), splat(-0.25, aval)
    is_inaccurate = hlo.and_(compare("GT", x, half), compare("LT", x, quarter))
    mirrored = hlo.negate(hlo.divide(x, hlo.add(x, splat(1, aval))))
    out = hlo.log_plus_one(hlo.select(is_inaccurate, mirrored, x))
    return hlo.select(is_inaccurate, hlo.negate(out), out)


def _complex_log1p(aval: ShapedArray, x: IrValue) -> IrValue:
    """Where 1 + x is imaginary, the real part is log |imag(x)|: XLA squares it, and the square may be 0."""
    part_aval, out = shaped_array(aval.shape, real_dtype(aval.dtype)), hlo.log_plus_one(x)
    is_imaginary = compare("EQ", hlo.real(x), splat(-1, part_aval))
    size = hlo.select(is_imaginary, hlo.log(hlo.abs(hlo.imag(x))), hlo.real(out))
    return hlo.complex(with_infinite_size(size, x, part_aval), hlo.imag(out))
