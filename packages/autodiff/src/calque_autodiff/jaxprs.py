"""Derivatives of programs, for the rules of higher-order primitives.

One idea: each interprets the jaxpr under the trace that differentiates functions, staged once per mask and memoised on
the jaxpr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_autodiff.partial_eval import Place, at_places, without_repeats
from calque_autodiff.traces.jvp_trace import JVPTrace, JVPTracer
from calque_autodiff.traces.tangent_trace import TangentTrace
from calque_autodiff.zeros import instantiate_results
from calque_core import (
    Jaxpr,
    current_trace,
    dce_jaxpr,
    eval_jaxpr,
    hoist_tracers,
    stage,
    tracing,
)
from calque_core.extend import is_nonzero, marked, merged, settings_key, split_results

Value = Any


def jvp_jaxpr(
    jaxpr: Jaxpr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Return the program of `jaxpr` and its derivative, and a mask of the results with a tangent.

    It takes the primals, then the tangents of the primals that `nonzeros` marks; it returns the primal results, then
    the tangents that are not identically zero, or that `instantiate` marks.

    >>> from calque_autodiff import jvp_jaxpr
    >>> from calque_core import make_jaxpr
    >>> jvp_jaxpr(make_jaxpr(lambda x: -x)(1.0), [True])
    ({ lambda ; a:f64[] b:f64[]. let c:f64[] = neg a; d:f64[] = neg b in (c, d) }, [True])
    """
    mask = tuple(nonzeros)

    def make() -> tuple[Jaxpr, list[bool]]:
        out_mask: list[bool] = []

        def differentiated(*args: Value) -> list[Value]:
            parent = current_trace()
            trace = JVPTrace(parent, parent)
            trace.position = parent.position  # a search would pass the frames of all programs around this one
            tangents = merged(mask, args[len(mask) :])
            with tracing(trace):
                tracers = [x if t is None else JVPTracer(trace, x, t) for x, t in zip(args, tangents)]
                outs, out_dots = trace.split(eval_jaxpr(jaxpr, jaxpr.consts, *tracers))
            out_mask[:] = is_nonzero(out_dots)
            return [*outs, *marked(out_dots, out_mask)]

        tangent_avals = [aval.to_tangent_aval() for aval in marked(jaxpr.in_avals, mask)]
        return stage(differentiated, [*jaxpr.in_avals, *tangent_avals], verb="jvp"), out_mask

    derived = jaxpr.memo(("jvp", mask, *settings_key()), make)
    return instantiate_results(derived, instantiate, [v.aval.to_tangent_aval() for v in jaxpr.outvars])


def jvp_of_call(
    bind: Callable[..., Sequence[Value]], jaxpr: Jaxpr, primals: Sequence[Value], tangents: Sequence[Value]
) -> tuple[list[Value], list[Value]]:
    """Return the results of a call of `jaxpr` and their tangents, by one call of the program that computes both.

    `bind(*operands, jaxpr=program)` binds the primitive of the call.
    """
    nonzeros = is_nonzero(tangents)
    dual, out_mask = jvp_jaxpr(jaxpr, nonzeros)
    return split_results(bind(*primals, *marked(tangents, nonzeros), jaxpr=dual), out_mask)


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


def linearize_jaxpr(jaxpr: Jaxpr, nonzeros: Sequence[bool]) -> Linearized:
    """Return `jaxpr` as a program that computes its results and residuals, and one that is linear in the tangents.

    A result of the linear program that is identically zero is a literal `Zero`.

    >>> from calque_autodiff import linearize_jaxpr
    >>> from calque_core import lax, make_jaxpr
    >>> linearize_jaxpr(make_jaxpr(lax.exp)(1.0), [True]).linear
    { lambda ; a:f64[] b:f64[]. let c:f64[] = mul b a in (c,) }
    """
    mask = tuple(nonzeros)

    def make() -> Linearized:
        linear: list[Jaxpr] = []

        def known(*primals: Value) -> list[Value]:
            parent = current_trace()
            tangent_trace = TangentTrace(parent)
            trace = JVPTrace(parent, tangent_trace)
            trace.position = parent.position
            with tracing(trace):
                tracers = [
                    JVPTracer(trace, x, tangent_trace.new_arg(v.aval.to_tangent_aval())) if m else x
                    for x, v, m in zip(primals, jaxpr.invars, mask)
                ]
                outs, out_dots = trace.split(eval_jaxpr(jaxpr, jaxpr.consts, *tracers))
                program = tangent_trace.finish(out_dots)
            program, _ = dce_jaxpr(program, [True] * len(outs), instantiate=True)
            program, residuals = hoist_tracers(program)
            linear.append(program)
            return [*outs, *residuals]

        staged = stage(known, jaxpr.in_avals, verb="linearize")
        smaller, sources = without_repeats(staged, len(jaxpr.outvars))
        return Linearized(smaller, linear[0], sources)

    return jaxpr.memo(("linearize", mask, *settings_key()), make)  # type: ignore[no-any-return]
