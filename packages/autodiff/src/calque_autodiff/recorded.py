"""Linearizing a program: its equations and the equations of its derivative, as the rules record them.

One idea: interpret the program under a `JVPTrace` whose primals go to a program that is staged, and whose tangents go
to a `TangentTrace`.  The tracers that the second program captures are the residuals.

Read next: `jaxprs.py`, whose `linearize_jaxpr` drops dead equations; `functions.py`, which keeps all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.traces.copies import LinearizedFunction
from calque_autodiff.traces.jvp_trace import JVPTrace
from calque_autodiff.traces.tangent_trace import TangentTrace
from calque_core import Jaxpr, current_trace, eval_jaxpr, hoist_tracers, stage, tracing
from calque_core.extend import Plans

Value = Any


def recorded_halves(
    jaxpr: Jaxpr, nonzeros: Sequence[bool], functions: Plans[LinearizedFunction] | None = None
) -> tuple[Jaxpr, Jaxpr]:
    """Return the two halves of `linearize_jaxpr` with all equations that the rules record, dead ones too.

    The first returns the results, then the residuals; the second takes the residuals, then the tangents.  Operations
    known to `functions` are copied from there.
    """
    linear: list[Jaxpr] = []

    def known(*primals: Value) -> list[Value]:
        parent = current_trace()
        tangent_trace = TangentTrace(parent)
        trace = JVPTrace(parent, tangent_trace, functions)
        trace.position = parent.position  # a search would pass the frames of all programs around this one
        with tracing(trace):
            tracers = [
                trace.tracer(trace, x, tangent_trace.new_arg(v.aval.to_tangent_aval())) if m else x
                for x, v, m in zip(primals, jaxpr.invars, nonzeros)
            ]
            outs, out_dots = trace.split(eval_jaxpr(jaxpr, jaxpr.consts, *tracers))
            program = tangent_trace.finish(out_dots)
        program, residuals = hoist_tracers(program)
        linear.append(program)
        return [*outs, *residuals]

    return stage(known, jaxpr.in_avals, verb="linearize"), linear[0]
