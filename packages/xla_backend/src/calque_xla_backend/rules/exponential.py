"""Lowering of powers, roots, exponentials and logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import real_dtype, shaped_array
from calque_core.lax import (
    cbrt_p,
    exp2_p,
    exp_p,
    expm1_p,
    integer_pow_p,
    log1p_p,
    log_p,
    pow_p,
    rsqrt_p,
    sqrt_p,
    square_p,
)
from calque_xla_backend.define import IrValue, compare, elementwise, splat, with_sign_of, with_zero_of
from calque_xla_backend.modules.lowering import LoweringRuleContext, broadcast_operands, register_lowering
from calque_xla_backend.rules.convert import in_single

# Powers and roots

elementwise(square_p, lambda x: hlo.multiply(x, x))


@register_lowering(sqrt_p)
def sqrt_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Keep a root on the same side of the real axis as `x`: XLA loses the side of -1 - 0j."""
    (aval,), out = ctx.avals_in, hlo.sqrt(x)
    if aval.kind != "c":
        return [out]
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    return [hlo.complex(hlo.real(out), with_sign_of(hlo.abs(hlo.imag(out)), hlo.imag(x), part_aval))]


@register_lowering(rsqrt_p)
def rsqrt_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Divide for complex numbers: XLA's rsqrt has no correct digits in a part much smaller than the other."""
    (aval,) = ctx.avals_in
    return [hlo.rsqrt(x) if aval.kind != "c" else hlo.divide(splat(1, aval), sqrt_lowering(ctx, x)[0])]


elementwise(cbrt_p, hlo.cbrt)


@register_lowering(pow_p)
def pow_lowering(ctx: LoweringRuleContext, x: IrValue, y: IrValue) -> Sequence[IrValue]:
    """Lower to XLA's power; for complex numbers near 1, where its logarithm has few correct digits, to exp(y log x)."""
    (out_aval,) = ctx.avals_out
    x, y = broadcast_operands(ctx, x, y)
    out = hlo.power(x, y)
    if out_aval.kind != "c":
        return [out]
    half = splat(0.5, shaped_array(out_aval.shape, real_dtype(out_aval.dtype)))
    is_near = compare("LT", hlo.abs(hlo.subtract(x, splat(1, out_aval))), half)
    return [hlo.select(is_near, hlo.exponential(hlo.multiply(y, hlo.log(x))), out)]


@register_lowering(integer_pow_p)
def integer_pow_lowering(ctx: LoweringRuleContext, x: IrValue, *, y: int) -> Sequence[IrValue]:
    """Repeated squaring, in the order in which evaluation multiplies."""
    one = splat(1, ctx.avals_out[0])
    if y == 0:
        return [one]
    power = _positive_power(x, abs(y))
    return [power if y > 0 else hlo.divide(one, power)]


def _positive_power(x: IrValue, y: int) -> IrValue:
    out, square = None, x
    while y:
        if y & 1:
            out = square if out is None else hlo.multiply(out, square)
        y >>= 1
        square = hlo.multiply(square, square) if y else square
    return out


# Exponentials and logarithms


@register_lowering(exp_p)
def exp_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    (aval,) = ctx.avals_in
    return [hlo.exponential(x) if aval.kind != "c" else _complex_exp(aval, x)]


def _complex_exp(aval: ShapedArray, x: IrValue) -> IrValue:
    """Return 0 for an infinite real part below zero, whatever the angle is: XLA multiplies 0 by cos(inf).

    On the real axis the imaginary part is the operand's zero: XLA loses its sign.
    """
    part_aval, out = shaped_array(aval.shape, real_dtype(aval.dtype)), hlo.exponential(x)
    is_zero = compare("EQ", hlo.real(x), splat(-math.inf, part_aval))
    is_lost = hlo.and_(is_zero, hlo.not_(hlo.is_finite(hlo.imag(x))))
    on_axis = hlo.complex(hlo.real(out), with_zero_of(hlo.imag(out), hlo.imag(x), part_aval))
    return hlo.select(is_lost, splat(0, aval), on_axis)


elementwise(log_p, hlo.log)


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
    return hlo.complex(*parts)


@register_lowering(expm1_p)
@in_single
def expm1_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Take the imaginary part from exp, which is the same: XLA's expm1 has 0 where the real part is near -1."""
    (aval,), out = ctx.avals_in, hlo.exponential_minus_one(x)
    return [hlo.complex(hlo.real(out), hlo.imag(_complex_exp(aval, x))) if aval.kind == "c" else out]


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
    out, minus_one = hlo.log_plus_one(x), splat(-1, shaped_array(aval.shape, real_dtype(aval.dtype)))
    size = hlo.select(compare("EQ", hlo.real(x), minus_one), hlo.log(hlo.abs(hlo.imag(x))), hlo.real(out))
    return hlo.complex(size, hlo.imag(out))
