"""Programs and their derivatives, as the rules record them.

One idea: interpret the program under a `JVPTrace` over a program that is staged.  If the derivative is linearized, a
`TangentTrace` takes the tangents, and the tracers that it captures are the residuals.

Read next: `jaxprs.py`, which keeps these programs; `functions.py`, which copies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.known.copies import DualFunction, LinearizedFunction
from calque_autodiff.traces.jvp_trace import JVPTrace
from calque_autodiff.traces.tangent_trace import TangentTrace
from calque_core import Jaxpr, current_trace, eval_jaxpr, hoist_tracers, stage, tracing
from calque_core.extend import Plans, is_nonzero, marked, merged

Value = Any


def recorded_jvp(
    jaxpr: Jaxpr, nonzeros: Sequence[bool], functions: Plans[DualFunction] | None = None
) -> tuple[Jaxpr, list[bool]]:
    """Return the program of `jaxpr` and its derivative, and a mask of the results with a tangent, as `jvp_jaxpr` does.

    Operations known to `functions` are copied from there.
    """
    out_mask: list[bool] = []

    def differentiated(*args: Value) -> list[Value]:
        parent = current_trace()
        trace = JVPTrace(parent, parent, functions)
        trace.position = parent.position  # a search would pass the frames of all programs around this one
        tangents = merged(nonzeros, args[len(nonzeros) :])
        with tracing(trace):
            tracers = [x if t is None else trace.tracer(trace, x, t) for x, t in zip(args, tangents)]
            outs, out_dots = trace.split(eval_jaxpr(jaxpr, jaxpr.consts, *tracers))
        out_mask[:] = is_nonzero(out_dots)
        return [*outs, *marked(out_dots, out_mask)]

    tangent_avals = [aval.to_tangent_aval() for aval in marked(jaxpr.in_avals, nonzeros)]
    return stage(differentiated, [*jaxpr.in_avals, *tangent_avals], verb="jvp"), out_mask


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
        trace.position = parent.position
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
