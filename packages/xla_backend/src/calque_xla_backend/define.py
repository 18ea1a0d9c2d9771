"""The short forms of most lowering rules.

A file of rules reads like a table of operations: `elementwise(sin_p, hlo.sine)`.  A longer rule is a named
function under `@register_lowering(sort_p)`.

Read next: `lowering.py`, which calls the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Primitive, ShapedArray
from calque_core.extend import shaped_array, wide_dtype
from calque_xla_backend.modules.lowering import LoweringRuleContext, broadcast_operands, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type, ir_constant

Params = Any
IrValue = Any  # an ir.Value, whose stubs differ between releases of jaxlib
Builder = Callable[..., IrValue]


def elementwise(primitive: Primitive, build: Builder) -> None:
    """Lower a primitive to `build(*values)`, on operands broadcast from rank 0 to the shape of the result."""

    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, *values: IrValue) -> Sequence[IrValue]:
        return [build(*broadcast_operands(ctx, *values))]


def inferred(primitive: Primitive, build: Builder) -> None:
    """Lower a primitive to `build(*values, **params)`, an operation that infers its own type."""

    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, *values: IrValue, **params: Params) -> Sequence[IrValue]:
        return [build(*values, **params)]


def typed(primitive: Primitive, build: Builder) -> None:
    """Lower a primitive to `build(type, *values, **params)`, an operation that takes the type of its result."""

    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, *values: IrValue, **params: Params) -> Sequence[IrValue]:
        return [build(aval_to_ir_type(ctx.avals_out[0]), *values, **params)]


def retyped(primitive: Primitive, build: Builder) -> None:
    """Lower a primitive to `build(type, *values)`: the type of the result implies the parameters."""

    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, *values: IrValue, **params: Params) -> Sequence[IrValue]:
        return [build(aval_to_ir_type(ctx.avals_out[0]), *values)]


def compare(direction: str, x: IrValue, y: IrValue) -> IrValue:
    """Return the comparison of `x` with `y`: "EQ", "NE", "LT", "LE", "GT" or "GE"; NaN is only ever "NE"."""
    return hlo.compare(x, y, hlo.ComparisonDirectionAttr.get(direction))


def compare_by_order(direction: str, x: IrValue, y: IrValue) -> IrValue:
    """Return the comparison "LT", "LE", "GT" or "GE"; of complex numbers, by the real part first, as NumPy's."""
    if not is_complex(x):
        return compare(direction, x, y)
    real_parts, x_imag, y_imag = (hlo.real(x), hlo.real(y)), hlo.imag(x), hlo.imag(y)
    is_comparable = hlo.and_(compare("EQ", x_imag, x_imag), compare("EQ", y_imag, y_imag))
    is_decided = hlo.and_(compare(direction[0] + "T", *real_parts), is_comparable)
    return hlo.or_(is_decided, hlo.and_(compare("EQ", *real_parts), compare(direction, x_imag, y_imag)))


def maximum(x: IrValue, y: IrValue) -> IrValue:
    """Return the larger of two numbers, or the first that is NaN; StableHLO's is not compiled for complex numbers."""
    return _first_in_order("GE", x, y) if is_complex(x) else hlo.maximum(x, y)


def minimum(x: IrValue, y: IrValue) -> IrValue:
    """Return the smaller of two numbers, or the first that is NaN."""
    return _first_in_order("LE", x, y) if is_complex(x) else hlo.minimum(x, y)


def _first_in_order(direction: str, x: IrValue, y: IrValue) -> IrValue:
    return hlo.select(hlo.or_(compare("NE", x, x), compare_by_order(direction, x, y)), x, y)


