"""Key paths: where in a tree a leaf sits.

Owns the four key entries and `keystr`, which writes a path as the user would write the access in Python.
The one idea: a path is a plain tuple of hashable entries, and each entry prints itself, so that an error message can
say `params['layers'][0].w`. Nodes of a user's own class may use any hashable object with a `__str__` as an entry.

Read next: `kinds.py`, where each kind of node has a function for the entries of its children.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NoReturn, TypeAlias

KeyEntry: TypeAlias = Hashable
KeyPath: TypeAlias = tuple[KeyEntry, ...]


class FieldKey:
    """An immutable key of one field, compared by class and field; abstract.

    Four frozen dataclasses would do the same, and cost 5 ms at every import.
    """

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    @property
    def value(self) -> Hashable:
        """The one field, under any name."""
        value: Hashable = getattr(self, self.__match_args__[0])
        return value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldKey) and type(other) is type(self) and other.value == self.value

    def __hash__(self) -> int:
        return hash((type(self), self.value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__match_args__[0]}={self.value!r})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self!r} cannot be changed. Make a new {type(self).__name__}.")

    def __reduce__(self) -> tuple[type[FieldKey], tuple[Hashable]]:
        return type(self), (self.value,)


class DictKey(FieldKey):
    """Name the child of a mapping under `key`.

    >>> from calque_pytree import DictKey
    >>> str(DictKey("w"))
    "['w']"
    """

    __slots__ = ("key",)
    __match_args__ = ("key",)
    key: Hashable

    def __init__(self, key: Hashable) -> None:
        object.__setattr__(self, "key", key)

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class SequenceKey(FieldKey):
    """Name the child of a list or tuple at position `idx`.

    >>> from calque_pytree import SequenceKey
    >>> str(SequenceKey(2))
    '[2]'
    """

    __slots__ = ("idx",)
    __match_args__ = ("idx",)
    idx: int

    def __init__(self, idx: int) -> None:
        object.__setattr__(self, "idx", idx)

    def __str__(self) -> str:
        return f"[{self.idx}]"


class GetAttrKey(FieldKey):
    """Name the child of an object that is its attribute `name`.

    >>> from calque_pytree import GetAttrKey
    >>> str(GetAttrKey("w"))
    '.w'
    """

    __slots__ = ("name",)
    __match_args__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __str__(self) -> str:
        return f".{self.name}"


class FlattenedIndexKey(FieldKey):
    """Name the child number `key` of a registered node whose class names no children.

    >>> from calque_pytree import FlattenedIndexKey
    >>> str(FlattenedIndexKey(1))
    '[<flat index 1>]'
    """

    __slots__ = ("key",)
    __match_args__ = ("key",)
    key: int

    def __init__(self, key: int) -> None:
        object.__setattr__(self, "key", key)

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


def simple_key(entry: KeyEntry) -> str:
    """Return the bare name that `entry` holds: the key, the index or the attribute's name."""
    return str(entry.value if isinstance(entry, FieldKey) else entry)


def keystr(keys: Iterable[KeyEntry], *, simple: bool = False, separator: str = "") -> str:
    """Return the path `keys` as text; with `simple=True` the bare names, joined by `separator`.

    >>> from calque_pytree import DictKey, GetAttrKey, SequenceKey, keystr
    >>> path = (DictKey("layers"), SequenceKey(0), GetAttrKey("w"))
    >>> keystr(path)
    "['layers'][0].w"
    >>> keystr(path, simple=True, separator="/")
    'layers/0/w'
    """
    return separator.join(map(simple_key if simple else str, keys))
