"""Derivatives of programs: the forms that rules of higher-order primitives are made of.

One idea: each is an interpretation of the jaxpr under the trace that differentiates functions, staged once per mask and
remembered on the jaxpr.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.jvp_trace import JVPTrace, JVPTracer
from calque_autodiff.tangent_trace import TangentTrace
from calque_core.interpret import eval_jaxpr
from calque_core.jaxpr import Atom, Jaxpr, Literal, Var
from calque_core.linear import Zero, instantiate_zeros
from calque_core.passes import dce_jaxpr
from calque_core.rules import settings_key
from calque_core.stage import hoist_tracers, stage
from calque_core.trace import current_trace, tracing

Value = Any


def jvp_jaxpr(
    jaxpr: Jaxpr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Return the program of `jaxpr` and its derivative, and which results have a tangent.

    It takes the primals, then the tangents of those that `nonzeros` marks; it gives the primal results, then the
    tangents that are not identically zero, or that `instantiate` marks.

    >>> from calque_autodiff import jvp_jaxpr
    >>> from calque_core import make_jaxpr
    >>> jvp_jaxpr(make_jaxpr(lambda x: -x)(1.0), [True])
    ({ lambda ; a:f64[] b:f64[]. let c:f64[] = neg a; d:f64[] = neg b in (c, d) }, [True])
    """
    mask = tuple(nonzeros)
    wanted = (instantiate,) * len(jaxpr.outvars) if isinstance(instantiate, bool) else tuple(instantiate)

    def make() -> tuple[Jaxpr, list[bool]]:
        out_mask: list[bool] = []

        def differentiated(*args: Value) -> list[Value]:
            parent = current_trace()
            trace = JVPTrace(parent, parent)
            tangents = iter(args[len(mask) :])
            with tracing(trace):
                tracers = [JVPTracer(trace, x, next(tangents)) if m else x for x, m in zip(args, mask)]
                outs, out_dots = trace.split(eval_jaxpr(jaxpr, jaxpr.consts, *tracers))
            out_mask[:] = [w or type(t) is not Zero for t, w in zip(out_dots, wanted)]
            return [*outs, *(instantiate_zeros(t) for t, m in zip(out_dots, out_mask) if m)]

        tangent_avals = [v.aval.to_tangent_aval() for v, m in zip(jaxpr.invars, mask) if m]
        return stage(differentiated, [*jaxpr.in_avals, *tangent_avals], verb="jvp"), out_mask

    return jaxpr.memo(("jvp", mask, wanted, *settings_key()), make)  # type: ignore[no-any-return]


class Linearized(NamedTuple):
    """A program cut in two.

    `known` takes the primals and gives the results, then residuals; `linear` takes residuals, then the tangents of
    the perturbed primals.  `sources` says where each residual is found: ("in", i) among the primals, ("out", i) among
    the results of `known`.
    """

    known: Jaxpr
    linear: Jaxpr
    sources: list[tuple[str, int]]

    def residuals(self, primals: Sequence[Value], known_outs: Sequence[Value]) -> list[Value]:
        """Return the residuals, given the operands and all results of `known`."""
        return [primals[i] if where == "in" else known_outs[i] for where, i in self.sources]


def is_zero(x: Atom) -> bool:
    """Tell whether a result of a linear program is a literal `Zero`."""
    return type(x) is Literal and type(x.val) is Zero


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
        return _without_repeats(staged, linear[0], len(jaxpr.outvars))

    return jaxpr.memo(("linearize", mask, *settings_key()), make)  # type: ignore[no-any-return]


def _without_repeats(known: Jaxpr, linear: Jaxpr, num_outs: int) -> Linearized:
    """Drop the residuals that are arguments, results or literals of `known` already; say where each is found."""
    places: dict[Any, tuple[str, int]] = {v: ("in", i) for i, v in enumerate(known.invars)}
    kept: list[Any] = list(known.outvars[:num_outs])
    for i, v in enumerate(kept):
        if type(v) is Var:
            places.setdefault(v, ("out", i))
    sources = []
    for v in known.outvars[num_outs:]:
        if type(v) is Literal or v not in places:
            if type(v) is Var:
                places[v] = ("out", len(kept))
            sources.append(("out", len(kept)))
            kept.append(v)
        else:
            sources.append(places[v])
    known, _ = dce_jaxpr(known.replace(outvars=kept), [True] * len(kept), instantiate=True)
    return Linearized(known, linear, sources)


class Split(NamedTuple):
    """A program cut where knowledge ends.

    `known` takes the known operands and gives the known results, then residuals; `unknown` takes the residuals and the
    unknown operands and gives the other results.  `known_outs` marks the known results.
    """

    known: Jaxpr
    unknown: Jaxpr
    known_outs: list[bool]


def partial_eval_jaxpr(jaxpr: Jaxpr, known_mask: Sequence[bool]) -> Split:
    """Return `jaxpr` as the part that needs only the operands marked in `known_mask`, and the rest.

    Programs inside it are split in the same way, by their own `partial_eval` rules.

    >>> from calque_autodiff import partial_eval_jaxpr
    >>> from calque_core import lax, make_jaxpr
    >>> partial_eval_jaxpr(make_jaxpr(lambda x, y: x + lax.sin(y))(1.0, 1.0), [False, True]).known
    { lambda ; a:f64[]. let b:f64[] = sin a in (b,) }
    """
    mask = tuple(known_mask)

    def make() -> Split:
        found: list[Any] = []

        def known(*args: Value) -> list[Value]:
            trace = TangentTrace(current_trace())
            trace.verb = "partial_eval"
            rest = iter(args)
            with tracing(trace):
                values = [next(rest) if k else trace.new_arg(v.aval) for v, k in zip(jaxpr.invars, mask)]
                outs = eval_jaxpr(jaxpr, jaxpr.consts, *values)
                known_outs = [not trace.owns(x) for x in outs]
                program = trace.finish([x for x, k in zip(outs, known_outs) if not k])
            program, _ = dce_jaxpr(program, [True] * len(program.outvars), instantiate=True)
            program, residuals = hoist_tracers(program)
            found[:] = [program, known_outs]
            return [*(x for x, k in zip(outs, known_outs) if k), *residuals]

        staged = stage(known, [v.aval for v, k in zip(jaxpr.invars, mask) if k], verb="partial_eval")
        return Split(staged, found[0], found[1])

    return jaxpr.memo(("partial_eval", mask, *settings_key()), make)  # type: ignore[no-any-return]
