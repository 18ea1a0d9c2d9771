"""The type of references: `Ref{f32[3]}`, of a mutable array of type `f32[3]`.

Read next: `ref.py`, the references; `passes/discharge.py`, which makes pure programs of programs with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from calque_core.errors import NoArrayError
from calque_core.frames.source import where
from calque_core.types.avals import AbstractValue, ShapedArray, reference_types, shaped_array
from calque_core.types.dtypes import float0


class AbstractRef(AbstractValue):
    """The type of a reference; `inner_aval` is the type of its array.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.ref import new_ref
    >>> make_jaxpr(lambda ref: ref[...])(new_ref(1.5)).in_avals
    [Ref{float64[]}]
    """

    __slots__ = ("inner_aval",)
    weak_type: ClassVar[bool] = False

    def __init__(self, inner_aval: Any) -> None:
        self.inner_aval = inner_aval

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and self.inner_aval == other.inner_aval

    def __hash__(self) -> int:
        return hash((AbstractRef, self.inner_aval))

    def __str__(self) -> str:
        return f"Ref{{{self.inner_aval}}}"

    __repr__ = __str__

    def str_short(self) -> str:
        return f"Ref{{{self.inner_aval.str_short()}}}"

    def to_tangent_aval(self) -> ShapedArray:
        """Return the type of tangents: a reference has none, its array has."""
        return shaped_array((), float0)

    def __getattr__(self, name: str) -> Any:
        """Refuse the attributes of types of arrays: a function on arrays takes no reference."""
        if name not in ("shape", "dtype", "kind", "ndim", "size"):
            raise AttributeError(f"AbstractRef has no attribute {name!r}.")
        raise NoArrayError(used_as_array(self))


def used_as_array(aval: AbstractRef) -> str:
    """Return the message for a reference where an array belongs."""
    return f"a reference of type {aval} was used as an array{where()}. Read it first: ref[...]."


def check_distinct_references(caller: str, operands: Iterable[Any]) -> None:
    """Check that no reference is there twice: a write to one would not reach the other.

    Raises: ValueError.
    """
    met: set[int] = set()
    for x in operands:
        if type(x) in reference_types:
            if id(x) in met:
                raise ValueError(
                    f"{caller} got one reference of type {reference_types[type(x)](x)} twice{where()}: as two "
                    "arguments, or as an argument and by closing over it. Pass it once, and use it by this name alone."
                )
            met.add(id(x))
