"""Cutting a program into a known and an unknown half: `partial_eval_jaxpr`.

One idea: an equation whose operands are all known belongs to the known half, any other equation to the unknown half.
An equation that holds programs is cut by its `partial_eval` rule.  The residuals are the values of the known half that
the unknown half needs.

Read next: `rules/calls/jit.py`, `rules/calls/cond.py` and `rules/calls/loops.py`, whose rules use this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.traces.tangent_trace import TangentTrace
from calque_core import (
    Atom,
    Jaxpr,
    JaxprEqn,
    Literal,
    Tracer,
    Var,
    current_trace,
    dce_jaxpr,
    eval_jaxpr,
    hoist_tracers,
    jaxprs_in_params,
    stage,
    tracing,
)
from calque_core.extend import marked, merged, settings_key, unmarked

Value = Any
Place = tuple[str, int]


class Split(NamedTuple):
    """A program cut into a known and an unknown half.

    `known` takes the known operands and returns the known results, then residuals; `unknown` takes the residuals and
    the unknown operands and returns the unknown results.  `known_outs` marks the known results.
    """

    known: Jaxpr
    unknown: Jaxpr
    known_outs: list[bool]

    def restricted(self, known_outs: Sequence[bool]) -> Split:
        """Return the same cut with fewer known results: `unknown` returns the other results, as residuals passed on."""
        if list(known_outs) == self.known_outs:
            return self
        num_known = sum(self.known_outs)
        outs, residuals = self.known.outvars[:num_known], self.known.outvars[num_known:]
        is_kept = marked(known_outs, self.known_outs)
        kept, moved = marked(outs, is_kept), unmarked(outs, is_kept)
        passed_on = [Var(v.aval) for v in moved]
        outvars = merged(unmarked(self.known_outs, known_outs), passed_on, self.unknown.outvars)
        return Split(
            self.known.replace(outvars=[*kept, *moved, *residuals]),
            self.unknown.replace(invars=[*passed_on, *self.unknown.invars], outvars=outvars),
            list(known_outs),
        )


def partial_eval_jaxpr(jaxpr: Jaxpr, known_mask: Sequence[bool]) -> Split:
    """Return `jaxpr` as the half that needs only the operands marked in `known_mask`, and the unknown half.

    Programs inside it are cut in the same way, by their own `partial_eval` rules.

    >>> from calque_autodiff import partial_eval_jaxpr
    >>> from calque_core import lax, make_jaxpr
    >>> partial_eval_jaxpr(make_jaxpr(lambda x, y: x + lax.sin(y))(1.0, 1.0), [False, True]).known
    { lambda ; a:f64[]. let b:f64[] = sin a in (b,) }
    """
    mask = tuple(known_mask)
    return jaxpr.memo(("partial_eval", mask, *settings_key()), lambda: _cut(jaxpr, mask))  # type: ignore[no-any-return]


def _cut(jaxpr: Jaxpr, mask: Sequence[bool]) -> Split:
    known = marked(jaxpr.invars, mask)
    halves = _Halves(jaxpr, known)
    for eqn in jaxpr.eqns:
        halves.add(eqn)
    outs: list[Atom] = [halves.atoms.get(v, v) for v in jaxpr.outvars]
    known_outs = [halves.knows(v) for v in outs]
    unknown, residuals = halves.unknown(unmarked(jaxpr.invars, mask), unmarked(outs, known_outs))
    results = [*marked(outs, known_outs), *residuals]
    return Split(halves.program(known, halves.before, results), unknown, known_outs)


class _Halves:
    """Two lists of the equations of a program, while they are filled.

    `known` holds the variables of the known half, with the constants; `atoms` maps the results of cut equations to the
    atoms that replace them.
    """

    def __init__(self, jaxpr: Jaxpr, operands: Sequence[Var]) -> None:
        self.jaxpr = jaxpr
        self.consts: dict[Any, Value] = dict(zip(jaxpr.constvars, jaxpr.consts))
        self.known: set[Any] = {*jaxpr.constvars, *operands}
        self.atoms: dict[Any, Atom] = {}
        self.before: list[JaxprEqn] = []
        self.after: list[JaxprEqn] = []

    def knows(self, x: Atom) -> bool:
        """Tell whether an operand is known."""
        return type(x) is Literal or x in self.known

    def add(self, eqn: JaxprEqn) -> None:
        """Add an equation to its half, or the halves of the equation to both."""
        if self.atoms:
            eqn = renamed(eqn, self.atoms)
        if all(type(x) is Literal or x in self.known for x in eqn.invars):
            self.before.append(eqn)
            self.known.update(eqn.outvars)
        elif eqn.params and (eqn.primitive.adapted["partial_eval"] or any(jaxprs_in_params(eqn.params))):
            self.divide(eqn)
        else:
            self.after.append(eqn)

    def divide(self, eqn: JaxprEqn) -> None:
        """Add the halves of an equation that holds a program."""
        operands = list(dict.fromkeys(x for x in eqn.invars if type(x) is Var))
        is_known = [x in self.known for x in operands]
        split = _traced(Jaxpr((), operands, [eqn], eqn.outvars), is_known)
        known, unknown = split.known, split.unknown
        self.consts.update(zip((*known.constvars, *unknown.constvars), (*known.consts, *unknown.consts)))
        atoms: dict[Any, Atom] = dict(zip(known.invars, marked(operands, is_known)))
        self.before += [renamed(inner, atoms) for inner in known.eqns]
        self.known.update(known.constvars, unknown.constvars, *(inner.outvars for inner in known.eqns))
        results = [atoms.get(v, v) for v in known.outvars]
        num_known = sum(split.known_outs)
        atoms.update(zip(unknown.invars, (*results[num_known:], *unmarked(operands, is_known))))
        self.after += [renamed(inner, atoms) for inner in unknown.eqns]
        unknowns = (atoms.get(v, v) for v in unknown.outvars)
        self.atoms.update(zip(eqn.outvars, merged(split.known_outs, results, unknowns)))

    def unknown(self, operands: Sequence[Var], outs: Sequence[Atom]) -> tuple[Jaxpr, list[Var]]:
        """Return the unknown half, and its residuals: variables of the known half that are not constants."""
        uses: dict[Any, None] = dict.fromkeys(x for eqn in self.after for x in eqn.invars if x in self.known)
        residuals = [v for v in uses if v not in self.consts or isinstance(self.consts[v], Tracer)]
        program = self.program([*residuals, *operands], self.after, outs)
        keep = [False] * len(residuals) + [True] * len(operands)
        program, used = dce_jaxpr(program, [True] * len(outs), instantiate=keep)
        return program, marked(residuals, used)

    def program(self, invars: Sequence[Var], eqns: Sequence[JaxprEqn], outvars: Sequence[Atom]) -> Jaxpr:
        """Return a program of these equations, with the constants that they use."""
        used: set[Any] = {x for eqn in eqns for x in eqn.invars}.union(outvars).difference(invars)
        consts = {v: c for v, c in self.consts.items() if v in used}
        return self.jaxpr.replace(
            constvars=list(consts), consts=list(consts.values()), invars=invars, eqns=eqns, outvars=outvars
        )


def renamed(eqn: JaxprEqn, atoms: dict[Any, Atom]) -> JaxprEqn:
    """Return an equation whose operands are replaced by `atoms`."""
    if not any(x in atoms for x in eqn.invars):
        return eqn
    return eqn.replace(invars=[atoms.get(x, x) for x in eqn.invars])


def _traced(jaxpr: Jaxpr, mask: Sequence[bool]) -> Split:
    """Return the cut of a program of one equation, by the equation's rule."""
    cut: list[Any] = []

    def known(*args: Value) -> list[Value]:
        parent = current_trace()
        trace = TangentTrace(parent)
        trace.verb, trace.position = "partial_eval", parent.position
        with tracing(trace):
            outs = eval_jaxpr(jaxpr, (), *merged(mask, args, map(trace.new_arg, unmarked(jaxpr.in_avals, mask))))
            known_outs = [not trace.owns(x) for x in outs]
            program = trace.finish(unmarked(outs, known_outs))
        program, residuals = hoist_tracers(program)
        cut[:] = [program, known_outs]
        return [*marked(outs, known_outs), *residuals]

    staged = stage(known, marked(jaxpr.in_avals, mask), verb="partial_eval")
    return Split(staged, cut[0], cut[1])


