"""The trace of backward derivatives over evaluation: an operation whose types were met before is one step.

One idea: the code of an operation returns its results and residuals, which are recorded as one step.

Read next: `steps.py` for the steps, `pulls.py` for the way back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.known.steps import LinearizedOperation, Step, new_object, new_step
from calque_autodiff.traces.planned_trace import PlannedTrace, PlannedTracer
from calque_core import Var, evaluation
from calque_core.extend import JitTracer, Position, current_position, plain_types

Value = Any


class StepTrace(PlannedTrace):
    """Applies jvp rules and records their operations on tangents, or records a step."""

    takes_plans = True

    def run_known(
        self, operation: LinearizedOperation, primals: list[Value], tangents: Sequence[Value]
    ) -> list[Value] | None:
        """Run an operation's straight-line code and record a step; return None where a rule has to run."""
        invars: list[Var] = []
        for tangent in tangents:
            if type(tangent) is Step:
                invars.append(tangent[2])
            elif type(tangent) is JitTracer and tangent._trace is self.tangent_trace:
                invars.append(tangent.variable)
            else:
                return None
        for i in operation.captured:
            primals[i] = self.safe_residual(primals[i])
        try:
            is_plain = True
            for x in primals:  # a set of their classes takes 0.2 us more
                is_plain = is_plain and type(x) in plain_types
            if is_plain:
                out, residuals = operation.run(*primals)
            else:
                of_rules = operation.with_programs()
                if of_rules is None:
                    return None
                out, residuals = self.under_parent(of_rules.run_under, self.parent, primals)
                operation = of_rules.interpreted() if self.parent is evaluation else of_rules  # device arrays
        except Exception:  # noqa: BLE001  the rule raises it again, and names the place
            return None
        position = current_position(3)
        if operation.pull is None:
            return self.record_several(operation, invars, out, residuals, position)
        var = new_object(Var)
        var.aval = operation.dot_avals[0]
        step = new_step((operation, invars, var, residuals, position))
        self.tangent_trace.eqns.append(step)  # type: ignore[attr-defined]
        result = new_object(PlannedTracer)
        result._trace, result.primal, result._tangent, result.aval = self, out, step, operation.out_avals[0]
        return [result]

    def record_several(
        self,
        operation: LinearizedOperation,
        invars: Sequence[Var],
        outs: Sequence[Value],
        residuals: tuple[Value, ...],
        position: Position | None,
    ) -> list[Value]:
        """Record a step with any number of tangents; return the results, with tangents where these are not zero."""
        if not any(operation.dot_avals):  # a comparison, say
            return [*outs]
        trace: Any = self.tangent_trace
        dots = [None if aval is None else JitTracer(trace, aval, Var(aval), position) for aval in operation.dot_avals]
        outvars = tuple([dot.variable for dot in dots if dot is not None])
        trace.eqns.append(new_step((operation, invars, outvars, residuals, position)))
        return [
            x if dot is None else PlannedTracer(self, x, dot, aval)
            for x, dot, aval in zip(outs, dots, operation.out_avals)
        ]
