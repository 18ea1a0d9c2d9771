"""The Taylor rule of `while`: a loop that carries values and coefficients; its condition takes values alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr, Var
from calque_core.engine import consts_first, marked_carries, split_while
from calque_core.lax import while_p
from calque_jet.jaxprs import Mask, fill_zeros, jet_jaxpr, masks_of, nonzeros, with_zeros
from calque_jet.rules.calls.scan import whole
from calque_jet.series import Series

Value = Any


@while_p.def_rule("jet")
def while_jet(
    primals: Sequence[Value],
    series: Sequence[Series],
    *,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    **params: Any,
) -> tuple[list[Value], list[Series]]:
    """Run one loop that carries the values, and the coefficients of a value that has some at any step."""
    cond_consts, body_consts, carry = split_while(primals, cond_nconsts, body_nconsts)
    _, const_series, carry_series = split_while(series, cond_nconsts, body_nconsts)
    expanded, carry_masks = jet_body(body_jaxpr, masks_of(const_series), masks_of(carry_series), len(series[0]))
    results = while_p.bind(
        *cond_consts,
        *body_consts,
        *nonzeros(const_series),
        *carry,
        *nonzeros([fill_zeros(x, s, mask) for x, s, mask in zip(carry, carry_series, carry_masks)]),
        body_jaxpr=expanded.memo(("while", body_nconsts), lambda: consts_first(expanded, body_nconsts, len(carry))),
        body_nconsts=body_nconsts + len(nonzeros(const_series)),
        cond_jaxpr=cond_jaxpr.memo(
            ("ignoring series", tuple(carry_masks)), lambda: ignoring_series(cond_jaxpr, cond_nconsts, carry_masks)
        ),
        cond_nconsts=cond_nconsts,
        **params,
    )
    return results[: len(carry)], with_zeros(results[len(carry) :], carry_masks)


def jet_body(
    body_jaxpr: Jaxpr, const_masks: list[Mask], start_masks: list[Mask], order: int
) -> tuple[Jaxpr, list[Mask]]:
    """Return the body of values and coefficients, and the masks of the coefficients that it carries."""

    def reached(marks: Sequence[bool]) -> list[bool]:
        return [any(mask) for mask in jet_jaxpr(body_jaxpr, [*const_masks, *whole(marks, order)])[1]]

    carry_masks = whole(marked_carries([any(mask) for mask in start_masks], reached), order)
    return jet_jaxpr(body_jaxpr, [*const_masks, *carry_masks], instantiate=carry_masks)[0], carry_masks


def ignoring_series(cond_jaxpr: Jaxpr, num_consts: int, masks: Sequence[Mask]) -> Jaxpr:
    """Return the condition as one that also takes the coefficients in `masks` of the carry, and ignores them."""
    carry = cond_jaxpr.invars[num_consts:]
    ignored = [Var(v.aval.to_tangent_aval()) for v, mask in zip(carry, masks) for m in mask if m]
    return cond_jaxpr.replace(invars=[*cond_jaxpr.invars, *ignored])
