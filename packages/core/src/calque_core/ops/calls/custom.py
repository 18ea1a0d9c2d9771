"""Functions with rules of their own, as equations: `custom_jvp_call`, `custom_vjp_call`, `custom_vmap_call`.

One idea: an equation holds the jaxpr of the function and its rules.  Evaluation and compilation use the jaxpr,
differentiation and batching use the rules.

`custom_vmap_call` stands for a function that has a rule for batches and no derivative rules: its derivative is a
`custom_vmap_call` of the derivative of the jaxpr, whose rule for batches is the derivative of the rule.

`custom_vjp_linear` stands in a linear program for a call of a function with a vjp rule: reverse mode uses that rule;
forward mode works only if the function has a jvp rule too.

`custom_vjp_fwd` is the forward half of a vjp rule beside its function: where nobody uses a residual, dead code
elimination leaves a call of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn
from calque_core.jaxprs.masks import marked
from calque_core.ops.calls.custom_closures import Backward, CustomRules
from calque_core.ops.calls.jit import check_operands, dce_jit, has_value_of, jit_p, means, run_program
from calque_core.passes.dead_code import dce_jaxpr
from calque_core.primitives.primitive import Primitive
from calque_core.record import Record

Value = Any

custom_jvp_call_p = Primitive("custom_jvp_call", multiple_results=True)
custom_vjp_call_p = Primitive("custom_vjp_call", multiple_results=True)
custom_vmap_call_p = Primitive("custom_vmap_call", multiple_results=True)
custom_vjp_linear_p = Primitive("custom_vjp_linear", multiple_results=True)
for _primitive in (custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p, custom_vjp_linear_p):
    _primitive.takes_weak = True


def custom_abstract_eval(*avals: Any, jaxpr: Jaxpr, rules: CustomRules) -> list[Any]:
    check_operands(f"the function {rules.name}", jaxpr, avals)
    return jaxpr.out_avals


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


for _primitive in (custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p):
    _primitive.def_abstract_eval(custom_abstract_eval)
    has_value_of(_primitive, "jaxpr", run_program)
    _primitive.def_pp(custom_pp)
    _primitive.def_rule("dce", dce_custom)


# The derivative of a call with a vjp rule


class Pullback(Record):
    """The derivative of one call of a function with a vjp rule: a linear function, as an equation of a linear program.

    `fun(*operands)` returns the tangents of the results, of the types `out_avals`; it raises if the function has only a
    vjp rule.  `transpose(operands, cts)` is a transpose rule.  Both leave out the tangents of integers.
    """

    name: str
    fun: Callable[..., list[Value]]
    transpose: Backward
    out_avals: Sequence[Any]


@custom_vjp_linear_p.def_pp
def custom_linear_pp(params: dict[str, Any]) -> dict[str, Any]:
    """Print the name of the function."""
    return {"name": params["pullback"].name.split(" ")[0]}


custom_vjp_linear_p.def_rule("dce", dce_custom)
custom_vjp_linear_p.def_rule("vma", lambda vmas, *, pullback: [aval.vma for aval in pullback.out_avals])


@custom_vjp_linear_p.def_abstract_eval
def custom_linear_abstract_eval(*avals: Any, pullback: Pullback) -> list[Any]:
    return list(pullback.out_avals)


@custom_vjp_linear_p.def_impl
@custom_vjp_linear_p.def_rule("decomposition")
def custom_linear_decomposition(*args: Value, pullback: Pullback) -> list[Value]:
    """Run the function.

    Raises: TypeError if there is no jvp rule.
    """
    return pullback.fun(*args)


def no_jvp_rule(name: str) -> str:
    """Return the message for forward mode of a function that has only a vjp rule."""
    return (
        f"can't apply forward-mode autodiff (jvp) to {name}{where()}: this function has only a vjp rule. Give it a jvp "
        'rule too, defvjp(fwd, bwd, jvp=rule), or let its fwd be differentiated, defvjp(fwd, bwd, jvp="fwd"); or use '
        "reverse mode."
    )


# The forward half of a vjp rule, beside its function

custom_vjp_fwd_p = Primitive("custom_vjp_fwd", multiple_results=True)
custom_vjp_fwd_p.takes_weak = True
means(custom_vjp_fwd_p, "fwd", run_program)


@custom_vjp_fwd_p.def_abstract_eval
def custom_vjp_fwd_abstract_eval(*avals: Any, fwd: Jaxpr, fun: Jaxpr, name: str) -> list[Any]:
    check_operands(f"the fwd rule of {name}", fwd, avals)
    check_operands(f"the function {name}", fun, avals)
    return fwd.out_avals


@custom_vjp_fwd_p.def_rule("decomposition")
def custom_vjp_fwd_decomposition(*args: Value, fwd: Jaxpr, **_: Any) -> list[Value]:
    """Run the forward half: a derivative of it needs its operations."""
    return run_program(fwd, args)


@custom_vjp_fwd_p.def_rule("dce")
def custom_vjp_fwd_dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Drop the unused results; if none of them is a residual, call the function.  A half with an effect stays whole."""
    fwd, fun = eqn.params["fwd"], eqn.params["fun"]
    if fwd.effects:
        return [True] * len(eqn.invars), eqn
    num_outs = len(fun.outvars)
    if not any(used_outputs[num_outs:]):
        call = {"jaxpr": fun, "name": eqn.params["name"], "compiler": None}
        called = eqn.replace(primitive=jit_p, outvars=eqn.outvars[:num_outs], params=call)
        return dce_jit(used_outputs[:num_outs], called)  # type: ignore[no-any-return]
    used = {"fwd": used_outputs, "fun": used_outputs[:num_outs]}
    needed = [dce_jaxpr(eqn.params[name], mask)[1] for name, mask in used.items()]
    used_inputs = [any(marks) for marks in zip(*needed)]
    programs = {name: dce_jaxpr(eqn.params[name], mask, instantiate=used_inputs)[0] for name, mask in used.items()}
    invars, outvars = marked(eqn.invars, used_inputs), marked(eqn.outvars, used_outputs)
    return used_inputs, eqn.replace(invars=invars, outvars=outvars, params=eqn.params | programs)
