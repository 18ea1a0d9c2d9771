"""The derivatives of `cond`: each is a `cond` on the same index, of the derivatives of the branches.

One idea: the branches of one equation have the same operands and results, their derivatives need not.  So masks of what
is zero are joined over the branches, and residuals go through slots: values of equal type share one, and a branch that
does not fill a slot puts zeros there.  Where the index is a number, only the branch that it chooses is differentiated.

Read next: `call.py`, the same rules without the joining.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_autodiff.define import check_known
from calque_autodiff.jaxprs import Linearized, Split, is_zero, jvp_jaxpr, linearize_jaxpr, partial_eval_jaxpr
from calque_autodiff.tangent_trace import record
from calque_autodiff.transpose import transpose_jaxpr
from calque_core.avals import shaped_array
from calque_core.interpret import eval_jaxpr
from calque_core.jaxpr import Atom, Jaxpr
from calque_core.linear import UndefinedPrimal, Zero, instantiate_zeros, zero_tangent, zeros_of
from calque_core.ops.call import wrapped
from calque_core.ops.control_flow import chosen_branches, cond_p
from calque_core.rules import settings_key
from calque_core.stage import stage

Value = Any
Branches = tuple[Jaxpr, ...]


def any_of(masks: Sequence[Sequence[bool]]) -> list[bool]:
    """Return where at least one of several masks is set."""
    return [any(marks) for marks in zip(*masks)]


def remembered(branches: Branches, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return what `make()` gave for these branches and this key before; it is kept with the first branch."""
    if not all(branch.is_closed for branch in branches):
        return make()
    return branches[0].memo(("cond", key, branches[1:], *settings_key()), make)


# Forwards


@cond_p.def_rule("jvp")
def cond_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, branches: Branches, batched: str
) -> tuple[list[Value], list[Value]]:
    """Each branch computes its results and their tangents: those that are not zero in some branch."""
    index, branches = chosen_branches(primals[0], branches)
    nonzeros = [type(t) is not Zero for t in tangents[1:]]
    out_mask = any_of([jvp_jaxpr(branch, nonzeros)[1] for branch in branches])
    differentiated = tuple(jvp_jaxpr(branch, nonzeros, instantiate=out_mask)[0] for branch in branches)
    perturbed = [t for t in tangents[1:] if type(t) is not Zero]
    results = cond_p.bind(index, *primals[1:], *perturbed, branches=differentiated, batched=batched)
    outs, rest = results[: len(out_mask)], iter(results[len(out_mask) :])
    return outs, [next(rest) if m else zero_tangent(x) for x, m in zip(outs, out_mask)]


# Residuals


class Slots:
    """Places for the residuals of any branch, by type: a branch uses each place once, different branches share them."""

    def __init__(self) -> None:
        self.avals: list[Any] = []
        self.by_type: dict[Any, list[int]] = {}

    def places(self, avals: Sequence[Any]) -> list[int]:
        """Return a place for a value of each type; there are new ones where those of other branches do not do."""
        found, used = [], Counter[Any]()
        for aval in (a.strip_weak_type() for a in avals):
            places = self.by_type.setdefault(aval, [])
            if used[aval] == len(places):
                places.append(len(self.avals))
                self.avals.append(aval)
            found.append(places[used[aval]])
            used[aval] += 1
        return found

    def filled(self, places: Sequence[int], values: Sequence[Value]) -> list[Value]:
        """Return one value per slot: those given at their places, zeros elsewhere."""
        given = dict(zip(places, values))
        return [given[i] if i in given else zeros_of(aval) for i, aval in enumerate(self.avals)]


# Linearization


class LinearizedCond(NamedTuple):
    """Branches cut in two, and joined.

    `known` takes the operands and gives the results, then the slots; `linear` is a program of one `cond` that takes
    the index, residuals and tangents.  `sources` says where each residual is found: ("in", i) among the operands,
    ("out", i) among the results of `known`.
    """

    known: Branches
    linear: Jaxpr
    sources: list[tuple[str, int]]


@cond_p.def_rule("linearize")
def cond_linearize(
    nonzeros: Sequence[bool], index: Value, *operands: Value, branches: Branches, batched: str
) -> tuple[list[Value], list[Value], Jaxpr]:
    """One `cond` computes the results and the residuals of the branch that runs; the linear program is another."""
    index, branches = chosen_branches(index, branches)
    mask = tuple(nonzeros[1:])
    parts = remembered(branches, ("linearize", mask, batched), lambda: linearize_branches(branches, mask, batched))
    results = cond_p.bind(index, *operands, branches=parts.known, batched=batched)
    residuals = [operands[i] if where == "in" else results[i] for where, i in parts.sources]
    return results[: len(branches[0].outvars)], [index, *residuals], parts.linear


