"""The derivatives of `scan`: loops over the derivatives of its body.

One idea: which carries have a tangent, are known, or have a cotangent, is computed by repeating a step until the mask
no longer changes; then the body is derived once, for that mask.  One loop runs forwards and keeps residuals, a second
uses them: `loops.py` cuts a body so.

Read next: `while_loop.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.programs.jaxprs import jvp_jaxpr
from calque_autodiff.programs.partial_eval import partial_eval_jaxpr
from calque_autodiff.programs.transpose import is_linear, transpose_jaxpr
from calque_autodiff.rules.calls.loops import FirstLoop, first_loop, second_loop
from calque_autodiff.traces.tangent_trace import record
from calque_core import Jaxpr, add_tangents, instantiate_zeros, stage
from calque_core.engine import Loop, Mask, ScanOptions, marked_carries, zeros_of
from calque_core.extend import is_nonzero, marked, merged, split_results, unmarked
from calque_core.lax import scan_p

Value = Any


# Forwards


@scan_p.def_rule("jvp")
def scan_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, jaxpr: Jaxpr, num_consts: int, num_carry: int, **how: Any
) -> tuple[list[Value], list[Value]]:
    """One loop carries the values, and a tangent for each value that has one at some step."""
    loop = Loop(jaxpr, num_consts, num_carry)
    nonzeros = is_nonzero(tangents)
    dual, carry_mask, ys_mask = loop.memo(("jvp", tuple(nonzeros)), lambda: jvp_loop(loop, nonzeros))
    const_mask, _, xs_mask = loop.thirds(nonzeros)
    (consts, carry, xs), (const_dots, carry_dots, xs_dots) = loop.thirds(primals), loop.thirds(tangents)
    perturbed = [instantiate_zeros(t) for t in marked(carry_dots, carry_mask)]
    operands = [*consts, *marked(const_dots, const_mask), *carry, *perturbed, *xs, *marked(xs_dots, xs_mask)]
    results = scan_p.bind(*operands, **dual.params(how))
    num_ys, num_dots = len(ys_mask), sum(carry_mask)
    outs = results[:num_carry] + results[num_carry + num_dots :][:num_ys]
    out_dots = results[num_carry:][:num_dots] + results[num_carry + num_dots + num_ys :]
    return split_results([*outs, *out_dots], [*carry_mask, *ys_mask])


def jvp_loop(loop: Loop, nonzeros: Mask) -> tuple[Loop, Mask, Mask]:
    """Return the loop over values and tangents, a mask of the carries with a tangent, and one of the results."""
    jaxpr, num_carry = loop.jaxpr, loop.num_carry
    const_mask, carry_mask, xs_mask = loop.thirds(nonzeros)
    carry_mask = marked_carries(carry_mask, lambda m: jvp_jaxpr(jaxpr, [*const_mask, *m, *xs_mask])[1][:num_carry])
    required = [*carry_mask, *[False] * (len(jaxpr.outvars) - num_carry)]
    dual, out_mask = jvp_jaxpr(jaxpr, [*const_mask, *carry_mask, *xs_mask], instantiate=required)
    consts, carry, xs = loop.thirds(dual.invars[: len(jaxpr.invars)])
    num_const_dots, num_dots = sum(const_mask), sum(carry_mask)
    const_dots, carry_dots, xs_dots = Loop(dual, num_const_dots, num_dots).thirds(dual.invars[len(jaxpr.invars) :])
    num_outs = len(jaxpr.outvars)
    outs, dots = dual.outvars[:num_outs], dual.outvars[num_outs:]
    ordered = dual.replace(
        invars=[*consts, *const_dots, *carry, *carry_dots, *xs, *xs_dots],
        outvars=[*outs[:num_carry], *dots[:num_dots], *outs[num_carry:], *dots[num_dots:]],
    )
    return Loop(ordered, loop.num_consts + num_const_dots, num_carry + num_dots), carry_mask, out_mask[num_carry:]


# Partial evaluation


class SplitScan(NamedTuple):
    """A scan cut in two: `known` marks the operands of the first loop, and `known_outs` its results."""

    first: FirstLoop
    second: Loop
    known: Mask
    known_outs: Mask


@scan_p.def_rule("partial_eval")
def scan_partial_eval(
    known_mask: Sequence[bool], *operands: Value, jaxpr: Jaxpr, num_consts: int, num_carry: int, **how: Any
) -> list[Value]:
    """Run the loop over the known values now; record one loop over the residuals and the unknown operands."""
    split = split_loop(Loop(jaxpr, num_consts, num_carry), known_mask, how["length"])
    results, second_operands = run_first_loop(split, operands, how)
    return merged(split.known_outs, results, record(scan_p, second_operands, split.second.params(how)))


def run_first_loop(split: SplitScan, operands: Sequence[Value], how: ScanOptions) -> tuple[list[Value], list[Value]]:
    """Return the known results, and the operands of the second loop."""
    results, fixed, stacked = split.first.run(marked(operands, split.known), how)
    unknown = unmarked(operands, split.known)
    num_own = split.second.num_consts - len(fixed) + split.second.num_carry
    return results, [*fixed, *unknown[:num_own], *stacked, *unknown[num_own:]]


def split_loop(loop: Loop, known_mask: Sequence[bool], length: int) -> SplitScan:
    """Return the loop cut in two; a carry is known if it is known at every step."""
    key = ("split", tuple(known_mask), bool(length))
    return loop.memo(key, lambda: _split_loop(loop, list(known_mask), length))  # type: ignore[no-any-return]


def known_operands(loop: Loop, known_mask: Mask) -> Mask:
    """Return a mask of the operands that are known at every step."""
    consts, carry, xs = loop.thirds(known_mask)

    def unknown_after(unknown: Mask) -> Mask:
        split = partial_eval_jaxpr(loop.jaxpr, [*consts, *(not u for u in unknown), *xs])
        return [not k for k in split.known_outs[: loop.num_carry]]

    return [*consts, *(not u for u in marked_carries([not k for k in carry], unknown_after)), *xs]


def _split_loop(loop: Loop, known_mask: Mask, length: int) -> SplitScan:
    known = known_operands(loop, known_mask)
    const_mask, carry_mask, _ = loop.thirds(known)
    split = partial_eval_jaxpr(loop.jaxpr, known)
    # A step may make a known value of an unknown carry: the second loop has such a carry, and gets it as a residual.
    split = split.restricted(
        [a and b for a, b in zip(split.known_outs, [*carry_mask, *[True] * len(split.known_outs)])]
    )
    first = first_loop(Loop(split.known, sum(const_mask), sum(carry_mask)), sum(split.known_outs), length)
    second = second_loop(first, split.unknown, const_mask.count(False), carry_mask.count(False))
    return SplitScan(first, second, known, split.known_outs)


# Backwards


class TransposedScan(NamedTuple):
    """The loop that runs backwards, and masks of the constants, carries and inputs whose cotangents it returns."""

    loop: Loop
    const_mask: Mask
    carry_mask: Mask
    xs_mask: Mask


@scan_p.def_rule("transpose")
def scan_transpose(
    cts: Sequence[Value], *operands: Value, jaxpr: Jaxpr, num_consts: int, num_carry: int, **how: Any
) -> list[Value]:
    """Run the known half; then run backwards: carry the carry's cotangents, and sum the constants' cotangents."""
    loop = Loop(jaxpr, num_consts, num_carry)
    linear = is_linear(operands)
    is_known = [not m for m in linear]
    known = known_operands(loop, is_known) if any(loop.thirds(is_known)[1]) else is_known
    if not any(loop.thirds(known)[1]):
        return transpose_linear_loop(loop, cts, operands, how)
    split = split_loop(loop, is_known, how["length"])
    _, second_operands = run_first_loop(split, operands, how)
    second_bars = transpose_linear_loop(split.second, unmarked(cts, split.known_outs), second_operands, how)
    return merged(linear, marked(second_bars, is_linear(second_operands)))


def transpose_linear_loop(loop: Loop, cts: Sequence[Value], operands: Sequence[Value], how: ScanOptions) -> list[Value]:
    """Return the cotangents of the operands of a loop that is linear in all its carries; a first carry may be known."""
    linear, ct_mask = is_linear(operands), is_nonzero(cts)
    key = ("transpose", tuple(linear), tuple(ct_mask))
    transposed: TransposedScan = loop.memo(key, lambda: transpose_loop(loop, linear, ct_mask))
    consts, _, xs = loop.thirds(operands)
    const_linear, carry_linear, xs_linear = loop.thirds(linear)
    sums = [zeros_of(x.aval) for x in marked(marked(consts, const_linear), transposed.const_mask)]
    ct_carry = [instantiate_zeros(ct) for ct in marked(cts[: loop.num_carry], transposed.carry_mask)]
    ct_ys = marked(cts[loop.num_carry :], ct_mask[loop.num_carry :])
    known_consts, known_xs = unmarked(consts, const_linear), unmarked(xs, xs_linear)
    params = transposed.loop.params(how | {"reverse": not how["reverse"]})
    results = iter(scan_p.bind(*known_consts, *sums, *ct_carry, *known_xs, *ct_ys, **params))
    const_bars, carry_bars, xs_bars = (
        merged(mask, results) for mask in (transposed.const_mask, transposed.carry_mask, transposed.xs_mask)
    )
    return merged(linear, [*const_bars, *marked(carry_bars, carry_linear), *xs_bars])


def transpose_loop(loop: Loop, linear: Mask, ct_mask: Mask) -> TransposedScan:
    """Transpose the body for carries with a cotangent at some step; sum the cotangents of constants in the carry."""
    const_linear, _, xs_linear = loop.thirds(linear)
    num_consts, num_carry = sum(const_linear), loop.num_carry
    mask = [*const_linear, *[True] * num_carry, *xs_linear]
    thirds = Loop(loop.jaxpr, num_consts, num_carry).thirds
    carry_mask = marked_carries(
        ct_mask[:num_carry], lambda m: thirds(transpose_jaxpr(loop.jaxpr, mask, [*m, *ct_mask[num_carry:]])[1])[1]
    )
    ct_ys = ct_mask[num_carry:]
    required = [*[False] * num_consts, *carry_mask, *[False] * sum(xs_linear)]
    transposed, nonzero = transpose_jaxpr(loop.jaxpr, mask, [*carry_mask, *ct_ys], instantiate=required)
    const_mask, _, xs_mask = thirds(nonzero)
    num_known = len(const_linear) - num_consts
    backward = summing(transposed, num_known, len(xs_linear) - sum(xs_linear), sum(const_mask), sum(carry_mask))
    return TransposedScan(backward, const_mask, carry_mask, xs_mask)


def summing(transposed: Jaxpr, num_consts: int, num_xs: int, num_sums: int, num_carry: int) -> Loop:
    """Return the loop over a transposed body, which takes constants, inputs, and cotangents of the carry and results.

    A carry of its own sums up the first `num_sums` results of the body: equations are added to the program.
    """
    consts, xs, carry, ct_ys = in_groups(transposed.invars, num_consts, num_xs, num_carry)
    shares, others = transposed.outvars[:num_sums], transposed.outvars[num_sums:]
    avals = [x.aval for x in shares]
    additions = stage(lambda *args: [*map(add_tangents, *in_groups(args, num_sums))], avals * 2, verb="transpose")
    sums, addends = in_groups(additions.invars, num_sums)
    by_addend = dict(zip(addends, shares))
    eqns = [eqn.replace(invars=[by_addend.get(x, x) for x in eqn.invars]) for eqn in additions.eqns]
    body = transposed.replace(
        invars=[*consts, *sums, *carry, *xs, *ct_ys],
        eqns=[*transposed.eqns, *eqns],
        outvars=[*additions.outvars, *others],
    )
    return Loop(body, num_consts, num_sums + num_carry)


def in_groups(items: Sequence[Any], *counts: int) -> list[list[Any]]:
    """Return one list of items for each count, in order, then a list of the remaining items."""
    remaining = iter(items)
    return [*([next(remaining) for _ in range(count)] for count in counts), list(remaining)]
