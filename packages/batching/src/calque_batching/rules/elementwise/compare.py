"""Batching the operations of `calque_core.ops.elementwise.compare`: the batch axis is one more axis.

A scalar `which` of `select_n`, or a scalar bound of `clamp`, is an ordinary operand: if mapped, it gets the missing
axes; if unmapped, it stays a scalar.
"""

from __future__ import annotations

from calque_core.extend import defbroadcasting, defvectorized
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

# Comparisons

defbroadcasting(eq_p, ne_p, lt_p, le_p, gt_p, ge_p)

# Logic

defbroadcasting(and_p, or_p, xor_p)
defvectorized(not_p)

# Shifts

defbroadcasting(shift_left_p, shift_right_logical_p, shift_right_arithmetic_p)

# Counts of bits

defvectorized(population_count_p, clz_p)

# Choices

defbroadcasting(select_n_p, guard_p, clamp_p)