def ordered_integers(build: Builder, x: IrValue, aval: ShapedArray) -> IrValue:
    """Return signed integers in the order of floats, whose extreme by `build`, `maximum` or `minimum`, is NaN's if any.

    XLA's collectives drop the NaN of an extreme of floats.  Floats of fewer than 32 bits become single precision.
    """
    wide, bits = _ordered_avals(aval)
    x = x if wide is aval else hlo.convert(aval_to_ir_type(wide), x)
    limits = np.iinfo(bits.dtype)
    integers = _order_of_bits(hlo.bitcast_convert(aval_to_ir_type(bits), x), bits)
    return hlo.select(compare("NE", x, x), splat(limits.max if build is maximum else limits.min, bits), integers)


def floats_of_integers(x: IrValue, aval: ShapedArray) -> IrValue:
    """Return floats of type `aval` from their `ordered_integers`, `x`."""
    wide, bits = _ordered_avals(aval)
    x = hlo.bitcast_convert(aval_to_ir_type(wide), _order_of_bits(x, bits))
    return x if wide is aval else hlo.convert(aval_to_ir_type(aval), x)


def ordered_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the integers that `ordered_integers` makes of floats."""
    return np.dtype(f"i{wide_dtype(dtype).itemsize}")


def _ordered_avals(aval: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    wide = wide_dtype(aval.dtype)
    return (aval if wide == aval.dtype else aval.update(dtype=wide)), aval.update(dtype=ordered_dtype(aval.dtype))


def _order_of_bits(bits: IrValue, aval: ShapedArray) -> IrValue:
    """Turn all bits but the sign of negative integers, for which the bits of floats have the other order."""
    sign = hlo.shift_right_arithmetic(bits, splat(8 * aval.dtype.itemsize - 1, aval))
    return hlo.xor(bits, hlo.shift_right_logical(sign, splat(1, aval)))


def is_complex(x: IrValue) -> bool:
    """Tell whether `x` holds complex numbers."""
    return isinstance(x.type.element_type, ir.ComplexType)


def with_sign_of(size: IrValue, x: IrValue, aval: ShapedArray) -> IrValue:
    """Return numbers of type `aval`, with the absolute values `size` and the signs of `x`; zeros have signs, too."""
    bits = shaped_array(aval.shape, np.dtype(f"i{aval.dtype.itemsize}"))
    is_negative = compare("LT", hlo.bitcast_convert(aval_to_ir_type(bits), x), splat(0, bits))
    return hlo.select(is_negative, hlo.negate(size), size)


def with_zero_of(part: IrValue, side: IrValue, aval: ShapedArray) -> IrValue:
    """Return the part of a result, numbers of type `aval`; where the same part of the operand is a zero, that zero.

    A function that is real on the real axis so stays on the side of the axis where its operand is.
    """
    return hlo.select(compare("EQ", side, splat(0, aval)), side, part)


def with_quadrant_of(out: IrValue, x: IrValue, aval: ShapedArray) -> IrValue:
    """Return complex numbers `out` with parts of type `aval`, which have the signs of the parts of `x`, zeros too."""
    parts = ((part(out), part(x)) for part in (hlo.real, hlo.imag))
    return hlo.complex(*(with_sign_of(hlo.abs(size), side, aval) for size, side in parts))


def is_infinite(x: IrValue, aval: ShapedArray) -> IrValue:
    """Return where real numbers of type `aval` are infinite."""
    return compare("EQ", hlo.abs(x), splat(math.inf, aval))


def with_infinite_size(size: IrValue, x: IrValue, aval: ShapedArray) -> IrValue:
    """Return sizes of type `aval` of complex numbers `x`; infinite for an infinite part, also if the other is NaN."""
    is_endless = hlo.or_(is_infinite(hlo.real(x), aval), is_infinite(hlo.imag(x), aval))
    return hlo.select(is_endless, splat(math.inf, aval), size)


def splat(value: Any, aval: ShapedArray) -> IrValue:
    """Return an array of type `aval` whose elements are all `value`."""
    return hlo.broadcast_in_dim(aval_to_ir_type(aval), ir_constant(value, aval.dtype), [])
