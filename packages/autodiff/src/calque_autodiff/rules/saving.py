"""Cutting a program at the results that a policy saves.

One idea: a policy makes two programs of one.  `forward` gives the results and, beside them, every intermediate one that
the policy would save; `again` gives the same results from the arguments and the saved ones.  Removing dead code from
both leaves what has to be computed again, and of what is saved only what that needs.

A policy sees into programs inside: `jit`, `cond` and `scan` are cut themselves, by their rules of the kind "save",
`rule(eqn, policy) -> Part`.  To it, a checkpoint inside is one operation.  Read next: `rules/checkpoint.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_autodiff.checkpoint_policies import Policy, policy_name, refuses
from calque_autodiff.rules.cond import Slots, remembered
from calque_autodiff.rules.scan import stacked_aval
from calque_core import Atom, Jaxpr, JaxprEqn, Var, eval_jaxpr, stage
from calque_core import rules as rule_table
from calque_core.frames.source import where
from calque_core.lax import cond_p, jit_p, name_p, scan_p
from calque_core.primitives.rules import settings_key

Value = Any

rule_table("save")


class Cut(NamedTuple):
    """A program cut by a policy: `forward` gives its results, then `saved`; `again` takes its arguments, then `saved`.

    A result of `again` is one of `saved` if the policy saves it.
    """

    forward: Jaxpr
    again: Jaxpr
    saved: Sequence[Var]

    def saved_results(self, otherwise: bool) -> list[bool]:
        """Tell which results are saved; of those that are merely passed on, say `otherwise`."""
        passed_on = (*self.again.invars, *self.again.constvars) if otherwise else ()
        found = {*self.saved, *passed_on}
        return [v in found for v in self.again.outvars]


class Part(NamedTuple):
    """An equation cut by a policy: one that also gives what is saved, and one, if any, that computes the rest again.

    `same` says which variables are equal to saved ones.
    """

    forward: JaxprEqn
    again: JaxprEqn | None
    saved: Sequence[Var] = ()
    same: dict[Any, Var] = {}  # noqa: RUF012 - nobody writes to it


def cut_jaxpr(jaxpr: Jaxpr, policy: Policy) -> Cut:
    """Return a program cut at the results that `policy(primitive, *avals, **params)` says to save."""
    return jaxpr.memo(("save", policy, *settings_key()), lambda: _cut(jaxpr, policy))  # type: ignore[no-any-return]


def _cut(jaxpr: Jaxpr, policy: Policy) -> Cut:
    names = [eqn for eqn in jaxpr.eqns if eqn.primitive is name_p]
    refused = {eqn.invars[0] for eqn in names if refuses(policy, eqn.params["name"])}
    parts = [Part(eqn, eqn) if refused.intersection(eqn.outvars) else _part(eqn, policy) for eqn in jaxpr.eqns]
    saved = [v for part in parts for v in part.saved]
    same: dict[Any, Atom] = {v: s for part in parts for v, s in part.same.items()}
    taken = set(saved)
    again = [_reading(part.again, taken, same) for part in parts if part.again is not None]
    return Cut(
        jaxpr.replace(eqns=[part.forward for part in parts], outvars=[*jaxpr.outvars, *saved]),
        jaxpr.replace(invars=[*jaxpr.invars, *saved], eqns=again, outvars=[same.get(v, v) for v in jaxpr.outvars]),
        saved,
    )


def _reading(eqn: JaxprEqn, saved: set[Var], same: dict[Any, Atom]) -> JaxprEqn:
    """Return an equation that reads what is saved, and defines none of it."""
    outvars = [Var(v.aval) if v in saved else v for v in eqn.outvars]
    return eqn.replace(invars=[same.get(v, v) for v in eqn.invars], outvars=outvars)


def _part(eqn: JaxprEqn, policy: Policy) -> Part:
    """Cut one equation.  What has an effect is saved: it happens once."""
    rule = eqn.primitive.adapted.get("save")
    if rule is not None:
        return rule(eqn, policy)  # type: ignore[no-any-return]
    if not eqn.effects and not is_saved(eqn, policy):
        return Part(eqn, eqn)
    same = {eqn.invars[0]: eqn.outvars[0]} if eqn.primitive is name_p else {}
    return Part(eqn, None, eqn.outvars, same)


def is_saved(eqn: JaxprEqn, policy: Policy) -> bool:
    """Ask the policy about an equation.

    Raises: TypeError if the answer is not a bool.
    """
    answer = policy(eqn.primitive, *(v.aval for v in eqn.invars), **eqn.params)
    if not isinstance(answer, (bool, np.bool_)):
        raise TypeError(
            f"the checkpoint policy {policy_name(policy)} returned {answer!r} for '{eqn.primitive.name}'{where()}. "
            "Let it return True to save the results of an operation, False to compute them again."
        )
    return bool(answer)


# Programs inside


@jit_p.def_rule("save")
def jit_save(eqn: JaxprEqn, policy: Policy) -> Part:
    """Cut the program inside; what it saves are further results."""
    cut = cut_jaxpr(eqn.params["jaxpr"], policy)
    saved = [Var(v.aval) for v in cut.saved]
    inner = dict(zip(cut.saved, saved))
    same = {v: inner[x] for v, x in zip(eqn.outvars, cut.again.outvars) if x in inner}
    return _joined(eqn, {"jaxpr": cut.forward}, {"jaxpr": cut.again}, saved, same)


@scan_p.def_rule("save")
def scan_save(eqn: JaxprEqn, policy: Policy) -> Part:
    """Cut the body; what it saves is stacked.  The last carry is saved if what gives it is."""
    cut = cut_jaxpr(eqn.params["jaxpr"], policy)
    num_carry, by_policy = eqn.params["num_carry"], is_saved(eqn, policy)
    rows = {v: Var(stacked_aval(v.aval, eqn.params["length"])) for v in cut.saved}
    same = {v: rows[x] for v, x in list(zip(eqn.outvars, cut.again.outvars))[num_carry:] if x in rows}
    whole = [v for v, s in zip(eqn.outvars, cut.saved_results(by_policy)) if s and v not in same]
    part = _joined(eqn, {"jaxpr": cut.forward}, {"jaxpr": cut.again}, list(rows.values()), same)
    return part._replace(saved=[*part.saved, *whole])


@cond_p.def_rule("save")
def cond_save(eqn: JaxprEqn, policy: Policy) -> Part:
    """Cut the branches; what they save goes through slots.  A result is saved if every branch saves it."""
    branches: tuple[Jaxpr, ...] = eqn.params["branches"]
    by_policy = is_saved(eqn, policy)
    cuts = [cut_jaxpr(branch, policy) for branch in branches]
    forward, again, avals = remembered(branches, ("save", policy), lambda: _cut_branches(branches, cuts))
    part = _joined(eqn, {"branches": forward}, {"branches": again}, [Var(aval) for aval in avals], {})
    masks = zip(*(cut.saved_results(by_policy) for cut in cuts))
    whole = [v for v, marks in zip(eqn.outvars, masks) if all(marks)]
    return part._replace(saved=[*part.saved, *whole])


def _joined(
    eqn: JaxprEqn, forward: dict[str, Any], again: dict[str, Any], saved: Sequence[Var], same: dict[Any, Var]
) -> Part:
    """Return the cut of an equation whose programs have been cut."""
    if not saved:
        return Part(eqn, eqn)
    return Part(
        eqn.replace(outvars=[*eqn.outvars, *saved], params=eqn.params | forward),
        eqn.replace(invars=[*eqn.invars, *saved], params=eqn.params | again),
        saved,
        same,
    )


def _cut_branches(
    branches: Sequence[Jaxpr], cuts: Sequence[Cut]
) -> tuple[tuple[Jaxpr, ...], tuple[Jaxpr, ...], list[Any]]:
    """Return the branches that save, those that compute again, and the types of the slots between them."""
    slots = Slots()
    places = [slots.places([v.aval for v in cut.saved]) for cut in cuts]
    return (
        tuple(_saving_branch(cut, len(b.outvars), slots, own) for b, cut, own in zip(branches, cuts, places)),
        tuple(_reading_branch(cut, len(b.invars), slots, own) for b, cut, own in zip(branches, cuts, places)),
        slots.avals,
    )


def _saving_branch(cut: Cut, num_outs: int, slots: Slots, places: Sequence[int]) -> Jaxpr:
    def saving(*operands: Value) -> list[Value]:
        outs = eval_jaxpr(cut.forward, cut.forward.consts, *operands)
        return [*outs[:num_outs], *slots.filled(places, outs[num_outs:])]

    return stage(saving, cut.forward.in_avals, verb="checkpoint")


def _reading_branch(cut: Cut, num_operands: int, slots: Slots, places: Sequence[int]) -> Jaxpr:
    def reading(*args: Value) -> list[Value]:
        operands, filled = args[:num_operands], args[num_operands:]
        return eval_jaxpr(cut.again, cut.again.consts, *operands, *(filled[i] for i in places))

    return stage(reading, [*cut.again.in_avals[:num_operands], *slots.avals], verb="checkpoint")
