"""The derivatives of `jit`: each is one `jit` of the derivative of its program, with the same compiler.

A program that is linearized is cut in two at once (`jit_jvp`).  `jit_partial_eval` cuts a program that a derivative
rule of another primitive binds.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import partial
from typing import Any

from calque_autodiff.programs.jaxprs import jvp_of_call, linearized_call
from calque_autodiff.programs.partial_eval import at_places, partial_eval_jaxpr, without_repeats
from calque_autodiff.programs.transpose import transpose_of_call
from calque_autodiff.traces.tangent_trace import is_linearized, record
from calque_core import Jaxpr, JaxprEqn, Literal, Primitive, Var
from calque_core.extend import is_nonzero, marked, merged, split_results, unmarked
from calque_core.lax import jit_p

Value = Any


def def_call_jvp(primitive: Primitive) -> None:
    """Define the jvp of a primitive that applies the program `jaxpr` to its operands."""

    @primitive.def_rule("jvp")
    def call_jvp(
        primals: Sequence[Value], tangents: Sequence[Value], *, jaxpr: Jaxpr, **params: Any
    ) -> tuple[list[Value], list[Value]]:
        """One program computes the results and their tangents."""
        return jvp_of_call(partial(primitive.bind, **params), jaxpr, primals, tangents)


def def_call_transpose(primitive: Primitive) -> None:
    """Define the transpose of a primitive that applies the program `jaxpr` to its operands."""

    @primitive.def_rule("transpose")
    def call_transpose(cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, **params: Any) -> list[Value]:
        """One program computes the cotangents of the linear operands."""
        return transpose_of_call(partial(primitive.bind, **params), jaxpr, cts, operands)


def_call_transpose(jit_p)


@jit_p.def_rule("jvp")
def jit_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, jaxpr: Jaxpr, **params: Any
) -> tuple[list[Value], list[Value]]:
    """One program computes the results and their tangents; two do if the derivative is linearized.

    The second of the two is recorded.  So the rules run once, where a program of both would be cut by `partial_eval`.
    """
    if not is_linearized(primals, tangents):
        return jvp_of_call(partial(jit_p.bind, **params), jaxpr, primals, tangents)
    nonzeros = is_nonzero(tangents)
    (known, linear, places), out_mask = linearized_call(jaxpr, nonzeros)
    results = jit_p.bind(*primals, jaxpr=known, **params) if known.outvars or known.effects else []
    operands = [*at_places(places, primals, results), *marked(tangents, nonzeros)]
    out_dots = record(jit_p, operands, {"jaxpr": linear, **params}) if linear.outvars or linear.effects else []
    return split_results([*results[: len(out_mask)], *out_dots], out_mask)


@jit_p.def_rule("partial_eval")
def jit_partial_eval(known_mask: Sequence[bool], *operands: Value, jaxpr: Jaxpr, **params: Any) -> list[Value]:
    """Run the known half now; record one `jit` of the residuals and the unknown operands.

    A residual that equals an operand is that operand: in a loop it may be the same at every step.
    """
    split = partial_eval_jaxpr(jaxpr, known_mask)
    num_known = sum(split.known_outs)
    known, places = split.known.memo(("places", num_known), lambda: without_repeats(split.known, num_known))
    known_operands = marked(operands, known_mask)
    results = jit_p.bind(*known_operands, jaxpr=known, **params) if known.outvars or known.effects else []
    residuals = at_places(places, known_operands, results)
    recorded = record(jit_p, [*residuals, *unmarked(operands, known_mask)], {"jaxpr": split.unknown, **params})
    return merged(split.known_outs, results, recorded)


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
    operands = marked(eqn.invars, is_known)
    results = [*marked(eqn.outvars, split.known_outs), *map(Var, first.out_avals[num_known:])]
    unknown = [*at_places(places, operands, results), *unmarked(eqn.invars, is_known)]
    unknown_outs = unmarked(eqn.outvars, split.known_outs)
    known_half = eqn.replace(invars=operands, outvars=results, params=eqn.params | {"jaxpr": first})
    unknown_half = eqn.replace(invars=unknown, outvars=unknown_outs, params=eqn.params | {"jaxpr": split.unknown})
    return [known_half, unknown_half] if unknown_outs else [known_half]
