"""Lowering of checks: a call to Python in the branch that is taken if the predicate fails.

One idea: a program whose checks hold calls no Python, and hands nothing to the host.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calque_core.engine import Check
from calque_core.lax import check_p, convert_element_type, reduce_and
from calque_xla_backend.modules.host_calls import call_host
from calque_xla_backend.modules.lowering import LoweringRuleContext, lower_fun, register_lowering
from calque_xla_backend.modules.types import IrValue
from calque_xla_backend.rules.calls.cond import build_case


@register_lowering(check_p)
def check_lowering(ctx: LoweringRuleContext, predicate: IrValue, *values: IrValue, check: Check) -> Sequence[IrValue]:
    """Lower to a `case` of whether the predicate holds everywhere."""

    def fail() -> list[IrValue]:
        return call_host(ctx, check, [predicate, *values])

    (holds,) = _number(ctx.replace(avals_in=ctx.avals_in[:1]), predicate)
    return build_case(holds, [], [fail, list])


_number = lower_fun(lambda predicate: [convert_element_type(reduce_and(predicate), np.int32)])
