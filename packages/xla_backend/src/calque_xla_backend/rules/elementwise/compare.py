"""Lowering of comparisons, boolean and bitwise logic, shifts, and elementwise selection."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import canonicalize_dtype
from calque_core.engine import bit_width
from calque_core.lax import (
    and_p,
    clamp_p,
    clz_p,
    eq_p,
    ge_p,
    gt_p,
    guard_p,
    le_p,
    lt_p,
    ne_p,
    not_p,
    or_p,
    population_count_p,
    select_n_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)
from calque_xla_backend.define import IrValue, compare, elementwise, is_complex, maximum, minimum, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, broadcast_operands, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type

_BOOL = np.dtype(bool)

# Comparisons

elementwise(eq_p, partial(compare, "EQ"))
elementwise(ne_p, partial(compare, "NE"))
elementwise(lt_p, partial(compare, "LT"))
elementwise(le_p, partial(compare, "LE"))
elementwise(gt_p, partial(compare, "GT"))
elementwise(ge_p, partial(compare, "GE"))

# Logic, on bools and on the bits of integers

elementwise(and_p, hlo.and_)
elementwise(or_p, hlo.or_)
elementwise(xor_p, hlo.xor)
elementwise(not_p, hlo.not_)

# Shifts

elementwise(shift_left_p, hlo.shift_left)
elementwise(shift_right_logical_p, hlo.shift_right_logical)
elementwise(shift_right_arithmetic_p, hlo.shift_right_arithmetic)

# Counts of bits


@register_lowering(population_count_p)
def population_count_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Count the bits of short integers as unsigned: XLA fills a byte with copies of the sign bit, and counts them."""
    (aval,) = ctx.avals_in
    bits = bit_width(aval.dtype)
    if aval.kind != "i" or bits >= 8:
        return [hlo.popcnt(x)]
    unsigned = aval_to_ir_type(aval.update(dtype=canonicalize_dtype(f"uint{bits}")))
    return [hlo.bitcast_convert(aval_to_ir_type(aval), hlo.popcnt(hlo.bitcast_convert(unsigned, x)))]


elementwise(clz_p, hlo.count_leading_zeros)

# Choices


@register_lowering(select_n_p)
def select_n_lowering(ctx: LoweringRuleContext, which: IrValue, *cases: IrValue) -> Sequence[IrValue]:
    """Chain selects: an index beyond the last case passes all comparisons, a negative index none."""
    which, out, *later_cases = broadcast_operands(ctx, which, *cases)
    which_aval = ctx.avals_out[0].update(dtype=ctx.avals_in[0].dtype)
    is_bool = which_aval.dtype == _BOOL
    for number, case in enumerate(later_cases, 1):
        is_chosen = which if is_bool else compare("GE", which, splat(number, which_aval))
        out = hlo.select(is_chosen, case, out)
    return [out]


elementwise(guard_p, lambda is_used, safe, x: x)


def clamp(low: IrValue, x: IrValue, high: IrValue) -> IrValue:
    """Return `x` between the bounds; StableHLO's operation is for real numbers."""
    return minimum(maximum(x, low), high) if is_complex(x) else hlo.clamp(low, x, high)


elementwise(clamp_p, clamp)
