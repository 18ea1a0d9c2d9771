"""Branches and loops of programs that run in lockstep.

One idea: only positions that meet in a collective of a branch or a loop must take the same way, and they run it in
lockstep; groups of positions that meet no other group decide for themselves.

Read next: `lockstep.py`, which runs programs; `cond.py`, `scan.py`, `while_loop.py` for the primitives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.jaxprs.named_axes import communicated_axes
from calque_core.ops.calls.cond import cond_p
from calque_core.ops.calls.loop_rules import split_while
from calque_core.ops.calls.platform import Platforms, platform_dependent_p, position_of_platform
from calque_core.ops.calls.scan import scan_p
from calque_core.ops.calls.while_loop import while_p
from calque_core.ops.elementwise.weakness import as_declared
from calque_core.ops.meshes.lockstep import Column, Positions, by_group, run_in_lockstep

Value = Any

# Branches


def cond_lockstep(
    positions: Positions, index: Column, *columns: Column, branches: Sequence[Jaxpr], batched: str
) -> list[Column]:
    def run(group: Positions, chosen: list[Column]) -> list[Column]:
        numbers = [min(max(int(i), 0), len(branches) - 1) for i in chosen[0]]
        branch = branches[_common("cond", "branch", "in its branches", numbers, axes)]
        return _declared(branch, run_in_lockstep(branch, group, chosen[1:]))

    axes = _meeting_axes(positions, branches)
    return by_group(positions, axes, [index, *columns], run)


def platform_lockstep(
    positions: Positions, *columns: Column, branches: Sequence[Jaxpr], platforms: Platforms
) -> list[Column]:
    branch = branches[position_of_platform(platforms, "cpu")]
    return _declared(branch, run_in_lockstep(branch, positions, columns))


# Loops


def scan_lockstep(
    positions: Positions,
    *columns: Column,
    jaxpr: Jaxpr,
    length: int,
    num_carry: int,
    num_consts: int,
    reverse: bool,
    unroll: int,
) -> list[Column]:
    num_fixed = num_consts + num_carry
    consts, xs = columns[:num_consts], columns[num_fixed:]
    carry = _declared(jaxpr, columns[num_consts:num_fixed])
    ys_avals, count = jaxpr.out_avals[num_carry:], len(positions.places)
    stacked = [[np.empty((length, *aval.shape), aval.dtype) for _ in range(count)] for aval in ys_avals]
    for i in range(length)[:: -1 if reverse else 1]:
        outs = run_in_lockstep(jaxpr, positions, [*consts, *carry, *[[x[i] for x in column] for column in xs]])
        carry = outs[:num_carry]
        for arrays, column in zip(stacked, outs[num_carry:]):
            for ys, y in zip(arrays, column):
                ys[i] = y
    return [*carry, *stacked]


def while_lockstep(
    positions: Positions,
    *columns: Column,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    **_: Any,
) -> list[Column]:
    def run(group: Positions, chosen: list[Column]) -> list[Column]:
        cond_consts, body_consts, carry = split_while(chosen, cond_nconsts, body_nconsts)
        carry = _declared(body_jaxpr, carry)
        while True:
            answers = list(map(bool, run_in_lockstep(cond_jaxpr, group, [*cond_consts, *carry])[0]))
            if not _common("while", "condition", "in its body", answers, axes):
                return carry
            carry = run_in_lockstep(body_jaxpr, group, [*body_consts, *carry])

    axes = _meeting_axes(positions, [cond_jaxpr, body_jaxpr])
    return by_group(positions, axes, columns, run)


cond_p.def_rule("lockstep", cond_lockstep)
platform_dependent_p.def_rule("lockstep", platform_lockstep)
scan_p.def_rule("lockstep", scan_lockstep)
while_p.def_rule("lockstep", while_lockstep)

# Positions that must agree


def _meeting_axes(positions: Positions, programs: Sequence[Jaxpr]) -> list[Any]:
    names = communicated_axes(programs)
    return [name for name in positions.axis_names if name in names]


def _common(verb: str, noun: str, place: str, choices: Sequence[Any], axes: Sequence[Any]) -> Any:
    """Return the choice of all positions of a group.  Raises: ValueError if they differ."""
    if any(choice != choices[0] for choice in choices):
        names = ", ".join(map(repr, axes))
        raise ValueError(
            f"{verb}{where()}: the {noun} differs among the positions along {names}, which meet in a collective "
            f"{place}: {choices}. Some of them would wait without end. Make the {noun} equal, for example with pmax, "
            f"or move the collective out of the {verb}."
        )
    return choices[0]


def _declared(jaxpr: Jaxpr, columns: Sequence[Column]) -> list[Column]:
    """Return columns as weak or as strong as the results of a program."""
    return [list(map(partial(as_declared, aval=aval), column)) for column, aval in zip(columns, jaxpr.out_avals)]
