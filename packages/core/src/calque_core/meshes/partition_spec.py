"""How the axes of an array are divided among the axes of a mesh.

One idea: a spec has one entry for each axis of the array: None for an axis that is not divided, the name of a mesh
axis, or several names.  It is data: it knows neither the array nor the mesh.

Read next: `mesh.py`; `shards.py`, which applies a spec to a shape.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final, final

from calque_core.frames.source import where

AxisName = Hashable
Names = tuple[AxisName, ...]


class Unconstrained:
    """The entry of an axis that the compiler may divide as it likes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "PartitionSpec.UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED: Final = Unconstrained()


@final
class PartitionSpec:
    """The names of the mesh axes that divide each axis of an array; axes without an entry are not divided.

    An entry is None, a name, a tuple of names, of which the first divides the axis into the largest parts, or
    `PartitionSpec.UNCONSTRAINED`.  A spec is immutable, compares by its entries, and is a leaf of a pytree.
    Raises: TypeError for an entry that is no name; ValueError for a name that occurs twice.

    >>> from calque_core import PartitionSpec as P
    >>> P("data", None)
    PartitionSpec('data', None)
    >>> P(("x", "y")) == P(("x", "y")), len(P("x"))
    (True, 1)
    """

    __slots__ = ("entries",)

    UNCONSTRAINED = UNCONSTRAINED
    entries: tuple[Any, ...]

    def __init__(self, *entries: Any) -> None:
        object.__setattr__(self, "entries", tuple(map(_canonical_entry, entries)))
        names = self.names
        twice = [name for i, name in enumerate(names) if name in names[:i]]
        if twice:
            raise ValueError(
                f"{self!r}{where()} has the mesh axis {twice[0]!r} twice. A mesh axis divides one axis of an "
                "array; name it once."
            )

    @property
    def names(self) -> Names:
        """The mesh axes that the spec names, in order."""
        return tuple([name for entry in self.entries for name in names_of(entry)])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} of {self!r} cannot be set. Make a new PartitionSpec.")

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: Any) -> Any:
        return self.entries[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)

    def index(self, entry: Any) -> int:
        """Return the first axis with an entry.  Raises: ValueError if no axis has it."""
        return self.entries.index(_canonical_entry(entry))

    def count(self, entry: Any) -> int:
        """Return the number of axes with an entry."""
        return self.entries.count(_canonical_entry(entry))

    def __eq__(self, other: object) -> bool:
        return self.entries == other.entries if type(other) is PartitionSpec else NotImplemented

    def __hash__(self) -> int:
        return hash((PartitionSpec, self.entries))

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self.entries))})"

    def __reduce__(self) -> Any:
        return PartitionSpec, self.entries


def names_of(entry: Any) -> Names:
    """Return the mesh axes of one entry of a spec: none for None and for UNCONSTRAINED."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if type(entry) is tuple else (entry,)


def _canonical_entry(entry: Any) -> Any:
    """Return an entry with lists as tuples, one name without its tuple, and no name as None."""
    if type(entry) is PartitionSpec:
        raise TypeError(f"PartitionSpec{where()} got {entry!r} as an entry. Give its names instead.")
    if isinstance(entry, (tuple, list)):
        names = tuple(map(_canonical_name, entry))
        return names if len(names) > 1 else names[0] if names else None
    return entry if entry is None or entry is UNCONSTRAINED else _canonical_name(entry)


def _canonical_name(name: Any) -> AxisName:
    try:
        hash(name)
    except TypeError:
        name = None
    if name is None:
        raise TypeError(f"PartitionSpec{where()} got an entry that is no name of an axis. Give a string or a tuple.")
    return name  # type: ignore[no-any-return]
