"""Functions with derivative rules of their own, as equations: `custom_jvp_call`, `custom_vjp_call`.

One idea: an equation holds the jaxpr of the function and its derivative rules.  Evaluation and compilation use the
jaxpr, differentiation uses the rules.

`custom_vjp_linear` stands in a linear program for a call of a function with a vjp rule: reverse mode uses that rule;
forward mode works only if the function has a jvp rule too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn
from calque_core.jaxprs.masks import merged, unmarked
from calque_core.ops.custom_rules import CustomRules, LinearCall
from calque_core.ops.jit import check_operands, run_program
from calque_core.ops.linear import instantiate_zeros, zero_tangent
from calque_core.primitives.primitive import Primitive
from calque_core.types.dtypes import is_float

Value = Any

custom_jvp_call_p = Primitive("custom_jvp_call", multiple_results=True)
custom_vjp_call_p = Primitive("custom_vjp_call", multiple_results=True)
custom_vjp_linear_p = Primitive("custom_vjp_linear", multiple_results=True)


def custom_abstract_eval(*avals: Any, jaxpr: Jaxpr, rules: CustomRules) -> list[Any]:
    check_operands(f"the function {rules.name}", jaxpr, avals)
    return jaxpr.out_avals


def custom_impl(*args: Value, jaxpr: Jaxpr, rules: CustomRules) -> list[Value]:
    return run_program(jaxpr, args)


def custom_pp(params: dict[str, Any]) -> dict[str, Any]:
    """Print the name of the function, and the names of its rules."""
    rules: CustomRules = params["rules"]
    kinds = [kind for kind in ("jvp", "fwd", "transpose", "batch") if getattr(rules, kind) is not None]
    return {"name": rules.name.split(" ")[0], "jaxpr": params["jaxpr"], "rules": ",".join(kinds)}


def dce_custom(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Keep or drop the call as a whole: its rules are for all results."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    return [True] * len(eqn.invars), eqn


for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _primitive.def_abstract_eval(custom_abstract_eval)
    _primitive.def_impl(custom_impl)
    _primitive.def_pp(custom_pp)
    _primitive.def_rule("dce", dce_custom)


# A call with a vjp rule, in a linear program


@custom_vjp_linear_p.def_pp
def custom_linear_pp(params: dict[str, Any]) -> dict[str, Any]:
    """Print the name of the function, and the number of residuals."""
    call: LinearCall = params["call"]
    return {"name": call.rules.name.split(" ")[0], "num_residuals": call.num_residuals}


custom_vjp_linear_p.def_rule("dce", dce_custom)


@custom_vjp_linear_p.def_abstract_eval
def custom_linear_abstract_eval(*avals: Any, call: LinearCall) -> list[Any]:
    return [aval for aval in call.out_avals if is_float(aval.dtype)]


@custom_vjp_linear_p.def_impl
@custom_vjp_linear_p.def_rule("decomposition")
def custom_linear_decomposition(*args: Value, call: LinearCall) -> list[Value]:
    """Run the jvp rule.

    Raises: TypeError if the function has none.
    """
    if call.rules.jvp is None:
        raise TypeError(no_jvp_rule(call.rules.name))
    start = call.num_residuals + call.num_primals
    primals = args[call.num_residuals : start]
    tangents = merged(call.mask, args[start:], map(zero_tangent, unmarked(primals, call.mask)))
    _, out_dots = call.rules.jvp(primals, tangents)
    return [instantiate_zeros(t) for t, aval in zip(out_dots, call.out_avals) if is_float(aval.dtype)]


def no_jvp_rule(name: str) -> str:
    """Return the message for forward mode of a function that has only a vjp rule."""
    return (
        f"can't apply forward-mode autodiff (jvp) to {name}{where()}: this function has only a vjp rule. Give it a jvp "
        'rule too, defvjp(fwd, bwd, jvp=rule), or let its fwd be differentiated, defvjp(fwd, bwd, jvp="fwd"); or use '
        "reverse mode."
    )
