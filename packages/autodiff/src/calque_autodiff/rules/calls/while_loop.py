"""The derivatives of `while`: a loop that carries values and tangents, and a loop that undoes its steps.

One idea: the condition sees no tangent.  Under `linearize` the values run now, and the whole loop, over values and
tangents, is recorded: it is linear in the tangents, although equations in its body are not.
Such a loop has kept no values of its steps.  Its transpose counts the steps, saves a few states, and computes the
values again from them.

Read next: `while_backwards.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.programs.jaxprs import jvp_jaxpr
from calque_autodiff.programs.partial_eval import partial_eval_jaxpr
from calque_autodiff.programs.transpose import is_linear
from calque_autodiff.rules.calls.linear_call import only_linear
from calque_autodiff.rules.calls.while_backwards import Step, cut_step, linear_carries, reverse_program, without_linear
from calque_autodiff.traces.tangent_trace import record
from calque_core import Jaxpr, Var, dce_jaxpr, eval_jaxpr, instantiate_zeros
from calque_core.engine import (
    Mask,
    consts_first,
    exact_effects,
    marked_carries,
    rebuild,
    split_while,
    zeros_of,
)
from calque_core.extend import is_nonzero, marked, merged, settings_key, split_results, unmarked, where
from calque_core.lax import guard_p, select_n_p, while_p

Value = Any


# Forwards


@while_p.def_rule("jvp")
def while_jvp(
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    **options: Any,
) -> tuple[list[Value], list[Value]]:
    """One loop carries the values, and a tangent for each value that has one at some step."""
    body_jaxpr = without_guards(body_jaxpr)
    cond_consts, body_consts, carry = split_while(primals, cond_nconsts, body_nconsts)
    _, const_dots, carry_dots = split_while(tangents, cond_nconsts, body_nconsts)
    const_mask = is_nonzero(const_dots)
    mask = marked_carries(is_nonzero(carry_dots), lambda m: jvp_jaxpr(body_jaxpr, [*const_mask, *m])[1])
    dual, _ = jvp_jaxpr(body_jaxpr, [*const_mask, *mask], instantiate=mask)
    results = while_p.bind(
        *cond_consts,
        *body_consts,
        *marked(const_dots, const_mask),
        *carry,
        *(instantiate_zeros(t) for t in marked(carry_dots, mask)),
        body_jaxpr=dual.memo(("while", body_nconsts), lambda: consts_first(dual, body_nconsts, len(mask))),
        body_nconsts=body_nconsts + sum(const_mask),
        cond_jaxpr=cond_jaxpr.memo(
            ("with tangents", tuple(mask)), lambda: with_tangents(cond_jaxpr, cond_nconsts, mask)
        ),
        cond_nconsts=cond_nconsts,
        **options,
    )
    return split_results(results, mask)


def without_guards(body_jaxpr: Jaxpr) -> Jaxpr:
    """Return the body of a loop over a batch with choices in the place of guards.

    The rules of a guard come too late: a value without a tangent stays guarded alone, and makes an infinite derivative.
    """
    if not any(eqn.primitive is guard_p for eqn in body_jaxpr.eqns):
        return body_jaxpr
    eqns = [eqn.replace(primitive=select_n_p) if eqn.primitive is guard_p else eqn for eqn in body_jaxpr.eqns]
    chosen: Jaxpr = body_jaxpr.memo("without guards", lambda: body_jaxpr.replace(eqns=eqns))
    return chosen


def with_tangents(cond_jaxpr: Jaxpr, num_consts: int, mask: Mask) -> Jaxpr:
    """Return the condition with ignored operands: the tangents of the carries in `mask`."""
    carry = cond_jaxpr.invars[num_consts:]
    return cond_jaxpr.replace(
        invars=[*cond_jaxpr.invars, *(Var(v.aval.to_tangent_aval()) for v in marked(carry, mask))]
    )


# Partial evaluation


@while_p.def_rule("partial_eval")
def while_partial_eval(
    known_mask: Sequence[bool],
    *operands: Value,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    **options: Any,
) -> list[Value]:
    """Run the loop over the carries that are known at every step; record the whole loop for the other carries.

    Effects happen in the first loop; the recorded loop runs the steps again, without them.
    """
    cond_mask, const_mask, start_mask = split_while(known_mask, cond_nconsts, body_nconsts)
    params = {"body_nconsts": body_nconsts, "cond_nconsts": cond_nconsts, **options}

    def unknown_after(unknown: Mask) -> Mask:
        return [not k for k in partial_eval_jaxpr(body_jaxpr, [*const_mask, *(not u for u in unknown)]).known_outs]

    known = [not u for u in marked_carries([not k for k in start_mask], unknown_after)]
    condition = partial_eval_jaxpr(cond_jaxpr, [*cond_mask, *known])
    if not any(known) or not condition.known_outs[0]:
        return record(while_p, operands, {"body_jaxpr": body_jaxpr, "cond_jaxpr": cond_jaxpr, **params})
    again = {"body_jaxpr": without_effects(body_jaxpr), "cond_jaxpr": without_effects(cond_jaxpr)}
    results = record(while_p, operands, again | params)
    body = partial_eval_jaxpr(body_jaxpr, [*const_mask, *known])
    used_outs = [*marked(known, body.known_outs), *[False] * (len(body.known.outvars) - sum(body.known_outs))]
    cond_consts, body_consts, carry = split_while(operands, cond_nconsts, body_nconsts)
    known_results = while_p.bind(
        *marked(cond_consts, cond_mask),
        *marked(body_consts, const_mask),
        *marked(carry, known),
        body_jaxpr=dce_jaxpr(body.known, used_outs, instantiate=True)[0],
        body_nconsts=sum(const_mask),
        cond_jaxpr=condition.known,
        cond_nconsts=sum(cond_mask),
        **options,
    )
    return merged(known, known_results, unmarked(results, known))


def without_effects(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program without the equations that only have effects: they happened when the program ran before.

    Raises: TypeError for an equation with an exact effect whose results the program needs.
    """
    if not jaxpr.effects:
        return jaxpr
    quiet = rebuild(
        jaxpr, lambda inner: inner.replace(eqns=[eqn for eqn in inner.eqns if eqn.outvars or not eqn.effects])
    )
    effects = exact_effects(quiet.effects)
    if effects:
        raise TypeError(
            f"linearize and reverse mode run the steps of while_loop{where()} again, but a step has the effect "
            f"{effects[0]} and uses its result. Use a scan or fori_loop with known bounds, or move the call out of "
            "the loop."
        )
    return quiet


