"""Programs and their derivatives, as the rules record them.

One idea: interpret the program under a `JVPTrace` over a program that is staged.  If the derivative is linearized, a
`TangentTrace` takes the tangents, and the tracers that it captures are the residuals.

Read next: `jaxprs.py`, which keeps these programs; `known/copies.py`, which copies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.programs.partial_eval import Place, at_places, without_repeats
from calque_autodiff.traces.jvp_trace import JVPTrace, dual
from calque_autodiff.traces.tangent_trace import TangentTrace
from calque_core import Jaxpr, current_trace, dce_jaxpr, eval_jaxpr, hoist_tracers, stage, tracing
from calque_core.engine import Known, KnownOperations
from calque_core.extend import is_nonzero, marked, merged

Value = Any


def recorded_jvp(
    jaxpr: Jaxpr, nonzeros: Sequence[bool], table: KnownOperations[Known] | None = None
) -> tuple[Jaxpr, list[bool]]:
    """Return the program of `jaxpr` and its derivative, and a mask of the results with a tangent, as `jvp_jaxpr` does.

    Operations known to `table` are copied from there.
    """
    out_mask: list[bool] = []

    def differentiated(*args: Value) -> list[Value]:
        parent = current_trace()
        trace = JVPTrace(parent, parent, table)
        trace.position = parent.position  # a search would pass the frames of all programs around this one
        tangents = merged(nonzeros, args[len(nonzeros) :])
        with tracing(trace):
            tracers = [x if t is None else dual(trace, x, t) for x, t in zip(args, tangents)]
            outs, out_dots = trace.split(eval_jaxpr(jaxpr, jaxpr.consts, *tracers))
        out_mask[:] = is_nonzero(out_dots)
        return [*outs, *marked(out_dots, out_mask)]

    tangent_avals = [aval.to_tangent_aval() for aval in marked(jaxpr.in_avals, nonzeros)]
    return stage(differentiated, [*jaxpr.in_avals, *tangent_avals], verb="jvp"), out_mask


def recorded_halves(
    jaxpr: Jaxpr, nonzeros: Sequence[bool], table: KnownOperations[Known] | None = None
) -> tuple[Jaxpr, Jaxpr]:
    """Return the two halves of `linearize_jaxpr` with all equations that the rules record, dead ones too.

    The first returns the results, then the residuals; the second takes the residuals, then the tangents.  Operations
    known to `table` are copied from there.
    """
    linear: list[Jaxpr] = []

    def known(*primals: Value) -> list[Value]:
        parent = current_trace()
        tangent_trace = TangentTrace(parent)
        trace = JVPTrace(parent, tangent_trace, table)
        trace.position = parent.position
        with tracing(trace):
            tracers = [
                dual(trace, x, tangent_trace.new_arg(v.aval.to_tangent_aval())) if m else x
                for x, v, m in zip(primals, jaxpr.invars, nonzeros)
            ]
            outs, out_dots = trace.split(eval_jaxpr(jaxpr, jaxpr.consts, *tracers))
            program = tangent_trace.finish(out_dots)
        program, residuals = hoist_tracers(program)
        linear.append(program)
        return [*outs, *residuals]

    return stage(known, jaxpr.in_avals, verb="linearize"), linear[0]


class Linearized(NamedTuple):
    """A program cut in two.

    `known` takes the primals and returns the results, then residuals; `linear` takes residuals, then the tangents of
    the perturbed primals.  `sources` holds the place of each residual: ("in", i) among the primals, ("out", i) among
    the results of `known`.
    """

    known: Jaxpr
    linear: Jaxpr
    sources: list[Place]

    def residuals(self, primals: Sequence[Value], known_outs: Sequence[Value]) -> list[Value]:
        """Return the residuals from the operands and all results of `known`."""
        return at_places(self.sources, primals, known_outs)


def linearization(jaxpr: Jaxpr, nonzeros: Sequence[bool], table: KnownOperations[Known] | None = None) -> Linearized:
    """Return `linearize_jaxpr` of a program that is linearized once; operations known to `table` are copied."""
    known, linear = recorded_halves(jaxpr, nonzeros, table)
    num_outs = len(jaxpr.outvars)
    outs, residuals = known.outvars[:num_outs], known.outvars[num_outs:]
    is_tangent = [False] * len(residuals) + [True] * sum(nonzeros)
    linear, used = dce_jaxpr(linear, [True] * num_outs, instantiate=is_tangent)
    known = known.replace(outvars=[*outs, *marked(residuals, used[: len(residuals)])])
    smaller, sources = without_repeats(known, num_outs)
    return Linearized(smaller, linear, sources)