def linearize_branches(branches: Branches, mask: tuple[bool, ...], batched: str) -> LinearizedCond:
    """Linearize every branch, and make them give and take the same residuals."""
    parts, num_outs = [linearize_jaxpr(branch, mask) for branch in branches], len(branches[0].outvars)
    slots = Slots()
    places = [slots.places(part.known.out_avals[num_outs:]) for part in parts]
    sources = [
        [
            (where, num_outs + own[i - num_outs]) if where == "out" and i >= num_outs else (where, i)
            for where, i in part.sources
        ]
        for part, own in zip(parts, places)
    ]
    joined = list(dict.fromkeys(source for own in sources for source in own))
    known = tuple(known_branch(part, num_outs, slots, own) for part, own in zip(parts, places))
    in_avals = [
        *(known[0].in_avals[i] if where == "in" else known[0].out_avals[i] for where, i in joined),
        *(aval.to_tangent_aval() for aval, m in zip(branches[0].in_avals, mask) if m),
    ]
    nonzero = any_of([[not is_zero(x) for x in part.linear.outvars] for part in parts])
    linear = tuple(linear_branch(part, joined, own, nonzero, in_avals) for part, own in zip(parts, sources))
    return LinearizedCond(known, linear_call(linear, nonzero, parts[0].linear.outvars, batched), joined)


def known_branch(part: Linearized, num_outs: int, slots: Slots, places: Sequence[int]) -> Jaxpr:
    """Return the known half of a branch with its residuals in their slots."""

    def known(*operands: Value) -> list[Value]:
        outs = eval_jaxpr(part.known, part.known.consts, *operands)
        return [*outs[:num_outs], *slots.filled(places, outs[num_outs:])]

    return stage(known, part.known.in_avals, verb="linearize")


def linear_branch(
    part: Linearized,
    joined: Sequence[tuple[str, int]],
    sources: Sequence[tuple[str, int]],
    nonzero: Sequence[bool],
    in_avals: Sequence[Any],
) -> Jaxpr:
    """Return the linear half of a branch as a program of the joined residuals; it gives the tangents in `nonzero`."""

    def linear(*args: Value) -> list[Value]:
        residuals, tangents = dict(zip(joined, args)), args[len(joined) :]
        outs = eval_jaxpr(part.linear, part.linear.consts, *(residuals[s] for s in sources), *tangents)
        return [instantiate_zeros(x) for x, n in zip(outs, nonzero) if n]

    return stage(linear, in_avals, verb="linearize")


def linear_call(branches: Branches, nonzero: Sequence[bool], outvars: Sequence[Atom], batched: str) -> Jaxpr:
    """Return a program of one `cond`; results that are zero in all branches are those of `outvars`, literal `Zero`s."""
    first = branches[0]
    in_avals = [shaped_array((), np.dtype("int32")), *first.in_avals]
    call = wrapped(first, cond_p, {"branches": branches, "batched": batched}, in_avals, first.out_avals)
    results = iter(call.outvars)
    return call.replace(outvars=[next(results) if n else x for x, n in zip(outvars, nonzero)])


# Partial evaluation


class SplitCond(NamedTuple):
    """Branches cut where knowledge ends, and joined.

    `known` takes the known operands and gives the results known in all branches, then the slots; `unknown` takes the
    slots and the unknown operands and gives the other results.  `known_outs` marks the former.
    """

    known: Branches
    unknown: Branches
    known_outs: list[bool]


@cond_p.def_rule("partial_eval")
def cond_partial_eval(
    known_mask: Sequence[bool], index: Value, *operands: Value, branches: Branches, batched: str
) -> list[Value]:
    """Run the known half of the branch now; make the rest one `cond`.  Nothing is known under an unknown index."""
    if not known_mask[0]:
        return record(cond_p, [index, *operands], {"branches": branches, "batched": batched})
    index, branches = chosen_branches(index, branches)
    mask = tuple(known_mask[1:])
    parts = remembered(branches, ("partial_eval", mask), lambda: split_branches(branches, mask))
    known_operands = [x for x, k in zip(operands, mask) if k]
    unknown_operands = [x for x, k in zip(operands, mask) if not k]
    is_needed = any(branch.outvars or branch.effects for branch in parts.known)
    results = cond_p.bind(index, *known_operands, branches=parts.known, batched=batched) if is_needed else []
    num_known = sum(parts.known_outs)
    others = record(
        cond_p, [index, *results[num_known:], *unknown_operands], {"branches": parts.unknown, "batched": batched}
    )
    known_results, unknown_results = iter(results[:num_known]), iter(others)
    return [next(known_results) if k else next(unknown_results) for k in parts.known_outs]


