"""The static arguments of shape operations: axes, sizes, permutations, as the user wrote them.

One idea: the public functions check them once, since they know the name of the argument; primitives get tuples of
integers in canonical form (non-negative axes).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from operator import index
from typing import Any, SupportsIndex

import numpy as np

from calque_core.errors import ConcretizationTypeError
from calque_core.frames.source import where
from calque_core.traces.tracer import is_tracer
from calque_core.types.avals import is_array_like, short_repr, typeof

Axes = int | Iterable[int] | None


def integers(name: str, argument: str, values: Any) -> tuple[int, ...]:
    """Return the argument `argument` of `name`, an iterable of integers, as a tuple.

    Raises: TypeError if it is something else; a tracer raises its own TracerIntegerConversionError.

    >>> from calque_core.engine.numpy_functions import integers
    >>> integers("reshape", "new_sizes", [2, 3])
    (2, 3)
    """
    if type(values) is tuple:
        for x in values:
            if type(x) is not int:
                break
        else:  # nearly always; 0.1 us sooner
            return values
    try:
        if not isinstance(values, _UNORDERED):
            return tuple(map(index, values))
    except ConcretizationTypeError:
        raise
    except TypeError:
        pass
    raise TypeError(f"{name}{where()}: {argument} is {short_repr(values)}. Give a sequence of integers.")


_UNORDERED = (set, frozenset, dict)


def one_or_several(name: str, argument: str, values: Any) -> tuple[int, ...]:
    """Return the argument `argument` of `name`, one integer or an iterable of integers, as a tuple.

    Raises: as `integers`, with the value as the user wrote it.

    >>> from calque_core.engine.numpy_functions import one_or_several
    >>> one_or_several("zeros", "shape", 2), one_or_several("zeros", "shape", [2, 3])
    ((2,), (2, 3))
    """
    if type(values) is tuple:  # nearly always
        return integers(name, argument, values)
    is_one = isinstance(values, SupportsIndex) and is_array_like(values) and not typeof(values).shape
    return integers(name, argument, (values,) if is_one else values)


def integer(name: str, argument: str, value: Any) -> int:
    """Return the argument `argument` of `name` as an int.

    Raises: TypeError if it is not an integer; a tracer raises its own TracerIntegerConversionError.

    >>> from calque_core.extend import integer
    >>> integer("integer_pow", "the exponent", 3)
    3
    """
    try:
        return index(value)
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"{name}{where()}: {argument} is {value!r}. Give an integer.") from None


def canonical_axis(name: str, axis: Any, ndim: int) -> int:
    """Return `axis` as a position in [0, ndim); a negative axis counts from the end.

    Raises: TypeError if `axis` is not an integer; ValueError if it is outside [-ndim, ndim).

    >>> from calque_core.engine.numpy_functions import canonical_axis
    >>> canonical_axis("rev", -1, 3)
    2
    """
    position = axis if type(axis) is int else _as_position(name, axis)
    if not -ndim <= position < ndim:
        raise ValueError(f"{name}{where()}: axis {position} is out of range for ndim {ndim}. {_axis_hint(ndim)}")
    return position + ndim if position < 0 else position


def _as_position(name: str, axis: Any) -> int:
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError(f"{name}{where()}: the axis is {axis!r}. Give an integer.")
    return integer(name, "the axis", axis)


def _axis_hint(ndim: int) -> str:
    return f"Use an axis from {-ndim} to {ndim - 1}." if ndim else "An array of rank 0 has no axes."


def canonical_axes(name: str, axes: Axes, ndim: int) -> tuple[int, ...]:
    """Return `axes` as positions in increasing order; `None` means all axes.

    Raises: TypeError if an axis is not an integer; ValueError if an axis is out of range or named twice.

    >>> from calque_core.engine.numpy_functions import canonical_axes
    >>> canonical_axes("reduce_sum", (-1, 0), 3), canonical_axes("reduce_sum", None, 2)
    ((0, 2), (0, 1))
    """
    if axes is None or axes is _all_axes(ndim):
        return _all_axes(ndim)
    positions = [canonical_axis(name, axis, ndim) for axis in _each(axes)]
    if len(set(positions)) != len(positions):
        raise ValueError(
            f"{name}{where()}: the axes {axes!r} name one axis twice for ndim {ndim}. Give each axis once."
        )
    return tuple(sorted(positions))


@cache
def _all_axes(ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim))


def _each(axes: Any) -> Iterable[Any]:
    if type(axes) is tuple or type(axes) is list:
        return axes
    return axes if isinstance(axes, Iterable) and not (is_array_like(axes) and _is_one(axes)) else (axes,)


def _is_one(axes: Any) -> bool:
    """Tell whether an array is one axis, or a tracer, which raises its own error as an axis."""
    return is_tracer(axes) or not axes.ndim
