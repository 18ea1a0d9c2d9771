"""Cutting a program at the results that a policy saves.

One idea: a policy makes two programs of one.  `forward` returns the results and every intermediate result that the
policy would save; `again` returns the same results from the arguments and the saved values.  Without dead code, `again`
computes only the values that are needed again, and `forward` saves only the values that `again` uses.

A policy applies to programs inside: `jit`, `cond` and `scan` are cut themselves, by their rules of the kind "save",
`rule(eqn, policy) -> CutEqn`.  A checkpoint inside is one operation to the policy.

Read next: `rules/calls/checkpoint.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.checkpoint_policies import Policy, nothing_saveable, refuses, saves
from calque_autodiff.rules.calls.cond import Slots, memo_branches
from calque_core import Atom, Jaxpr, JaxprEqn, Var
from calque_core import rules as rule_table
from calque_core.engine import with_leading_axis
from calque_core.extend import settings_key
from calque_core.lax import cond_p, custom_vjp_fwd_p, jit_p, name_p, platform_dependent_p, scan_p

rule_table("save")


class Cut(NamedTuple):
    """A program cut by a policy: `forward` gives its results, then `saved`; `again` takes its arguments, then `saved`.

    A result of `again` is one of `saved` if the policy saves it.
    """

    forward: Jaxpr
    again: Jaxpr
    saved: Sequence[Var]

    def saved_results(self, by_policy: bool) -> list[bool]:
        """Return a mask of the saved results; a result that is only passed on has the answer `by_policy`."""
        passed_on = (*self.again.invars, *self.again.constvars) if by_policy else ()
        saved = {*self.saved, *passed_on}
        return [v in saved for v in self.again.outvars]


class CutEqn(NamedTuple):
    """An equation cut by a policy: `forward` also returns the saved values; `again`, if any, computes its other values.

    `same` maps variables to the saved variables that equal them.
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
    is_refused = [not refused.isdisjoint(eqn.outvars) for eqn in jaxpr.eqns]
    cut_eqns = [_cut_eqn(eqn, nothing_saveable if r else policy) for eqn, r in zip(jaxpr.eqns, is_refused)]
    saved = [v for cut_eqn in cut_eqns for v in cut_eqn.saved]
    same: dict[Any, Atom] = {v: s for cut_eqn in cut_eqns for v, s in cut_eqn.same.items()}
    taken = set(saved)
    again = [_reading(cut_eqn.again, taken, same) for cut_eqn in cut_eqns if cut_eqn.again is not None]
    return Cut(
        jaxpr.replace(eqns=[cut_eqn.forward for cut_eqn in cut_eqns], outvars=[*jaxpr.outvars, *saved]),
        jaxpr.replace(invars=[*jaxpr.invars, *saved], eqns=again, outvars=[same.get(v, v) for v in jaxpr.outvars]),
        saved,
    )


def _reading(eqn: JaxprEqn, saved: set[Var], same: dict[Any, Atom]) -> JaxprEqn:
    """Return an equation that reads the saved values, and defines none of them."""
    outvars = [Var(v.aval) if v in saved else v for v in eqn.outvars]
    return eqn.replace(invars=[same.get(v, v) for v in eqn.invars], outvars=outvars)


def _cut_eqn(eqn: JaxprEqn, policy: Policy) -> CutEqn:
    """Cut one equation.  Results of an equation with an effect are saved, so that the effect happens once."""
    rule = eqn.primitive.adapted["save"]
    if rule is not None:
        return rule(eqn, policy)  # type: ignore[no-any-return]
    if not eqn.effects and not is_saved(eqn, policy):
        return CutEqn(eqn, eqn)
    same = {eqn.invars[0]: eqn.outvars[0]} if eqn.primitive is name_p else {}
    return CutEqn(eqn, None, eqn.outvars, same)


def is_saved(eqn: JaxprEqn, policy: Policy) -> bool:
    """Return the answer of the policy about an equation."""
    return saves(policy, eqn.primitive, [v.aval for v in eqn.invars], eqn.params)


# Programs inside