def split_branches(branches: Branches, mask: tuple[bool, ...]) -> SplitCond:
    """Split every branch; a result that is known in some branches only becomes a residual of those."""
    splits = [partial_eval_jaxpr(branch, mask) for branch in branches]
    known_outs = [all(marks) for marks in zip(*(split.known_outs for split in splits))]
    slots = Slots()
    places = [slots.places(residual_avals(split, known_outs)) for split in splits]
    return SplitCond(
        tuple(known_half(split, known_outs, slots, own) for split, own in zip(splits, places)),
        tuple(unknown_half(split, known_outs, slots, own) for split, own in zip(splits, places)),
        known_outs,
    )


def is_shared(split: Split, known_outs: Sequence[bool]) -> list[bool]:
    """Tell of each result of `split.known` whether it is a result in all branches; the others are residuals."""
    num_residuals = len(split.known.outvars) - sum(split.known_outs)
    return [everywhere for everywhere, here in zip(known_outs, split.known_outs) if here] + [False] * num_residuals


def residual_avals(split: Split, known_outs: Sequence[bool]) -> list[Any]:
    """Return the types of what the known half gives to the unknown half of its branch."""
    return [aval for aval, shared in zip(split.known.out_avals, is_shared(split, known_outs)) if not shared]


def known_half(split: Split, known_outs: Sequence[bool], slots: Slots, places: Sequence[int]) -> Jaxpr:
    """Return the known half of a branch: the results known in all branches, then the slots."""
    shared = is_shared(split, known_outs)

    def known(*operands: Value) -> list[Value]:
        outs = eval_jaxpr(split.known, split.known.consts, *operands)
        residuals = [x for x, s in zip(outs, shared) if not s]
        return [*(x for x, s in zip(outs, shared) if s), *slots.filled(places, residuals)]

    return stage(known, split.known.in_avals, verb="partial_eval")


def unknown_half(split: Split, known_outs: Sequence[bool], slots: Slots, places: Sequence[int]) -> Jaxpr:
    """Return the unknown half of a branch as a program of the slots and the unknown operands."""
    num_slots = len(slots.avals)
    num_forwarded = sum(here and not everywhere for here, everywhere in zip(split.known_outs, known_outs))

    def unknown(*args: Value) -> list[Value]:
        residuals = [args[i] for i in places]
        forwarded = iter(residuals[:num_forwarded])
        rest = iter(eval_jaxpr(split.unknown, split.unknown.consts, *residuals[num_forwarded:], *args[num_slots:]))
        found = [next(forwarded) if here else next(rest) for here, k in zip(split.known_outs, known_outs) if not k]
        return found

    operand_avals = split.unknown.in_avals[len(places) - num_forwarded :]
    return stage(unknown, [*slots.avals, *operand_avals], verb="partial_eval")


# Backwards


@cond_p.def_rule("transpose")
def cond_transpose(
    cts: Sequence[Value], index: Value, *operands: Value, branches: Branches, batched: str
) -> list[Value]:
    """Each branch gives the cotangents that are not zero in some branch."""
    check_known(cond_p, index)
    index, branches = chosen_branches(index, branches)
    mask = [type(x) is UndefinedPrimal for x in operands]
    ct_mask = [type(ct) is not Zero for ct in cts]
    nonzero = any_of([transpose_jaxpr(branch, mask, ct_mask)[1] for branch in branches])
    transposed = tuple(transpose_jaxpr(branch, mask, ct_mask, instantiate=nonzero)[0] for branch in branches)
    known = [x for x, m in zip(operands, mask) if not m]
    given = [ct for ct in cts if type(ct) is not Zero]
    results = iter(cond_p.bind(index, *known, *given, branches=transposed, batched=batched))
    found = iter([next(results) if n else None for n in nonzero])
    return [None, *(next(found) if m else None for m in mask)]
