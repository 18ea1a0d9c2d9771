"""The Taylor rules of choices: every coefficient is chosen as the value is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import typeof
from calque_core.engine import spread
from calque_core.engine.numpy_functions import greater, less
from calque_core.lax import bitwise_and, clamp, clamp_p, max, select, select_n, select_n_p
from calque_jet.series import Coefficient, Result, Series, plus, spread_each

Value = Any


@select_n_p.def_rule("jet")
def select_n_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Choose among the coefficients by the same predicate."""
    out = select_n(*primals)
    zero = typeof(out).dtype.type(0)

    def chosen(cases: Sequence[Coefficient]) -> Coefficient:
        if all(c is None for c in cases):
            return None
        return select_n(primals[0], *[zero if c is None else c for c in cases])

    return out, spread_each([chosen(cases) for cases in zip(*series[1:])], out)


@clamp_p.def_rule("jet")
def clamp_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Take the coefficients of the operand or the bound that is the result; none at a tie."""
    low, x, high = primals
    out = clamp(low, x, high)
    zero = typeof(out).dtype.type(0)
    masks: Sequence[Callable[[], Value]] = (
        lambda: bitwise_and(less(x, low), less(low, high)),
        lambda: bitwise_and(less(low, x), less(x, high)),
        lambda: greater(max(x, low), high),
    )
    total: Series = [None] * len(series[0])
    for coefficients, is_result in zip(series, masks):
        if any(c is not None for c in coefficients):
            mask = is_result()
            kept = [None if c is None else select(mask, spread(c, out), zero) for c in coefficients]
            total = [plus(a, b) for a, b in zip(total, kept)]
    return out, total