@jit_p.def_rule("save")
def jit_save(eqn: JaxprEqn, policy: Policy) -> CutEqn:
    """Cut the program inside; its saved values are further results."""
    cut = cut_jaxpr(eqn.params["jaxpr"], policy)
    saved = [Var(v.aval) for v in cut.saved]
    inner = dict(zip(cut.saved, saved))
    same = {v: inner[x] for v, x in zip(eqn.outvars, cut.again.outvars) if x in inner}
    return _joined(eqn, {"jaxpr": cut.forward}, {"jaxpr": cut.again}, saved, same)


@custom_vjp_fwd_p.def_rule("save")
def custom_vjp_fwd_save(eqn: JaxprEqn, policy: Policy) -> CutEqn:
    """Cut the forward half, as a call, if the policy saves a value in it; otherwise keep it as one equation."""
    fwd = eqn.params["fwd"]
    if not cut_jaxpr(fwd, policy).saved:
        return CutEqn(eqn, eqn)
    call = {"jaxpr": fwd, "name": eqn.params["name"], "compiler": None}
    return jit_save(eqn.replace(primitive=jit_p, params=call), policy)


@scan_p.def_rule("save")
def scan_save(eqn: JaxprEqn, policy: Policy) -> CutEqn:
    """Cut the body; its saved values are stacked.  The last carry is saved if the policy saves its equation."""
    cut = cut_jaxpr(eqn.params["jaxpr"], policy)
    num_carry, by_policy = eqn.params["num_carry"], is_saved(eqn, policy)
    rows = {v: Var(with_leading_axis(v.aval, eqn.params["length"])) for v in cut.saved}
    same = {v: rows[x] for v, x in list(zip(eqn.outvars, cut.again.outvars))[num_carry:] if x in rows}
    whole = [v for v, s in zip(eqn.outvars, cut.saved_results(by_policy)) if s and v not in same]
    cut_eqn = _joined(eqn, {"jaxpr": cut.forward}, {"jaxpr": cut.again}, list(rows.values()), same)
    return cut_eqn._replace(saved=[*cut_eqn.saved, *whole])


def branches_save(eqn: JaxprEqn, policy: Policy) -> CutEqn:
    """Cut the branches; saved values go through slots.  A result is saved if every branch saves it."""
    branches: tuple[Jaxpr, ...] = eqn.params["branches"]
    by_policy = is_saved(eqn, policy)
    cuts = [cut_jaxpr(branch, policy) for branch in branches]
    forward, again, avals = memo_branches(branches, ("save", policy), lambda: _cut_branches(branches, cuts))
    cut_eqn = _joined(eqn, {"branches": forward}, {"branches": again}, [Var(aval) for aval in avals], {})
    masks = zip(*(cut.saved_results(by_policy) for cut in cuts))
    whole = [v for v, marks in zip(eqn.outvars, masks) if all(marks)]
    return cut_eqn._replace(saved=[*cut_eqn.saved, *whole])


cond_p.def_rule("save", branches_save)
platform_dependent_p.def_rule("save", branches_save)


def _joined(
    eqn: JaxprEqn, forward: dict[str, Any], again: dict[str, Any], saved: Sequence[Var], same: dict[Any, Var]
) -> CutEqn:
    """Return the cut of an equation from the cuts of its programs; the second programs have no effect."""
    if not saved and not eqn.effects:
        return CutEqn(eqn, eqn)
    return CutEqn(
        eqn.replace(outvars=[*eqn.outvars, *saved], params=eqn.params | forward),
        eqn.replace(invars=[*eqn.invars, *saved], params=eqn.params | again),
        saved,
        same,
    )


def _cut_branches(
    branches: Sequence[Jaxpr], cuts: Sequence[Cut]
) -> tuple[tuple[Jaxpr, ...], tuple[Jaxpr, ...], list[Any]]:
    """Return the saving branches, the recomputing branches, and the types of the slots between them."""
    slots = Slots()
    places = [slots.places([v.aval for v in cut.saved]) for cut in cuts]
    return (
        tuple(slots.filling(cut.forward, len(b.outvars), own) for b, cut, own in zip(branches, cuts, places)),
        tuple(slots.reading(cut.again, len(b.invars), own) for b, cut, own in zip(branches, cuts, places)),
        slots.avals,
    )
