"""The trace of forward derivatives over evaluation.

One idea: the code of an operation takes primals and tangents, and returns the results and their tangents.

Read next: `planned_trace.py`, which looks the code up; `verbs/forward.py` for `jvp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.known.steps import LinearizedOperation
from calque_autodiff.traces.planned_trace import PlannedTrace, PlannedTracer
from calque_core import Trace
from calque_core.extend import plain_types

Value = Any


class PushTrace(PlannedTrace):
    """Applies jvp rules, or runs the code of a result and its tangent."""

    takes_plans = True

    def __init__(self, parent: Trace) -> None:
        PlannedTrace.__init__(self, parent, parent)

    def run_known(
        self, operation: LinearizedOperation, primals: list[Value], tangents: Sequence[Value]
    ) -> list[Value] | None:
        """Run an operation's straight-line code; return None where a rule has to run."""
        values = [*primals, *tangents]
        try:
            is_plain = plain_types.keys() >= set(map(type, values))
            known = operation if is_plain else operation.with_programs()
            push = None if known is None else known.push()
            if push is None:
                return None
            if is_plain:
                results = push.function(*values)
            else:
                results = self.under_parent(self.parent.process_function, push.for_tracers, values, {})  # type: ignore[union-attr]
        except Exception:  # noqa: BLE001  the rule raises it again, and names the place
            return None
        dots = iter(results[len(operation.out_avals) :])
        return [
            x if aval is None else PlannedTracer(self, x, next(dots), out_aval)
            for x, aval, out_aval in zip(results, operation.dot_avals, operation.out_avals)
        ]
