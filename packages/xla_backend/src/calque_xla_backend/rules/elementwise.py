"""Lowering of arithmetic, signs, powers, exponentials, trigonometry.

The sum of bools is their or, the product their and, in StableHLO as in NumPy.  An integer divisor of zero, an error in
evaluation, gives -1 (all bits set) for the quotient and the dividend for the remainder.  On CPU, XLA flushes subnormal
results to zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.avals import shaped_array
from calque_core.dtypes import is_float
from calque_core.ops.elementwise import (
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
from calque_xla_backend.define import IrValue, compare, elementwise, splat
from calque_xla_backend.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.types import aval_to_ir_type

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
    """StableHLO gives -0.0 its own sign, NumPy gives 0.0."""
    (aval,) = ctx.avals_in
    if not is_float(aval.dtype) or aval.dtype.kind == "c":
        return [hlo.sign(x)]
    zero = splat(0, aval)
    return [hlo.select(compare("EQ", x, zero), zero, hlo.sign(x))]


# Powers and roots

elementwise(square_p, lambda x: hlo.multiply(x, x))


@register_lowering(sqrt_p)
def sqrt_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Keep a root on the side of the real axis where the number is: XLA forgets the side of -1 - 0j."""
    (aval,), out = ctx.avals_in, hlo.sqrt(x)
    if aval.dtype.kind != "c":
        return [out]
    size, bits = hlo.abs(hlo.imag(out)), shaped_array(aval.shape, np.dtype(f"i{aval.dtype.itemsize // 2}"))
    is_below = compare("LT", hlo.bitcast_convert(aval_to_ir_type(bits), hlo.imag(x)), splat(0, bits))
    return [hlo.complex(hlo.real(out), hlo.select(is_below, hlo.negate(size), size))]


elementwise(rsqrt_p, hlo.rsqrt)
elementwise(pow_p, hlo.power)


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
elementwise(expm1_p, hlo.exponential_minus_one)
elementwise(log_p, hlo.log)
elementwise(log1p_p, hlo.log_plus_one)

# Trigonometry

elementwise(sin_p, hlo.sine)
elementwise(cos_p, hlo.cosine)
elementwise(tan_p, hlo.tan)
elementwise(tanh_p, hlo.tanh)
