"""Named values, sown and planted.

One idea: the values of a name are a list of parts.  A name of the mode "append" has one part for each time that it
comes, with a leading axis that counts; any other name has one part.

Read next: `harvest_trace.py`, which meets and plants them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calque_core import lax, typeof
from calque_core.extend import shaped_array, where
from calque_pytree import tree_flatten

Value = Any
Tree = Any  # the structure of a pytree; None for one array


class Sown(NamedTuple):
    """The values of a name, by parts: lists of the leaves of a pytree; or their types in place of values."""

    mode: str
    tree: Tree
    parts: list[list[Value]]
    place: str

    def leaves(self) -> list[Value]:
        """Return the leaves, with the rows of all parts."""
        if len(self.parts) == 1:
            return self.parts[0]
        return [lax.concatenate(column, 0) for column in zip(*self.parts)]

    def value(self) -> Any:
        """Return the pytree."""
        return unflatten(self.tree, self.leaves())


def unflatten(tree: Tree, leaves: Sequence[Value]) -> Any:
    """Return a pytree; `tree` is None for one array."""
    return leaves[0] if tree is None else tree.unflatten(leaves)


def kept(x: Value) -> Value:
    """Return a value that a later write of the user does not change, and that is no weak scalar."""
    if type(x) is np.ndarray:
        return x.copy() if x.flags.writeable else x
    aval = typeof(x)
    return lax.convert_element_type(x, aval.dtype) if aval.weak_type else x


def row(x: Value) -> Value:
    """Return a value with a leading axis of size 1."""
    return lax.reshape(x, (1, *typeof(x).shape))


def add(sown: dict[str, Sown], name: str, new: Sown) -> None:
    """Put values among those of their name, as the mode says.

    Raises: ValueError with both places if a strict name comes again, or a name with two modes or types.
    """
    old = sown.get(name)
    if old is None:
        sown[name] = new
        return
    if old.mode != new.mode:
        modes = f"with mode={old.mode!r}{old.place} and with mode={new.mode!r}{new.place}"
        raise ValueError(f"the name {name!r} is sown {modes}. Give one name one mode.")
    if new.mode == "strict":
        raise ValueError(
            f"the name {name!r} is sown twice:{old.place}, and{new.place}. Give two names, or a mode: 'append' keeps "
            "all values, 'clobber' the last."
        )
    if new.mode == "append":
        _check_rows(name, old, new)
        new = old._replace(parts=[*old.parts, *new.parts])
    sown[name] = new


def _check_rows(name: str, old: Sown, new: Sown) -> None:
    before, after = ([_row_type(x) for x in s.parts[0]] for s in (old, new))
    if old.tree != new.tree or before != after:
        types = " and ".join(f"{_types(t)}{s.place}" for t, s in ((before, old), (after, new)))
        raise ValueError(
            f"the name {name!r}, of mode 'append', is sown with different types: {types}. Values that are stacked have "
            "one type; give two names."
        )


def _row_type(x: Value) -> Any:
    aval = typeof(x)
    return shaped_array(aval.shape[1:], aval.dtype)


def _types(avals: Sequence[Any]) -> str:
    return ", ".join(map(str, avals))


class Site(NamedTuple):
    """A name in a program: mode, structure and types of its values, its first place, and how often it comes, `rows`."""

    mode: str
    tree: Tree
    avals: tuple[Any, ...]
    place: str
    rows: int = 1

    def times(self, length: int) -> Site:
        """Return the places in a loop of `length` steps."""
        return self._replace(rows=self.rows * length)


class Plant:
    """A value that takes the place of those of its name; with `rows`, one row each time."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value, self.taken = name, value, 0

    def take(self, site: Site) -> list[Value]:
        """Return the leaves for the next places; for the mode "append" with a row for each place.

        Raises: TypeError or ValueError if they do not fit the values of the program.
        """
        leaves, tree = tree_flatten(self.value)
        if (None if tree.is_leaf else tree) != site.tree:
            expected = "an array" if site.tree is None else str(site.tree)
            raise TypeError(f"{self._caller()} is {tree}, but the program sows {expected}{site.place}. Plant the same.")
        if site.mode != "append":
            return [self._fitted(x, aval, (), site.place) for x, aval in zip(leaves, site.avals)]
        first, self.taken = self.taken, self.taken + site.rows
        return [self._rows(x, aval, first, site.place) for x, aval in zip(leaves, site.avals)]

    def _rows(self, x: Value, aval: Any, first: int, place: str) -> Value:
        counts = typeof(x).shape[:1]
        if not counts or counts[0] < self.taken:
            raise self._wrong_rows(self.taken, counts)
        rows = self._fitted(x, aval, counts, place)
        return rows if counts[0] == self.taken and not first else rows[first : self.taken]

    def check_rows(self, count: int) -> None:
        """Check that each row was planted once.  Raises: ValueError."""
        counts = typeof(tree_flatten(self.value)[0][0]).shape[:1]
        if counts != (count,) or self.taken != count:
            raise self._wrong_rows(count, counts)

    def _wrong_rows(self, count: int, counts: Sequence[int]) -> ValueError:
        rows = f"has {counts[0]} rows" if counts else "has no rows"
        if counts == (count,) or (counts and counts[0] >= count != self.taken):
            return ValueError(
                f"{self._caller()} {rows}, one for each value that the program sows, but a derivative inside the "
                "program computes some of them again, or once for all steps. Differentiate the planted function: "
                "grad(plant(f)), not plant(grad(f))."
            )
        return ValueError(
            f"{self._caller()} {rows}, but the program sows {count} values{where()}. Give a row for each."
        )

    def _fitted(self, x: Value, aval: Any, rows: Sequence[int], place: str) -> Value:
        """Return an array in the type of the sown value."""
        new, expected = typeof(x), shaped_array((*rows, *aval.shape), aval.dtype)
        order = "biufc"
        is_safe = new.weak_type and order.find(new.dtype.kind) <= order.find(aval.dtype.kind)
        if new.shape != expected.shape or (new.dtype != aval.dtype and not is_safe):
            raise TypeError(
                f"{self._caller()} has type {new}, but the program sows {expected}{place}. Plant a value of this type."
            )
        return kept(x) if new.dtype == aval.dtype else lax.convert_element_type(x, aval.dtype)

    def _caller(self) -> str:
        return f"the plant {self.name!r}"