def without_repeats(known: Jaxpr, num_outs: int, is_whole: Sequence[bool] | None = None) -> tuple[Jaxpr, list[Place]]:
    """Drop the residuals of `known` that are its arguments, results or literals; return the place of each residual.

    The residuals are the results of `known` after its first `num_outs`, which `is_whole` marks if a residual may be it.
    """
    outvars, places = distinct(known, num_outs, is_whole)
    known, _ = dce_jaxpr(known.replace(outvars=outvars), [True] * len(outvars), instantiate=True)
    return known, places


def distinct(known: Jaxpr, num_outs: int, is_whole: Sequence[bool] | None = None) -> tuple[list[Atom], list[Place]]:
    """Return the results of `known` with each residual once, and the place of each residual, as `without_repeats`."""
    places: dict[Any, Place] = {v: ("in", i) for i, v in enumerate(known.invars)}
    kept: list[Any] = list(known.outvars[:num_outs])
    for i, v in enumerate(kept):
        if type(v) is Var and (is_whole is None or is_whole[i]):
            places.setdefault(v, ("out", i))
    sources = []
    for v in known.outvars[num_outs:]:
        if type(v) is Literal or v not in places:
            if type(v) is Var:
                places[v] = ("out", len(kept))
            sources.append(("out", len(kept)))
            kept.append(v)
        else:
            sources.append(places[v])
    return kept, sources


def at_places(places: Sequence[Place], operands: Sequence[Value], results: Sequence[Value]) -> list[Value]:
    """Return the residuals at these places among the operands and results of the known half."""
    return [operands[i] if kind == "in" else results[i] for kind, i in places]


def by_place(unknown: Jaxpr, places: Sequence[Place]) -> tuple[Jaxpr, dict[Place, Var]]:
    """Return the unknown half with one variable per place of residuals, and these variables."""
    variables: dict[Place, Var] = {}
    atoms: dict[Any, Atom] = {}
    for v, place in zip(unknown.invars, places):
        if variables.setdefault(place, v) is not v:
            atoms[v] = variables[place]
    if atoms:
        eqns = [renamed(eqn, atoms) for eqn in unknown.eqns]
        unknown = unknown.replace(eqns=eqns, outvars=[atoms.get(v, v) for v in unknown.outvars])
    return unknown, variables
