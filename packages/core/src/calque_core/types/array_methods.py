"""The base class of the array classes that are not NumPy's: tracers, device arrays.

Tracers need the class, and its methods call operations, which need tracers.  So the class is empty here, and
`operators.py`, the module above all operations, adds the methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class ArrayMethods:
    """Operators, indexing, NumPy's protocols, and the methods that are one operation."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # == is elementwise, so a hash cannot agree with it


def array_method(function: F) -> F:
    """Make `function` a method of every array-like class, under its own name."""
    setattr(ArrayMethods, function.__name__, function)
    return function


def array_property(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make `function` a read-only property of every array-like class, under its own name."""
    setattr(ArrayMethods, function.__name__, property(function))
    return function
