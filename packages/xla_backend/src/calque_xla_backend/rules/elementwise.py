"""Lowering of arithmetic, signs, powers, exponentials, trigonometry.

In StableHLO as in NumPy, the sum of bools is `or` and the product is `and`.  For an integer divisor of zero, an error
in evaluation, the quotient is -1 (all bits set) and the remainder is the dividend.  On CPU, XLA flushes subnormal
results to zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.lax import (
    abs_p,
    add_any_p,
    add_p,
    cos_p,
    div_p,
    exp_p,
    expm1_p,
    integer_pow_p,
    log1p_p,
    log_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    pow_p,
    rem_p,
    rsqrt_p,
    sign_p,
    sin_p,
    sqrt_p,
    square_p,
    sub_p,
    tan_p,
    tanh_p,
)
from calque_core.ops.complex import real_dtype
from calque_core.types.avals import shaped_array
from calque_core.types.dtypes import is_float
from calque_xla_backend.define import IrValue, compare, elementwise, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, broadcast_operands, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type

# Arithmetic

elementwise(neg_p, hlo.negate)
elementwise(add_p, hlo.add)
elementwise(add_any_p, hlo.add)
elementwise(sub_p, hlo.subtract)
elementwise(mul_p, hlo.multiply)
elementwise(div_p, hlo.divide)
elementwise(rem_p, hlo.remainder)
elementwise(max_p, hlo.maximum)
elementwise(min_p, hlo.minimum)

# Size and sign

elementwise(abs_p, hlo.abs)


@register_lowering(sign_p)
def sign_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Return 0.0 for -0.0 as NumPy does; StableHLO returns -0.0."""
    (aval,) = ctx.avals_in
    if not is_float(aval.dtype) or aval.dtype.kind == "c":
        return [hlo.sign(x)]
    zero = splat(0, aval)
    return [hlo.select(compare("EQ", x, zero), zero, hlo.sign(x))]


# Powers and roots

elementwise(square_p, lambda x: hlo.multiply(x, x))


@register_lowering(sqrt_p)
def sqrt_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Keep a root on the same side of the real axis as `x`: XLA loses the side of -1 - 0j."""
    (aval,), out = ctx.avals_in, hlo.sqrt(x)
    if aval.dtype.kind != "c":
        return [out]
    size, bits = hlo.abs(hlo.imag(out)), shaped_array(aval.shape, np.dtype(f"i{aval.dtype.itemsize // 2}"))
    is_below = compare("LT", hlo.bitcast_convert(aval_to_ir_type(bits), hlo.imag(x)), splat(0, bits))
    return [hlo.complex(hlo.real(out), hlo.select(is_below, hlo.negate(size), size))]


@register_lowering(rsqrt_p)
def rsqrt_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Divide for complex numbers: XLA's rsqrt has no correct digits in a part much smaller than the other."""
    (aval,) = ctx.avals_in
    return [hlo.rsqrt(x) if aval.dtype.kind != "c" else hlo.divide(splat(1, aval), sqrt_lowering(ctx, x)[0])]


@register_lowering(pow_p)
def pow_lowering(ctx: LoweringRuleContext, x: IrValue, y: IrValue) -> Sequence[IrValue]:
    """Lower to XLA's power; for complex numbers near 1, of whose logarithm it has few digits, to exp(y log x)."""
    (out_aval,) = ctx.avals_out
    x, y = broadcast_operands(ctx, x, y)
    out = hlo.power(x, y)
    if out_aval.dtype.kind != "c":
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

elementwise(exp_p, hlo.exponential)
elementwise(log_p, hlo.log)


@register_lowering(expm1_p)
def expm1_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Take the imaginary part from exp, which is the same: XLA's expm1 has 0 where the real part is near -1."""
    out = hlo.exponential_minus_one(x)
    if ctx.avals_in[0].dtype.kind == "c":
        out = hlo.complex(hlo.real(out), hlo.imag(hlo.exponential(x)))
    return [out]


@register_lowering(log1p_p)
def log1p_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Where 1 + x is imaginary, the real part is log |imag(x)|: XLA squares it, and the square may be 0."""
    (aval,), out = ctx.avals_in, hlo.log_plus_one(x)
    if aval.dtype.kind != "c":
        return [out]
    minus_one = splat(-1, shaped_array(aval.shape, real_dtype(aval.dtype)))
    size = hlo.select(compare("EQ", hlo.real(x), minus_one), hlo.log(hlo.abs(hlo.imag(x))), hlo.real(out))
    return [hlo.complex(size, hlo.imag(out))]


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
