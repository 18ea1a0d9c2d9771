"""The derivatives of `while`, forwards only: a loop that carries values and tangents.

One idea: the condition sees no tangent.  Under `linearize` the values run now, and what is recorded is the whole loop,
of the values again and the tangents: it is linear in the tangents, although equations in its body are not.
A loop of that kind keeps no values, so it cannot run backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.jaxprs import jvp_jaxpr, partial_eval_jaxpr
from calque_autodiff.rules.loops import only, settled
from calque_autodiff.rules.scan import is_nonzero
from calque_autodiff.tangent_trace import record
from calque_core.errors import MissingRuleError
from calque_core.jaxpr import Jaxpr, Var
from calque_core.linear import instantiate_zeros, zero_tangent
from calque_core.ops.while_loop import while_p
from calque_core.passes import dce_jaxpr
from calque_core.source import where

Value = Any
Mask = list[bool]


@while_p.def_rule("jvp")
def while_jvp(
    primals: Sequence[Value],
    tangents: Sequence[Value],
    *,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
) -> tuple[list[Value], list[Value]]:
    """One loop carries the values and the tangents of those that have one at some step."""
    cond_consts, body_consts, carry = parts_of(primals, cond_nconsts, body_nconsts)
    _, const_dots, carry_dots = parts_of(tangents, cond_nconsts, body_nconsts)
    const_mask = is_nonzero(const_dots)
    mask = settled(is_nonzero(carry_dots), lambda m: jvp_jaxpr(body_jaxpr, [*const_mask, *m])[1])
    dual, _ = jvp_jaxpr(body_jaxpr, [*const_mask, *mask], instantiate=mask)
    results = while_p.bind(
        *cond_consts,
        *body_consts,
        *only(const_dots, const_mask),
        *carry,
        *(instantiate_zeros(t) for t in only(carry_dots, mask)),
        body_jaxpr=dual.memo(("while", body_nconsts), lambda: consts_first(dual, body_nconsts, len(mask))),
        body_nconsts=body_nconsts + sum(const_mask),
        cond_jaxpr=cond_jaxpr.memo(("unseen", tuple(mask)), lambda: unseeing(cond_jaxpr, cond_nconsts, mask)),
        cond_nconsts=cond_nconsts,
    )
    outs, rest = results[: len(mask)], iter(results[len(mask) :])
    return outs, [next(rest) if m else zero_tangent(x) for x, m in zip(outs, mask)]


def parts_of(items: Sequence[Any], cond_nconsts: int, body_nconsts: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Return what belongs to the constants of the condition, to those of the body, and to the carry."""
    start = cond_nconsts + body_nconsts
    return list(items[:cond_nconsts]), list(items[cond_nconsts:start]), list(items[start:])


def consts_first(dual: Jaxpr, num_consts: int, num_carry: int) -> Jaxpr:
    """Return a body of values, then tangents, with the tangents of constants before the carry."""
    num_primals, num_dots = num_consts + num_carry, len(dual.outvars) - num_carry
    values, dots = dual.invars[:num_primals], dual.invars[num_primals:]
    num_const_dots = len(dots) - num_dots
    ordered = [*values[:num_consts], *dots[:num_const_dots], *values[num_consts:], *dots[num_const_dots:]]
    return dual.replace(invars=ordered)


def unseeing(cond_jaxpr: Jaxpr, num_consts: int, mask: Mask) -> Jaxpr:
    """Return the condition as one that also takes the tangents in `mask` of the carry, and ignores them."""
    carry = cond_jaxpr.invars[num_consts:]
    return cond_jaxpr.replace(invars=[*cond_jaxpr.invars, *(Var(v.aval.to_tangent_aval()) for v in only(carry, mask))])


@while_p.def_rule("partial_eval")
def while_partial_eval(
    known_mask: Sequence[bool],
    *operands: Value,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
) -> list[Value]:
    """Run the loop over the carries that are known at every step; record the whole loop for the others."""
    cond_mask, const_mask, start_mask = parts_of(known_mask, cond_nconsts, body_nconsts)
    params = {"body_nconsts": body_nconsts, "cond_nconsts": cond_nconsts}
    results = record(while_p, operands, {"body_jaxpr": body_jaxpr, "cond_jaxpr": cond_jaxpr, **params})

    def unknown_after(unknown: Mask) -> Mask:
        return [not k for k in partial_eval_jaxpr(body_jaxpr, [*const_mask, *(not u for u in unknown)]).known_outs]

    known = [not u for u in settled([not k for k in start_mask], unknown_after)]
    condition = partial_eval_jaxpr(cond_jaxpr, [*cond_mask, *known])
    if not any(known) or not condition.known_outs[0]:
        return results
    body = partial_eval_jaxpr(body_jaxpr, [*const_mask, *known])
    kept = [*only(known, body.known_outs), *[False] * (len(body.known.outvars) - sum(body.known_outs))]
    cond_consts, body_consts, carry = parts_of(operands, cond_nconsts, body_nconsts)
    found = iter(
        while_p.bind(
            *only(cond_consts, cond_mask),
            *only(body_consts, const_mask),
            *only(carry, known),
            body_jaxpr=dce_jaxpr(body.known, kept, instantiate=True)[0],
            body_nconsts=sum(const_mask),
            cond_jaxpr=condition.known,
            cond_nconsts=sum(cond_mask),
        )
    )
    return [next(found) if k else x for x, k in zip(results, known)]


@while_p.def_rule("transpose")
def while_transpose(cts: Sequence[Value], *operands: Value, **params: Any) -> list[Value]:
    """Refuse: a loop that may take any number of steps has not kept their values.

    Raises: MissingRuleError.
    """
    raise MissingRuleError(
        f"Reverse-mode differentiation does not work for the while_loop{where()}: it keeps no values of its steps, "
        "because their number is not known before. Give max_steps, or use scan, or fori_loop with bounds that are "
        "numbers, or differentiate it forward, with jvp or jacfwd.",
        primitive="while",
        kind="transpose",
        package="calque_autodiff",
    )
