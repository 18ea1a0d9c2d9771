"""A loop cut in two: the first runs now, the second takes the residuals of the first.

One idea: the second loop gets each residual in its cheapest form.  A value that no step changes is computed once,
before the loop; a slice of an input or of a result is that array itself; other residuals are stacked, a row for each
step.

Read next: `scan.py`, whose rules use both loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from calque_autodiff.programs.partial_eval import Place, by_place
from calque_autodiff.rules.calls.jit import halves
from calque_core import Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr
from calque_core.engine import Loop, ScanOptions
from calque_core.extend import marked
from calque_core.lax import jit_p, scan_p

Value = Any


class FirstLoop(NamedTuple):
    """The loop that runs now.

    `hoisted` takes the operands marked in `is_fixed` and returns the values that no step changes, first the constants
    of `loop`.  `loop` returns the carry, the results, and the stacked residuals.  `places` holds the place of each
    residual: ("fixed", i) among the results of `hoisted`, ("x", i) among the inputs, ("y", i) among the stacked values.
    """

    hoisted: Jaxpr
    loop: Loop
    is_fixed: list[bool]
    num_results: int
    places: list[Place]

    def sources(self, *kinds: str) -> list[Place]:
        """Return the places of these kinds, without repeats."""
        return [place for place in dict.fromkeys(self.places) if place[0] in kinds]

    @property
    def is_needed(self) -> bool:
        """Whether the loop has a result or an effect."""
        return bool(self.loop.jaxpr.outvars or self.loop.jaxpr.effects)

    def run(self, operands: Sequence[Value], how: ScanOptions) -> tuple[list[Value], list[Value], list[Value]]:
        """Return the loop's results, the fixed residuals, and the residuals with a row for each step."""
        fixed = eval_jaxpr(self.hoisted, self.hoisted.consts, *marked(operands, self.is_fixed))
        num_carry, num_consts = self.loop.num_carry, self.loop.num_consts
        steps = operands[len(operands) - (len(self.loop.jaxpr.invars) - num_consts) :]
        outs = scan_p.bind(*fixed[:num_consts], *steps, **self.loop.params(how)) if self.is_needed else []
        values = {"fixed": fixed, "x": steps[num_carry:], "y": outs[num_carry:]}
        fixed_residuals, stacked_residuals = (
            [values[kind][i] for kind, i in self.sources(*kinds)] for kinds in (("fixed",), ("x", "y"))
        )
        return outs[: self.num_results], fixed_residuals, stacked_residuals


def first_loop(loop: Loop, num_results: int, length: int) -> FirstLoop:
    """Return the loop over a body whose first `num_results` results are the carry and the ys; then come residuals."""
    results, residuals = loop.jaxpr.outvars[:num_results], loop.jaxpr.outvars[num_results:]
    consts, carry, xs = loop.thirds(loop.jaxpr.invars)
    is_fixed = [True] * len(consts) + [a is b for a, b in zip(carry, results)] + [False] * len(xs)
    # A loop of no steps must not run an operation that might fail.
    before, inside = hoist(loop.jaxpr, marked(loop.jaxpr.invars, is_fixed)) if length else ([], list(loop.jaxpr.eqns))
    fixed = [*loop.jaxpr.constvars, *marked(loop.jaxpr.invars, is_fixed), *(v for eqn in before for v in eqn.outvars)]
    used = {v for eqn in inside for v in eqn.invars} | set(results)
    body_consts = [v for v in fixed if v in used]
    unused = set(fixed) - used
    hoisted_outs = [*body_consts, *(v for v in dict.fromkeys(residuals) if v in unused)]
    places, stacked = _places(residuals, hoisted_outs, xs, results[len(carry) :])
    # A carry that no step changes is also a constant of the body, which ignores the argument in its place.
    steps = [Var(v.aval) if v in set(hoisted_outs) else v for v in (*carry, *xs)]
    body = loop.jaxpr.replace(
        constvars=(), consts=(), invars=[*body_consts, *steps], eqns=inside, outvars=[*results, *stacked]
    )
    hoisted = loop.jaxpr.replace(invars=marked(loop.jaxpr.invars, is_fixed), eqns=before, outvars=hoisted_outs)
    return FirstLoop(hoisted, Loop(body, len(body_consts), len(carry)), is_fixed, num_results, places)


def hoist(jaxpr: Jaxpr, fixed: Sequence[Var]) -> tuple[list[JaxprEqn], list[JaxprEqn]]:
    """Return the equations without effect that need only constants and `fixed` arguments; then the loop's equations.

    A `jit` with a result that needs these alone is cut in two.
    """
    known: set[Any] = {*jaxpr.constvars, *fixed}
    before: list[JaxprEqn] = []
    inside: list[JaxprEqn] = []
    for uncut in jaxpr.eqns:
        for eqn in halves(uncut, known) if uncut.primitive is jit_p else (uncut,):
            if not eqn.effects and all(type(v) is Literal or v in known for v in eqn.invars):
                before.append(eqn)
                known.update(eqn.outvars)
            else:
                inside.append(eqn)
    return before, inside


def _places(
    residuals: Sequence[Any], hoisted_outs: Sequence[Var], xs: Sequence[Var], ys: Sequence[Any]
) -> tuple[list[Place], list[Any]]:
    """Return the place of each residual, and the residuals that the loop stacks beside the results `ys`."""
    places: dict[Any, Place] = {}
    for kind, atoms in (("fixed", hoisted_outs), ("x", xs), ("y", ys)):
        for i, v in enumerate(atoms):
            places.setdefault(v, (kind, i))
    stacked: list[Any] = []
    for v in residuals:
        if v not in places:
            places[v] = ("y", len(ys) + len(stacked))
            stacked.append(v)
    return [places[v] for v in residuals], stacked


def second_loop(first: FirstLoop, unknown: Jaxpr, num_consts: int, num_carry: int) -> Loop:
    """Return the loop over `unknown`, a program of the residuals, then of its own constants, carry and inputs.

    The constants of the loop are the fixed residuals and its own; the inputs, the stacked residuals and its own.
    """
    own = Loop(unknown, num_consts, num_carry).thirds(unknown.invars[len(first.places) :])
    body, variables = by_place(unknown, first.places)
    fixed, stacked = ([variables[place] for place in first.sources(*kinds)] for kinds in (("fixed",), ("x", "y")))
    body = body.replace(invars=[*fixed, *own[0], *own[1], *stacked, *own[2]])
    return Loop(body, len(fixed) + num_consts, num_carry)
