"""The derivatives of functions with their own rules.

One idea: a user's rule runs as every rule does, over the tangent trace, on primals of the parent; so it may branch on
values and call its own function.  A vjp rule runs its forward half at once, and records one equation in the linear
program; the backward half is the transpose of that equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.jaxprs import jvp_of_call
from calque_autodiff.traces.tangent_trace import TangentTrace, captured_by_rules, record
from calque_autodiff.transpose import backward_pass
from calque_core import CustomRules, Jaxpr, Primitive, current_trace, eval_jaxpr, evaluation, typeof
from calque_core.extend import (
    JaxprTrace,
    LinearCall,
    close_rules,
    is_nonzero,
    marked,
    no_jvp_rule,
    with_integer_zeros,
    zero_tangent,
)
from calque_core.lax import custom_jvp_call_p, custom_vjp_call_p, custom_vjp_linear_p

Value = Any


def custom_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, rules: CustomRules, jaxpr: Jaxpr | None = None
) -> tuple[list[Value], list[Value]]:
    """Run the jvp rule; a function without derivative rules is its program.

    Raises: TypeError if there is only a vjp rule.
    """
    if rules.jvp is not None:
        with captured_by_rules():
            outs, out_dots = rules.jvp(primals, tangents)
        return list(outs), out_dots
    if rules.fwd is not None:
        raise TypeError(no_jvp_rule(rules.name))
    assert jaxpr is not None, rules
    return jvp_of_call(_run, jaxpr, primals, tangents)


def _run(*operands: Value, jaxpr: Jaxpr) -> list[Value]:
    return eval_jaxpr(jaxpr, jaxpr.consts, *operands)


def custom_partial_eval(primitive: Primitive) -> Any:
    """Return the rule that records the whole call, since a user's rules cannot be cut in two."""

    def partial_eval(known_mask: Sequence[bool], *operands: Value, **params: Any) -> list[Value]:
        return record(primitive, operands, params)

    return partial_eval


def custom_transpose(cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, rules: CustomRules) -> list[Value]:
    """Apply the transpose rule, or transpose the program: a function that is applied to tangents is linear in them."""
    if rules.transpose is not None:
        return rules.transpose(cts, operands)
    return backward_pass(jaxpr, jaxpr.consts, operands, cts)


custom_jvp_call_p.def_rule("jvp", custom_jvp)
for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _primitive.def_rule("partial_eval", custom_partial_eval(_primitive))
    _primitive.def_rule("transpose", custom_transpose)


@custom_vjp_call_p.def_rule("jvp")
def custom_vjp(
    primals: Sequence[Value], tangents: Sequence[Value], *, rules: CustomRules, jaxpr: Jaxpr | None = None
) -> tuple[list[Value], list[Value]]:
    """Run the forward half; record one equation on the tangents, which holds the backward half.

    If the function has a jvp rule, the equation runs forwards by it, and takes the primals too.  It may run under any
    trace, so tracers in the rules become primals.  Where no trace records, nothing runs backwards, and the jvp rule is
    applied at once.
    """
    trace = current_trace()
    if rules.fwd is None or not isinstance(trace, JaxprTrace):
        return custom_jvp(primals, tangents, rules=rules, jaxpr=jaxpr)
    is_eager = isinstance(trace, TangentTrace) and trace.parent is evaluation  # the rules hold values; saves 60 us
    if rules.jvp is not None and not is_eager:
        rules, captured = close_rules(rules, [typeof(x) for x in primals])
        primals, tangents = (*captured, *primals), (*map(zero_tangent, captured), *tangents)
    assert rules.fwd is not None, rules
    nonzeros = is_nonzero(tangents)
    outs, residuals, bwd = rules.fwd(primals, nonzeros)
    kept_primals = primals if rules.jvp is not None else ()
    out_avals = tuple(typeof(x).strip_weak_type().to_tangent_aval() for x in outs)
    call = LinearCall(rules, bwd, len(residuals), len(kept_primals), tuple(nonzeros), out_avals)
    with captured_by_rules():
        out_dots = custom_vjp_linear_p.bind(*residuals, *kept_primals, *marked(tangents, nonzeros), call=call)
    return outs, with_integer_zeros(out_dots, out_avals)


custom_vjp_linear_p.def_hole("jvp", "it runs forwards by the jvp rule of its function, if there is one")


@custom_vjp_linear_p.def_rule("transpose")
def custom_vjp_linear_transpose(cts: Sequence[Value], *operands: Value, call: LinearCall) -> list[Value]:
    """Run the backward half."""
    bars = call.bwd(operands[: call.num_residuals], with_integer_zeros(cts, call.out_avals))
    known = call.num_residuals + call.num_primals
    return [*[None] * known, *marked(bars, call.mask)]
