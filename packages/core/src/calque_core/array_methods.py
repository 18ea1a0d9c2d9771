"""The base class of everything that behaves as an array without being NumPy's: tracers, device arrays.

It stands at the bottom because tracers need it, while its methods call operations, which need tracers.  So the class is
empty here, and `operators.py`, the module above all operations, gives it its methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_UPDATE = "Use lax.dynamic_update_index_in_dim, or numpy.where(positions == index, value, x)"
_OUTSIDE = "Return the value, and ask the array outside of the transformation"
INSTEAD = {  # what to write for an attribute of NumPy's or jax's arrays that traced values lack
    "flat": "Use x.ravel()",
    "fill": "Use numpy.full_like(x, value)",
    "itemset": _UPDATE,
    "put": _UPDATE,
    "at": _UPDATE,
    "resize": "Use numpy.reshape, or numpy.pad and a slice",
    "partition": "Use numpy.sort",
    "compress": "Use numpy.where(condition, x, 0), which keeps the shape",
    "view": "Use lax.bitcast_convert_type",
    "byteswap": "Use lax.bitcast_convert_type",
    **dict.fromkeys(("flags", "strides", "base", "data", "ctypes", "setflags"), _OUTSIDE),
    **dict.fromkeys(("tobytes", "tofile", "dump", "dumps", "block_until_ready", "devices", "device"), _OUTSIDE),
}


class ArrayMethods:
    """Operators, indexing, NumPy's protocols, and the methods that are one operation."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # == is elementwise, so equal hashes could not mean equal values


def array_method(function: F) -> F:
    """Make `function` a method of every array-like class, under its own name."""
    setattr(ArrayMethods, function.__name__, function)
    return function


def array_property(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make `function` a read-only property of every array-like class, under its own name."""
    setattr(ArrayMethods, function.__name__, property(function))
    return function
