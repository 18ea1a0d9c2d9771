"""Lowering of checks: a call to Python in the branch that is taken if the predicate fails.

One idea: a program whose checks hold calls no Python, and hands nothing to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calque_core import CheckError, ShapedArray
from calque_core.engine import Check, add_step
from calque_core.extend import shaped_array
from calque_core.lax import check_p, convert_element_type, reduce_and
from calque_xla_backend.modules.host_calls import call_host
from calque_xla_backend.modules.lowering import LoweringRuleContext, lower_fun, register_lowering
from calque_xla_backend.modules.types import IrValue
from calque_xla_backend.rules.calls.cond import build_case
from calque_xla_backend.rules.elementwise.convert import convert

Value = Any


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False)
class CheckInLoops:
    """A check whose first operands are the numbers of the steps of the loops around it, the outermost first.

    `loops` has the verb and the place of each loop.
    """

    check: Check
    loops: tuple[tuple[str, str], ...]

    @property
    def result_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the results, of which there are none."""
        return ()

    def __call__(self, *operands: Value) -> list[Value]:
        """Return no results.  Raises: CheckError."""
        depth = len(self.loops)
        try:
            return self.check(*operands[depth:])
        except CheckError as error:
            for (verb, place), number in reversed([*zip(self.loops, operands)]):
                add_step(error, verb, int(number), place)
            raise

    def __repr__(self) -> str:
        return repr(self.check)


@register_lowering(check_p)
def check_lowering(ctx: LoweringRuleContext, predicate: IrValue, *values: IrValue, check: Check) -> Sequence[IrValue]:
    """Lower to a `case` of whether the predicate holds everywhere."""

    def fail() -> list[IrValue]:
        steps = ctx.module_context.steps
        numbers = [convert(step.number, shaped_array((), np.dtype(np.int32)), np.dtype(np.int64)) for step in steps]
        function = CheckInLoops(check, tuple((step.verb, step.place) for step in steps))
        number_avals = [shaped_array((), np.dtype(np.int64))] * len(steps)
        return call_host(ctx.replace(avals_in=[*number_avals, *ctx.avals_in]), function, [*numbers, predicate, *values])

    (holds,) = _number(ctx.replace(avals_in=ctx.avals_in[:1]), predicate)
    return build_case(holds, [], [fail, list])


_number = lower_fun(lambda predicate: [convert_element_type(reduce_and(predicate), np.int32)])
