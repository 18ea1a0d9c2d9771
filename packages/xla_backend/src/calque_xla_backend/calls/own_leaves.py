"""Leaves of own types in the calls of a compiled program, which takes and gives their arrays.

One idea: the types of the leaves of the first call say which leaves are several arrays; a later call with other types
is not recognised.

Read next: `compiled.py`, which runs the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr, typeof
from calque_core.engine import has_own_values, is_own, own_types

Value = Any
Names = Sequence[str] | None  # of the arrays of a leaf; None for an array


class OwnLeaves:
    """The types of the arguments and results of a program, of which some are own types."""

    __slots__ = ("arguments", "returned")

    def __init__(self, in_avals: Sequence[Any], out_avals: Sequence[Any]) -> None:
        self.arguments = [(aval, _names(aval)) for aval in in_avals]
        self.returned = [(aval, _names(aval)) for aval in out_avals]

    def arrays(self, leaves: Sequence[Value]) -> list[Value] | None:
        """Return the arrays of leaves with the program's own types, None for others; the program checks the arrays."""
        arrays = []
        for x, (aval, names) in zip(leaves, self.arguments):
            if names is None:
                arrays.append(x)
            elif type(x) in own_types and typeof(x) is aval:
                arrays += [getattr(x, name) for name in names]
            else:
                return None
        return arrays

    def results(self, arrays: Sequence[Value]) -> list[Value]:
        """Return the results of which these are the arrays."""
        remaining = iter(arrays)
        return [
            next(remaining) if names is None else aval.make(**{name: next(remaining) for name in names})
            for aval, names in self.returned
        ]

    def positions(self, leaves: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of the arrays of some leaves."""
        owners = [i for i, (_, names) in enumerate(self.arguments) for _ in names or [""]]
        return tuple(i for i, owner in enumerate(owners) if owner in leaves)

    def first_of_each(self, leaves: Sequence[tuple[Any, Names]], items: Sequence[Value]) -> list[Value]:
        """Return the item of the first array of each leaf, from the items of all arrays."""
        remaining = iter(items)
        groups = [[next(remaining) for _ in names or [""]] for _, names in leaves]
        return [first for first, *_ in groups]

    def paths(self, paths: Sequence[str]) -> list[str]:
        """Return the paths of the arrays, from those of the leaves."""
        pairs = zip(paths, self.arguments)
        return [f"{path}.{name}" if name else path for path, (_, names) in pairs for name in names or [""]]


def _names(aval: Any) -> Names:
    return list(aval.arrays()) if is_own(aval) else None


def own_leaves(jaxpr: Jaxpr) -> OwnLeaves | None:
    """Return the types of the arguments and results of a program; None if all of them are arrays."""
    return OwnLeaves(jaxpr.in_avals, jaxpr.out_avals) if has_own_values(jaxpr) else None
