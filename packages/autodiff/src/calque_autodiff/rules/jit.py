"""The derivatives of `jit`: each is one `jit` of the derivative of its program, with the same compiler."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from calque_autodiff.jaxprs import jvp_jaxpr
from calque_autodiff.partial_eval import at_places, partial_eval_jaxpr, without_repeats
from calque_autodiff.traces.tangent_trace import record
from calque_autodiff.transpose import transpose_jaxpr
from calque_core import Jaxpr, JaxprEqn, Literal, UndefinedPrimal, Var, Zero
from calque_core.lax import jit_p
from calque_core.ops.linear import zero_tangent

Value = Any


@jit_p.def_rule("jvp")
def jit_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, jaxpr: Jaxpr, **params: Any
) -> tuple[list[Value], list[Value]]:
    """One program computes the results and their tangents."""
    nonzeros = [type(t) is not Zero for t in tangents]
    differentiated, out_mask = jvp_jaxpr(jaxpr, nonzeros)
    perturbed = [t for t in tangents if type(t) is not Zero]
    results = jit_p.bind(*primals, *perturbed, jaxpr=differentiated, **params)
    outs, out_dots = results[: len(out_mask)], iter(results[len(out_mask) :])
    return outs, [next(out_dots) if m else zero_tangent(x) for x, m in zip(outs, out_mask)]


@jit_p.def_rule("partial_eval")
def jit_partial_eval(known_mask: Sequence[bool], *operands: Value, jaxpr: Jaxpr, **params: Any) -> list[Value]:
    """Run the known half now; record one `jit` of the residuals and the unknown operands.

    A residual that equals an operand is that operand: in a loop it may be the same at every step.
    """
    split = partial_eval_jaxpr(jaxpr, known_mask)
    num_known = sum(split.known_outs)
    known, places = split.known.memo(("places", num_known), lambda: without_repeats(split.known, num_known))
    known_operands = [x for x, k in zip(operands, known_mask) if k]
    unknown_operands = [x for x, k in zip(operands, known_mask) if not k]
    results = jit_p.bind(*known_operands, jaxpr=known, **params) if known.outvars or known.effects else []
    residuals = at_places(places, known_operands, results)
    recorded = record(jit_p, [*residuals, *unknown_operands], {"jaxpr": split.unknown, **params})
    known_results, unknown_results = iter(results[:num_known]), iter(recorded)
    return [next(known_results) if k else next(unknown_results) for k in split.known_outs]


def halves(eqn: JaxprEqn, known: Container[Any]) -> list[JaxprEqn]:
    """Return a `jit` as two, if some of its results need only `known` operands: the first returns these."""
    is_known = [type(x) is Literal or x in known for x in eqn.invars]
    if eqn.effects or not any(is_known):
        return [eqn]
    split = partial_eval_jaxpr(eqn.params["jaxpr"], is_known)
    num_known = sum(split.known_outs)
    if not num_known:
        return [eqn]
    first, places = without_repeats(split.known, num_known)
    operands = [x for x, k in zip(eqn.invars, is_known) if k]
    results = [v for v, k in zip(eqn.outvars, split.known_outs) if k] + [Var(a) for a in first.out_avals[num_known:]]
    unknown = [*at_places(places, operands, results), *(x for x, k in zip(eqn.invars, is_known) if not k)]
    unknown_outs = [v for v, k in zip(eqn.outvars, split.known_outs) if not k]
    known_half = eqn.replace(invars=operands, outvars=results, params=eqn.params | {"jaxpr": first})
    unknown_half = eqn.replace(invars=unknown, outvars=unknown_outs, params=eqn.params | {"jaxpr": split.unknown})
    return [known_half, unknown_half] if unknown_outs else [known_half]


@jit_p.def_rule("transpose")
def jit_transpose(cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, **params: Any) -> list[Value]:
    """One program computes the cotangents of the linear operands."""
    linear_mask = [type(x) is UndefinedPrimal for x in operands]
    ct_mask = [type(ct) is not Zero for ct in cts]
    transposed, nonzero = transpose_jaxpr(jaxpr, linear_mask, ct_mask)
    known = [x for x, m in zip(operands, linear_mask) if not m]
    nonzero_cts = [ct for ct in cts if type(ct) is not Zero]
    results = iter(jit_p.bind(*known, *nonzero_cts, jaxpr=transposed, **params))
    bars = iter([next(results) if n else None for n in nonzero])
    return [next(bars) if m else None for m in linear_mask]
