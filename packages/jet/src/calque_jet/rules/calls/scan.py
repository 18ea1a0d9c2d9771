"""The Taylor rule of `scan`: a loop that carries values and their coefficients.

One idea: the step is expanded again until it gives a series to no further carry.  A carry with a series carries all its
coefficients, so that few repetitions are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr
from calque_core.engine import Loop, marked_carries
from calque_core.lax import scan_p
from calque_jet.jaxprs import Mask, fill_zeros, jet_jaxpr, masks_of, nonzeros, with_zeros
from calque_jet.series import Series

Value = Any


@scan_p.def_rule("jet")
def scan_jet(
    primals: Sequence[Value], series: Sequence[Series], *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **params: Any
) -> tuple[list[Value], list[Series]]:
    """Run one loop that carries the values, and the coefficients of a value that has some at any step."""
    loop = Loop(jaxpr, num_consts, num_carry)
    masks = masks_of(series)
    expanded, carry_masks, ys_masks = loop.memo(("jet", tuple(masks)), lambda: jet_loop(loop, masks))
    (consts, carry, xs), (const_series, carry_series, xs_series) = loop.thirds(primals), loop.thirds(series)
    started = [fill_zeros(x, s, mask) for x, s, mask in zip(carry, carry_series, carry_masks)]
    operands = [*consts, *nonzeros(const_series), *carry, *nonzeros(started), *xs, *nonzeros(xs_series)]
    results = scan_p.bind(*operands, **expanded.params(params))
    num_ys, num_carried = len(ys_masks), sum(map(sum, carry_masks))
    outs = results[:num_carry] + results[num_carry + num_carried :][:num_ys]
    coefficients = results[num_carry:][:num_carried] + results[num_carry + num_carried + num_ys :]
    return outs, with_zeros(coefficients, [*carry_masks, *ys_masks])


def whole(marks: Sequence[bool], order: int) -> list[Mask]:
    """Return masks of all coefficients or none."""
    return [(mark,) * order for mark in marks]


def jet_loop(loop: Loop, masks: Sequence[Mask]) -> tuple[Loop, list[Mask], list[Mask]]:
    """Return the loop over values and coefficients, the masks of the carry, and the masks of the ys."""
    jaxpr, num_carry, order = loop.jaxpr, loop.num_carry, len(masks[0])
    const_masks, start_masks, xs_masks = loop.thirds(masks)

    def reached(marks: Sequence[bool]) -> list[bool]:
        out_masks = jet_jaxpr(jaxpr, [*const_masks, *whole(marks, order), *xs_masks])[1]
        return [any(mask) for mask in out_masks[:num_carry]]

    carry_masks = whole(marked_carries([any(mask) for mask in start_masks], reached), order)
    required = [*carry_masks, *[(False,) * order] * (len(jaxpr.outvars) - num_carry)]
    expanded, out_masks = jet_jaxpr(jaxpr, [*const_masks, *carry_masks, *xs_masks], instantiate=required)
    num_consts, num_carried = sum(map(sum, const_masks)), sum(map(sum, carry_masks))
    ordered = carry_together(expanded, loop, num_consts, num_carried)
    return Loop(ordered, loop.num_consts + num_consts, num_carry + num_carried), carry_masks, out_masks[num_carry:]


def carry_together(expanded: Jaxpr, loop: Loop, num_consts: int, num_carried: int) -> Jaxpr:
    """Return a body of values, then coefficients, with the coefficients of each third after its values."""
    num_args, num_outs, num_carry = len(loop.jaxpr.invars), len(loop.jaxpr.outvars), loop.num_carry
    values = loop.thirds(expanded.invars[:num_args])
    coefficients = Loop(expanded, num_consts, num_carried).thirds(expanded.invars[num_args:])
    outs, out_coefficients = expanded.outvars[:num_outs], expanded.outvars[num_outs:]
    return expanded.replace(
        invars=[v for pair in zip(values, coefficients) for third in pair for v in third],
        outvars=[
            *outs[:num_carry], *out_coefficients[:num_carried], *outs[num_carry:], *out_coefficients[num_carried:]
        ],
    )  # fmt: skip