# Backwards


@while_p.def_rule("transpose")
def while_transpose(
    cts: Sequence[Value],
    *operands: Value,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    **options: Any,
) -> list[Value]:
    """Count the steps, then undo them from the last to the first; at most `options["checkpoints"]` states are kept.

    Raises: MissingRuleError if the condition depends on a linear operand.
    """
    body_jaxpr = without_guards(body_jaxpr)
    linear = is_linear(operands)
    cond_linear, const_linear, start_linear = split_while(linear, cond_nconsts, body_nconsts)
    carry_linear = linear_carries(body_jaxpr, const_linear, start_linear)
    condition = without_linear(cond_jaxpr, [*cond_linear, *carry_linear])
    ct_mask = marked(is_nonzero(cts), carry_linear)

    def make() -> tuple[Jaxpr, Step]:
        step = cut_step(body_jaxpr, const_linear, carry_linear, ct_mask)
        return reverse_program(step, condition, options), step

    key = ("backwards", body_nconsts, condition, *options.values(), *linear, *ct_mask, *settings_key())
    program, step = body_jaxpr.memo(key, make) if condition.is_closed else make()
    consts = operands[cond_nconsts : cond_nconsts + body_nconsts]
    sums = [zeros_of(x.aval) for x in marked(marked(consts, const_linear), step.const_mask)]
    bars = [instantiate_zeros(ct) for ct in marked(marked(cts, carry_linear), step.carry_mask)]
    known = unmarked(operands, [*cond_linear, *const_linear, *carry_linear])
    nonzero_bars = eval_jaxpr(program, program.consts, *known, *sums, *bars)
    linear_bars = merged([*step.const_mask, *step.carry_mask], nonzero_bars)
    operand_bars = merged([*cond_linear, *const_linear, *carry_linear], linear_bars)
    return only_linear(operand_bars, operands)
