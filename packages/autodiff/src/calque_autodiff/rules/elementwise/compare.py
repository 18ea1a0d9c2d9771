"""The derivatives of comparisons, logic and shifts are zero; the derivatives of choices choose among tangents.

Where `clamp` meets a bound, its derivative is zero in every operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.rules.elementwise.arithmetic import summed_to
from calque_core import UndefinedPrimal, Zero, typeof
from calque_core.engine import spread
from calque_core.engine.numpy_functions import greater, less
from calque_core.extend import check_known, defjvp, defjvp_all, deftranspose, not_linear, zero_derivative
from calque_core.lax import (
    and_p,
    bitwise_and,
    clamp_p,
    clz_p,
    eq_p,
    ge_p,
    gt_p,
    guard_p,
    le_p,
    lt_p,
    max,
    ne_p,
    not_p,
    or_p,
    population_count_p,
    select,
    select_n,
    select_n_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)

Value = Any

# Comparisons

zero_derivative(eq_p, ne_p, lt_p, le_p, gt_p, ge_p, reason="the result is a bool")

# Logic, on bools and on the bits of integers

zero_derivative(and_p, or_p, xor_p, not_p, reason="the operands are bools or integers")

# Shifts

zero_derivative(shift_left_p, shift_right_logical_p, shift_right_arithmetic_p, reason="the operands are integers")

# Counts of bits

zero_derivative(population_count_p, clz_p, reason="the operands are integers")

# Choices


def select_n_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[Value, Value]:
    """Choose among the tangents as among the cases; a zero tangent is a scalar zero here."""
    out = select_n(*primals)
    zero = typeof(out).dtype.type(0)
    return out, spread(select_n(primals[0], *[zero if type(t) is Zero else t for t in tangents[1:]]), out)


def select_n_transpose(ct: Value, which: Value, *cases: Value) -> list[Value]:
    """Return, for each case, the cotangent where the case was chosen, and zeros elsewhere."""
    check_known(select_n_p, which)
    zeros = [typeof(ct).dtype.type(0)] * len(cases)
    return [
        None,
        *(
            summed_to(select_n(which, *zeros[:i], ct, *zeros[i + 1 :]), x) if type(x) is UndefinedPrimal else None
            for i, x in enumerate(cases)
        ),
    ]


def kept_where(mask: Value, x_dot: Value, out: Value) -> Value:
    """Return the tangent of an operand as a tangent of the result, zero where `mask` is False."""
    return select(mask, spread(x_dot, out), typeof(out).dtype.type(0))


defjvp_all(select_n_p, select_n_jvp)
deftranspose(select_n_p, select_n_transpose)
deftranspose(guard_p, select_n_transpose)  # its derivative is that of the choice, its decomposition
defjvp(
    clamp_p,
    lambda low_dot, out, low, x, high: kept_where(bitwise_and(less(x, low), less(low, high)), low_dot, out),
    lambda x_dot, out, low, x, high: kept_where(bitwise_and(less(low, x), less(x, high)), x_dot, out),
    lambda high_dot, out, low, x, high: kept_where(greater(max(x, low), high), high_dot, out),
)
not_linear(clamp_p)
