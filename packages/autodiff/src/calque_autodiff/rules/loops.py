"""A loop cut in two: one that runs now, and one that takes what the first leaves.

One idea: the second loop gets each residual in the cheapest form there is.  What no step changes is computed once,
before the loop; a slice of an input or of a result is that array itself; only the rest is stacked, a row for each step.

Read next: `scan.py`, whose rules are made of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.partial_eval import Place, by_place
from calque_autodiff.rules.jit import halves
from calque_core import Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr
from calque_core.lax import jit_p, scan_p
from calque_core.ops.loop_rules import How, Loop

Value = Any


def only(items: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """Return the items that are marked."""
    return [x for x, m in zip(items, mask) if m]


def others(items: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """Return the items that are not marked."""
    return [x for x, m in zip(items, mask) if not m]


class FirstLoop(NamedTuple):
    """The loop that runs now.

    `hoisted` takes the operands marked in `is_fixed` and gives what no step changes: first the constants of `loop`,
    which gives the carry, the results, and what it stacks for the second loop.  `places` says where each residual is
    found: ("fixed", i) among the results of `hoisted`, ("x", i) among the inputs, ("y", i) among what is stacked.
    """

    hoisted: Jaxpr
    loop: Loop
    is_fixed: list[bool]
    num_results: int
    places: list[Place]

    def sources(self, *kinds: str) -> list[Place]:
        """Return the places of some kinds, each once."""
        return [place for place in dict.fromkeys(self.places) if place[0] in kinds]

    def run(self, operands: Sequence[Value], how: How) -> tuple[list[Value], list[Value], list[Value]]:
        """Return the loop's results, then the residuals that are fixed, then those with a row for each step."""
        fixed = eval_jaxpr(self.hoisted, self.hoisted.consts, *only(operands, self.is_fixed))
        num_carry, num_consts = self.loop.num_carry, self.loop.num_consts
        steps = operands[len(operands) - (len(self.loop.jaxpr.invars) - num_consts) :]
        outs = scan_p.bind(*fixed[:num_consts], *steps, **self.loop.params(how)) if self.loop.jaxpr.outvars else []
        found = {"fixed": fixed, "x": steps[num_carry:], "y": outs[num_carry:]}
        held, rows = ([found[kind][i] for kind, i in self.sources(*kinds)] for kinds in (("fixed",), ("x", "y")))
        return outs[: self.num_results], held, rows


def first_loop(loop: Loop, num_results: int, length: int) -> FirstLoop:
    """Return the loop over a body whose first results are the carry and the results proper, the others residuals."""
    results, residuals = loop.jaxpr.outvars[:num_results], loop.jaxpr.outvars[num_results:]
    consts, carry, xs = loop.thirds(loop.jaxpr.invars)
    is_fixed = [True] * len(consts) + [a is b for a, b in zip(carry, results)] + [False] * len(xs)
    # A loop of no steps must not compute what might fail.
    before, inside = hoist(loop.jaxpr, only(loop.jaxpr.invars, is_fixed)) if length else ([], list(loop.jaxpr.eqns))
    fixed = [*loop.jaxpr.constvars, *only(loop.jaxpr.invars, is_fixed), *(v for eqn in before for v in eqn.outvars)]
    used = {v for eqn in inside for v in eqn.invars} | set(results)
    handed = [v for v in fixed if v in used]
    unused = set(fixed) - used
    held = [*handed, *(v for v in dict.fromkeys(residuals) if v in unused)]
    places, stacked = _places(residuals, held, xs, results[len(carry) :])
    # A carry that no step changes is a constant of the body too; the argument in its place is not used.
    steps = [Var(v.aval) if v in set(held) else v for v in (*carry, *xs)]
    body = loop.jaxpr.replace(
        constvars=(), consts=(), invars=[*handed, *steps], eqns=inside, outvars=[*results, *stacked]
    )
    hoisted = loop.jaxpr.replace(invars=only(loop.jaxpr.invars, is_fixed), eqns=before, outvars=held)
    return FirstLoop(hoisted, Loop(body, len(handed), len(carry)), is_fixed, num_results, places)


def hoist(jaxpr: Jaxpr, fixed: Sequence[Var]) -> tuple[list[JaxprEqn], list[JaxprEqn]]:
    """Return the equations that need only constants and `fixed` arguments, and have no effect; then the others.

    A `jit` that gives a result of these alone is cut in two.
    """
    known: set[Any] = {*jaxpr.constvars, *fixed}
    before: list[JaxprEqn] = []
    inside: list[JaxprEqn] = []
    for whole in jaxpr.eqns:
        for eqn in halves(whole, known) if whole.primitive is jit_p else (whole,):
            if not eqn.effects and all(type(v) is Literal or v in known for v in eqn.invars):
                before.append(eqn)
                known.update(eqn.outvars)
            else:
                inside.append(eqn)
    return before, inside


def _places(
    residuals: Sequence[Any], held: Sequence[Var], xs: Sequence[Var], ys: Sequence[Any]
) -> tuple[list[Place], list[Any]]:
    """Return where each residual is found, and those that have to be stacked beside the results `ys`."""
    spots: dict[Any, Place] = {}
    for kind, atoms in (("fixed", held), ("x", xs), ("y", ys)):
        for i, v in enumerate(atoms):
            spots.setdefault(v, (kind, i))
    stacked: list[Any] = []
    for v in residuals:
        if v not in spots:
            spots[v] = ("y", len(ys) + len(stacked))
            stacked.append(v)
    return [spots[v] for v in residuals], stacked


def second_loop(first: FirstLoop, unknown: Jaxpr, num_consts: int, num_carry: int) -> Loop:
    """Return the loop over `unknown`, a program of the residuals, then of its own constants, carry and inputs.

    The constants of the loop are the fixed residuals and its own; the inputs, the stacked residuals and its own.
    """
    own = Loop(unknown, num_consts, num_carry).thirds(unknown.invars[len(first.places) :])
    body, variables = by_place(unknown, first.places)
    fixed, stacked = ([variables[place] for place in first.sources(*kinds)] for kinds in (("fixed",), ("x", "y")))
    body = body.replace(invars=[*fixed, *own[0], *own[1], *stacked, *own[2]])
    return Loop(body, len(fixed) + num_consts, num_carry)
