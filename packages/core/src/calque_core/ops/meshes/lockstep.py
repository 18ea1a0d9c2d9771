"""Lockstep: the evaluation of a program at all positions of a mesh, one equation after the other.

One idea: a variable has a column of values, one for each position.  An operation runs at each position, in order; a
collective has a rule of kind "lockstep", `rule(positions, *columns, **params) -> column`, which combines the values of
a column.  So a collective meets the values of all positions, and no position waits for another one.

A program inside the program runs in lockstep only if it names an axis of the positions; otherwise each position runs it
alone, so that branches and loops decide for each position.

Read next: `collective.py` and `exchange.py`, which have the rules of collectives; `lockstep_programs.py`, which has the
rules of branches and loops; `shard_map.py`, which cuts arrays into columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from calque_core.context import open_scopes, own_context
from calque_core.frames.scopes import within_scopes
from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, Literal, has_jaxpr
from calque_core.jaxprs.named_axes import placed_axes
from calque_core.primitives.primitive import results_of
from calque_core.primitives.rules import missing_rule
from calque_core.primitives.rules import rules as rule_table

Value = Any
AxisName = Hashable
Column = list[Value]  # one value for each position

rule_table("lockstep")


class Positions(NamedTuple):
    """Positions of a mesh, in row-major order: their places along its axes.

    >>> from calque_core.ops.meshes.lockstep import positions_of
    >>> positions_of({"x": 2, "y": 2}).along("y")
    [0, 1, 0, 1]
    """

    axis_names: tuple[AxisName, ...]
    places: tuple[tuple[int, ...], ...]

    def along(self, axis_name: AxisName) -> list[int]:
        """Return the place of each position along an axis."""
        axis = self.axis_names.index(axis_name)
        return [place[axis] for place in self.places]

    def groups(self, axis_names: Iterable[AxisName]) -> list[list[int]]:
        """Return the numbers of the positions that differ along some axes alone, each group in the order of the axes.

        >>> from calque_core.ops.meshes.lockstep import positions_of
        >>> positions_of({"x": 2, "y": 2}).groups(["x"])
        [[0, 2], [1, 3]]
        """
        axes = [self.axis_names.index(name) for name in axis_names]
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, place in enumerate(self.places):
            groups.setdefault(tuple([i for axis, i in enumerate(place) if axis not in axes]), []).append(number)
        for group in groups.values():
            group.sort(key=lambda number: [self.places[number][axis] for axis in axes])
        return list(groups.values())

    def chosen(self, numbers: Iterable[int]) -> Positions:
        """Return some of the positions."""
        return self._replace(places=tuple([self.places[number] for number in numbers]))

    def times(self, inner: Positions) -> Positions:
        """Return the positions of a mesh with the axes of both meshes, the axes of `inner` last."""
        places = [(*outer, *place) for outer in self.places for place in inner.places]
        return Positions((*self.axis_names, *inner.axis_names), tuple(places))


def positions_of(sizes: Mapping[AxisName, int]) -> Positions:
    """Return the positions of a mesh with axes of these sizes."""
    return Positions(tuple(sizes), tuple(np.ndindex(*sizes.values())))


def run_in_lockstep(jaxpr: Jaxpr, positions: Positions, columns: Sequence[Column]) -> list[Column]:
    """Return a column for each result of a program, from a column for each argument.

    Raises: the errors of its operations; ValueError where positions that meet in a collective take different branches.
    """
    count = len(positions.places)
    env: dict[Any, Column] = {v: [c] * count for v, c in zip(jaxpr.constvars, jaxpr.consts)}
    env.update(zip(jaxpr.invars, columns))
    read: Callable[[Any], Column] = lambda x: [x.val] * count if type(x) is Literal else env[x]
    context = own_context()
    before, scopes = context.source, open_scopes(context)
    try:
        for eqn, drops in zip(jaxpr.eqns, jaxpr.last_uses):
            context.source = within_scopes(eqn.position, scopes) if scopes else eqn.position
            env.update(zip(eqn.outvars, _apply(eqn, positions, [read(x) for x in eqn.invars])))
            for v in drops:
                del env[v]
    finally:
        context.source = before
    return [read(x) for x in jaxpr.outvars]


def _apply(eqn: JaxprEqn, positions: Positions, columns: list[Column]) -> list[Column]:
    primitive, params = eqn.primitive, eqn.params
    if not placed_axes(params).isdisjoint(positions.axis_names):
        rule, program_of = primitive.adapted["lockstep"], primitive.adapted["means"]
        if rule is not None:
            outs = rule(positions, *columns, **params)
            return outs if primitive.multiple_results else [outs]
        if program_of is not None:
            return run_in_lockstep(program_of(**params), positions, columns)
        if has_jaxpr(params):
            raise missing_rule(primitive, "lockstep")
    results = [results_of(primitive, operands, params) for operands in _rows(positions, columns)]
    return _columns(results, len(eqn.outvars))


def _rows(positions: Positions, columns: Sequence[Column]) -> list[tuple[Value, ...]]:
    """Return the values of each position."""
    return list(zip(*columns)) if columns else [()] * len(positions.places)


def _columns(rows: Sequence[Sequence[Value]], count: int) -> list[Column]:
    """Return `count` columns, from the values of each position."""
    return [[row[i] for row in rows] for i in range(count)]


Run = Callable[[Positions, list[Column]], list[Column]]


def by_group(positions: Positions, axis_names: Iterable[AxisName], columns: Sequence[Column], run: Run) -> list[Column]:
    """Return `run(positions, columns)`, run for each group of positions that differ along some axes alone."""
    rows: dict[int, tuple[Value, ...]] = {}
    outs: list[Column] = []
    for group in positions.groups(axis_names):
        chosen = positions.chosen(group)
        outs = run(chosen, [[column[number] for number in group] for column in columns])
        rows.update(zip(group, _rows(chosen, outs)))
    return _columns([rows[number] for number in range(len(positions.places))], len(outs))


def combined(
    positions: Positions, axis_names: Iterable[AxisName], column: Column, combine: Callable[[Column], Column]
) -> Column:
    """Return a column in which each group of positions has the values `combine(values)` of the group."""
    return by_group(positions, axis_names, [column], lambda _, columns: [combine(columns[0])])[0]


def for_all(function: Callable[[Value, Value], Value]) -> Callable[[Column], Column]:
    """Return the function that gives all positions the reduction of their values by a function of two values."""
    return lambda column: [reduce(function, column)] * len(column)
