"""The derivatives of `cond`: each is a `cond` on the same index, of the derivatives of the branches.

One idea: the branches of one equation have the same operands and results, but their derivatives may differ.  So masks
of nonzero tangents are joined over the branches, and residuals go through slots: values of equal type share one, and a
branch that does not fill a slot puts zeros there.  If the index is a number, only its branch is differentiated.

Read next: `jit.py`, the same rules without the joining.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from calque_autodiff.programs.jaxprs import jvp_jaxpr
from calque_autodiff.programs.partial_eval import Place, at_places, by_place, partial_eval_jaxpr, without_repeats
from calque_autodiff.programs.transpose import is_linear, transpose_jaxpr
from calque_autodiff.programs.zeros import with_zeros
from calque_autodiff.traces.tangent_trace import record
from calque_core import Jaxpr, Primitive, Var
from calque_core.engine import chosen_branches
from calque_core.extend import check_known, is_nonzero, marked, merged, settings_key, split_results, unmarked
from calque_core.lax import cond_p

Value = Any
Branches = tuple[Jaxpr, ...]


def any_of(masks: Sequence[Sequence[bool]]) -> list[bool]:
    """Return the union of masks."""
    return [any(marks) for marks in zip(*masks)]


def memo_branches(branches: Branches, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return `make()`, computed once per branches and key; the first branch holds the memo."""
    if not all(branch.is_closed for branch in branches):
        return make()
    return branches[0].memo(("cond", key, branches[1:], *settings_key()), make)


class Choice(NamedTuple):
    """An equation without its branches: its primitive, the index if it has one, and the other parameters."""

    primitive: Primitive
    deciding: tuple[Value, ...]
    params: dict[str, Any]

    def bind(self, operands: Sequence[Value], branches: Branches) -> list[Value]:
        """Return the results of the chosen branch."""
        return self.primitive.bind(*self.deciding, *operands, branches=branches, **self.params)  # type: ignore[no-any-return]

    def record(self, operands: Sequence[Value], branches: Branches) -> list[Value]:
        """Record the choice in the program of the tangents."""
        return record(self.primitive, [*self.deciding, *operands], {"branches": branches, **self.params})


# Forwards


@cond_p.def_rule("jvp")
def cond_jvp(
    primals: Sequence[Value], tangents: Sequence[Value], *, branches: Branches, batched: str
) -> tuple[list[Value], list[Value]]:
    index, branches = chosen_branches(primals[0], branches)
    return branches_jvp(Choice(cond_p, (index,), {"batched": batched}), primals[1:], tangents[1:], branches)


def branches_jvp(
    choice: Choice, primals: Sequence[Value], tangents: Sequence[Value], branches: Branches
) -> tuple[list[Value], list[Value]]:
    """Each branch computes its results, and the tangents that are not zero in some branch."""
    nonzeros = is_nonzero(tangents)
    out_mask = any_of([jvp_jaxpr(branch, nonzeros)[1] for branch in branches])
    duals = tuple(jvp_jaxpr(branch, nonzeros, instantiate=out_mask)[0] for branch in branches)
    return split_results(choice.bind([*primals, *marked(tangents, nonzeros)], duals), out_mask)


# Residuals


class Slots:
    """Places for the residuals of any branch, by type: a branch uses each place once; the branches share places."""

    def __init__(self) -> None:
        self.avals: list[Any] = []
        self.by_type: dict[Any, list[int]] = {}

    def places(self, avals: Sequence[Any]) -> list[int]:
        """Return a place for a value of each type; a new one if the places of other branches are too few."""
        slots, used = [], Counter[Any]()
        for aval in (a.strip_weak_type() for a in avals):
            places = self.by_type.setdefault(aval, [])
            if used[aval] == len(places):
                places.append(len(self.avals))
                self.avals.append(aval)
            slots.append(places[used[aval]])
            used[aval] += 1
        return slots

    def filling(self, branch: Jaxpr, num_outs: int, places: Sequence[int]) -> Jaxpr:
        """Return a branch with its results after the first `num_outs` in the slots at `places`, and zeros elsewhere."""
        filled = dict(zip(places, branch.outvars[num_outs:]))
        unused = [aval for i, aval in enumerate(self.avals) if i not in filled]
        return with_zeros(branch, [*branch.outvars[:num_outs], *map(filled.get, range(len(self.avals)))], unused)

    def reading(self, branch: Jaxpr, num_operands: int, places: Sequence[int]) -> Jaxpr:
        """Return a branch of its first `num_operands` operands, then all slots; it uses the slots at `places`."""
        filled = dict(zip(places, branch.invars[num_operands:]))
        slots = [filled[i] if i in filled else Var(aval) for i, aval in enumerate(self.avals)]
        return branch.replace(invars=[*branch.invars[:num_operands], *slots])


