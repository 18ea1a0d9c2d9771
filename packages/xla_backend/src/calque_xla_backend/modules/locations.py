"""Locations: from the place of an equation in the user's program to the metadata of its operations in XLA's.

One idea: a location holds the name of an operation, such as `jit(loss)/layer/dot_general`, and the user's function,
file and line.  The builders put the current location on each operation, and XLA makes `op_name`, source file and line
of it, which profilers and dumps show.  Equal places share one location: to make it takes 1 us, to find it 0.2.

XLA puts the name of a call before the names in the function that it calls, so these begin at the function.

Read next: `lowering.py`, which makes the location of an equation current for its lowering rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

from jaxlib.mlir import ir

from calque_core import JaxprEqn
from calque_core.engine import LineTables
from calque_core.lax import jit_p


class Locations:
    """The locations of the equations of one program, whose names all begin with `prefix`."""

    __slots__ = ("memo", "prefix", "tables")

    def __init__(self, prefix: str = "", tables: LineTables | None = None) -> None:
        self.prefix = prefix
        self.memo: dict[Any, ir.Location] = {}
        self.tables = LineTables() if tables is None else tables

    def of(self, eqns: Iterable[JaxprEqn]) -> Iterator[ir.Location]:
        """Yield the location of each equation; without a position it is the current location."""
        memo, around = self.memo, ir.Location.current
        for eqn in eqns:
            position = eqn.position
            if position is None:
                yield around
                continue
            # The hash of a code object reads all of it, so its number stands for it: the equation keeps it alive.
            key = (eqn.primitive, type(position), id(position[0]), *position[1:])
            location = memo.get(key)
            if location is None:
                location = self._make(eqn)
                if eqn.primitive is not jit_p:  # its name is the name of a function
                    memo[key] = location
            yield location

    def inside(self, eqn: JaxprEqn) -> Locations:
        """Return the locations of a program that `eqn` holds."""
        return Locations(f"{self._name(eqn, self.tables.resolve(eqn.position))}/", self.tables)

    def _make(self, eqn: JaxprEqn) -> ir.Location:
        info = self.tables.resolve(eqn.position)
        assert info is not None, eqn
        function = ir.Location.name(info.function, ir.Location.file(info.file_name, info.line, 0))
        return ir.Location.name(self._name(eqn, info), function)

    def _name(self, eqn: JaxprEqn, info: Any) -> str:
        operation = f"jit({eqn.params['name']})" if eqn.primitive is jit_p else eqn.primitive.name
        return f"{self.prefix}{info.name_stack}/{operation}" if info and info.name_stack else self.prefix + operation


class OnePlace:
    """The location of an equation, for the equations that its lowering rule traces: the user's program lacks them."""

    __slots__ = ("location",)

    def __init__(self) -> None:
        self.location = ir.Location.current

    def of(self, eqns: Iterable[JaxprEqn]) -> Iterator[ir.Location]:
        """Yield the location for each equation."""
        return repeat(self.location)

    def inside(self, eqn: JaxprEqn) -> OnePlace:
        """Return the locations of a program that `eqn` holds."""
        return self
