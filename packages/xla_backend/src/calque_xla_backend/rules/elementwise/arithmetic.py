"""Lowering of arithmetic, whole powers, sizes and signs.

In StableHLO as in NumPy, the sum of bools is `or` and the product is `and`.  For an integer divisor of zero, an error
in evaluation, the quotient is -1 (all bits set) and the remainder is the dividend.  On CPU, XLA flushes subnormal
results to zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import is_float, real_dtype, shaped_array
from calque_core.lax import (
    abs_p,
    add_any_p,
    add_p,
    div_p,
    integer_pow_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    rem_p,
    sign_p,
    square_p,
    sub_p,
)
from calque_xla_backend.define import (
    IrValue,
    compare,
    elementwise,
    is_infinite,
    maximum,
    minimum,
    splat,
    with_infinite_size,
    with_quadrant_of,
)
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering

# Arithmetic

elementwise(neg_p, hlo.negate)
elementwise(add_p, hlo.add)
elementwise(add_any_p, hlo.add)
elementwise(sub_p, hlo.subtract)
elementwise(mul_p, hlo.multiply)
elementwise(div_p, hlo.divide)
elementwise(rem_p, hlo.remainder)
elementwise(max_p, maximum)
elementwise(min_p, minimum)

# Whole powers

elementwise(square_p, lambda x: hlo.multiply(x, x))


@register_lowering(integer_pow_p)
def integer_pow_lowering(ctx: LoweringRuleContext, x: IrValue, *, y: int) -> Sequence[IrValue]:
    """Repeated squaring, in the order in which evaluation multiplies."""
    (aval,) = ctx.avals_out
    one = splat(1, aval)
    if y == 0:
        return [one]
    power = _positive_power(x, abs(y))
    if y > 0:
        return [power]
    if aval.kind == "c":
        return [complex_reciprocal(aval, power)]
    out = hlo.divide(one, power)
    return [out if y == -1 or aval.dtype != np.float16 else _with_subnormals(aval, x, y, power, out)]


def _with_subnormals(aval: ShapedArray, x: IrValue, y: int, power: IrValue, out: IrValue) -> IrValue:
    """Return `out`, 1 / power; where the power overflows, the product of two powers, which may be subnormal.

    The range of float16 is short, and XLA keeps its subnormal numbers on CPU too.
    """
    parts = (_positive_power(x, part) for part in (-y // 2, -y - -y // 2))
    product = hlo.multiply(*(hlo.divide(splat(1, aval), part) for part in parts))
    return hlo.select(is_infinite(power, aval), product, out)


def _positive_power(x: IrValue, y: int) -> IrValue:
    out, square = None, x
    while y:
        if y & 1:
            out = square if out is None else hlo.multiply(out, square)
        y >>= 1
        square = hlo.multiply(square, square) if y else square
    return out


def complex_reciprocal(aval: ShapedArray, x: IrValue) -> IrValue:
    """Return 1 / x, which has the signs of the conjugate of `x`: XLA loses those of zeros."""
    conjugate = hlo.complex(hlo.real(x), hlo.negate(hlo.imag(x)))
    out = hlo.divide(splat(1, aval), x)
    return with_quadrant_of(out, conjugate, shaped_array(aval.shape, real_dtype(aval.dtype)))


# Size and sign


@register_lowering(abs_p)
def abs_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Lower to StableHLO's absolute value, which has NaN for an infinite part beside NaN."""
    (aval,), (out_aval,) = ctx.avals_in, ctx.avals_out
    return [hlo.abs(x) if aval.kind != "c" else with_infinite_size(hlo.abs(x), x, out_aval)]


@register_lowering(sign_p)
def sign_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Return 0.0 for -0.0 as NumPy does; StableHLO returns -0.0."""
    (aval,) = ctx.avals_in
    if aval.kind == "c":
        out = hlo.sign(_with_finite_direction(aval, x))
        return [hlo.select(compare("EQ", x, splat(0, aval)), splat(0, aval), out)]
    if not is_float(aval.dtype):
        return [hlo.sign(x)]
    zero = splat(0, aval)
    return [hlo.select(compare("EQ", x, zero), zero, hlo.sign(x))]


def _with_finite_direction(aval: ShapedArray, x: IrValue) -> IrValue:
    """Replace a number with one infinite part by 1, -1, i or -i: StableHLO divides it by its infinite size."""
    part_aval = shaped_array(aval.shape, real_dtype(aval.dtype))
    parts, zero = (hlo.real(x), hlo.imag(x)), splat(0, part_aval)
    is_end = [is_infinite(part, part_aval) for part in parts]
    ends = (hlo.select(is_at_end, hlo.sign(part), zero) for is_at_end, part in zip(is_end, parts))
    return hlo.select(hlo.xor(*is_end), hlo.complex(*ends), x)