# Partial evaluation


class SplitCond(NamedTuple):
    """Branches cut into known and unknown halves, and joined.

    `known` takes the known operands and returns the results known in all branches, then the slots; `unknown` takes
    residuals and the unknown operands and returns the unknown results.  `known_outs` marks the known results; `places`
    holds the place of each residual: ("in", i) among the known operands, ("out", i) among the results of `known`.
    """

    known: Branches
    unknown: Branches
    known_outs: list[bool]
    places: list[Place]


@cond_p.def_rule("partial_eval")
def cond_partial_eval(
    known_mask: Sequence[bool], index: Value, *operands: Value, branches: Branches, batched: str
) -> list[Value]:
    """Nothing is known under an unknown index."""
    params = {"batched": batched}
    if not known_mask[0]:
        return Choice(cond_p, (index,), params).record(operands, branches)
    index, branches = chosen_branches(index, branches)
    return branches_partial_eval(Choice(cond_p, (index,), params), tuple(known_mask[1:]), operands, branches)


def branches_partial_eval(
    choice: Choice, mask: tuple[bool, ...], operands: Sequence[Value], branches: Branches
) -> list[Value]:
    """Run the known half of the branch now; record the unknown half."""
    split = memo_branches(branches, ("partial_eval", mask), lambda: split_branches(branches, mask))
    known_operands = marked(operands, mask)
    is_needed = any(branch.outvars or branch.effects for branch in split.known)
    results = choice.bind(known_operands, split.known) if is_needed else []
    residuals = at_places(split.places, known_operands, results)
    recorded = choice.record([*residuals, *unmarked(operands, mask)], split.unknown)
    return merged(split.known_outs, results, recorded)


def split_branches(branches: Branches, mask: tuple[bool, ...]) -> SplitCond:
    """Split every branch; all known halves return, and all unknown halves take, the same residuals.

    A result that is known in some branches only becomes a residual of these branches.
    """
    splits = [partial_eval_jaxpr(branch, mask) for branch in branches]
    known_outs = [all(marks) for marks in zip(*(split.known_outs for split in splits))]
    splits, num_known = [split.restricted(known_outs) for split in splits], sum(known_outs)
    halves = [without_repeats(split.known, num_known) for split in splits]
    slots = Slots()
    filled = [slots.places(known.out_avals[num_known:]) for known, _ in halves]
    places = [_in_slots(own, num_known, slot) for (_, own), slot in zip(halves, filled)]
    joined = list(dict.fromkeys(place for own in places for place in own))
    known = tuple(slots.filling(half, num_known, slot) for (half, _), slot in zip(halves, filled))
    known_avals = {"in": known[0].in_avals, "out": known[0].out_avals}
    avals = [known_avals[kind][i] for kind, i in joined]
    unknown = tuple(unknown_branch(split.unknown, joined, own, avals) for split, own in zip(splits, places))
    return SplitCond(known, unknown, known_outs, joined)


def _in_slots(places: Sequence[Place], num_known: int, slots: Sequence[int]) -> list[Place]:
    """Return the places of residuals, where a residual that is no operand and no result is in its slot."""
    is_slot = [kind == "out" and i >= num_known for kind, i in places]
    return [("out", num_known + slots[p[1] - num_known]) if s else p for p, s in zip(places, is_slot)]


def unknown_branch(half: Jaxpr, joined: Sequence[Place], places: Sequence[Place], avals: Sequence[Any]) -> Jaxpr:
    """Return the unknown half of a branch, with residuals at `places`, as a program of all branches' residuals."""
    branch, variables = by_place(half, places)
    residuals = [variables[place] if place in variables else Var(aval) for place, aval in zip(joined, avals)]
    return branch.replace(invars=[*residuals, *half.invars[len(places) :]])


# Backwards


@cond_p.def_rule("transpose")
def cond_transpose(
    cts: Sequence[Value], index: Value, *operands: Value, branches: Branches, batched: str
) -> list[Value]:
    check_known(cond_p, index)
    index, branches = chosen_branches(index, branches)
    return [None, *branches_transpose(Choice(cond_p, (index,), {"batched": batched}), cts, operands, branches)]


def branches_transpose(
    choice: Choice, cts: Sequence[Value], operands: Sequence[Value], branches: Branches
) -> list[Value]:
    """Each branch returns the cotangents that are not zero in some branch."""
    mask, ct_mask = is_linear(operands), is_nonzero(cts)
    nonzero = any_of([transpose_jaxpr(branch, mask, ct_mask)[1] for branch in branches])
    transposed = tuple(transpose_jaxpr(branch, mask, ct_mask, instantiate=nonzero)[0] for branch in branches)
    bars = choice.bind([*unmarked(operands, mask), *marked(cts, ct_mask)], transposed)
    return merged(mask, merged(nonzero, bars))
