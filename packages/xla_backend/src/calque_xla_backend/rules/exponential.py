"""Lowering of powers, roots, exponentials and logarithms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.extend import real_dtype, shaped_array
from calque_core.lax import exp_p, expm1_p, integer_pow_p, log1p_p, log_p, pow_p, rsqrt_p, sqrt_p, square_p
from calque_xla_backend.define import IrValue, compare, elementwise, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, broadcast_operands, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type

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
