"""Python integers that do not fit their type in a program.

One idea: Python's operators refuse `2**40 + numpy.int8(1)`, but a compiled conversion would wrap around.  A program
knows the weak integer arguments that it converts directly, so a call can refuse a value before the program runs.
A value that the program computed wraps around, as in arrays, and so does an argument in a branch or a loop, which may
not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calque_core import Atom, Jaxpr, Var, iinfo
from calque_core.engine import kind_of
from calque_core.lax import convert_element_type_p

Value = Any


class Bound(NamedTuple):
    """The narrowest integer type that one argument is converted to in a program."""

    argument: int
    dtype: np.dtype[Any]
    lowest: int
    highest: int


Bounds = tuple[Bound, ...]


def bounds_of(jaxpr: Jaxpr) -> Bounds:
    """Return the bounds of the weak integer arguments of a program, at most two for each argument."""
    numbers: dict[Atom, int] = {v: i for i, v in enumerate(jaxpr.invars) if _is_weak_integer(v)}
    if not numbers:
        return ()
    bounds = [_bound(numbers[v], dtype) for v, dtype in _conversions(jaxpr) if v in numbers]
    lowest = {bound.argument: bound for bound in sorted(bounds, key=lambda bound: bound.lowest)}
    highest = {bound.argument: bound for bound in sorted(bounds, key=lambda bound: -bound.highest)}
    return tuple(sorted({*lowest.values(), *highest.values()}, key=lambda bound: bound.argument))


def _is_weak_integer(v: Var) -> bool:
    return getattr(v.aval, "weak_type", False) and v.aval.kind == "i"


def _bound(index: int, dtype: np.dtype[Any]) -> Bound:
    limits = iinfo(dtype)
    return Bound(index, dtype, int(limits.min), int(limits.max))


def _conversions(jaxpr: Jaxpr) -> Iterator[tuple[Atom, np.dtype[Any]]]:
    """Yield each operand that is converted to an integer type with a smaller range, and that type."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is convert_element_type_p:
            old, new = eqn.invars[0].aval.dtype, eqn.params["new_dtype"]
            if kind_of(new) in "iu" and not np.can_cast(old, new):
                yield eqn.invars[0], new
        elif eqn.primitive.adapted["means"] is not None:
            inner: Jaxpr = eqn.primitive.adapted["means"](**eqn.params)
            bounds = inner.memo("bounds", partial(bounds_of, inner))
            yield from ((eqn.invars[bound.argument], bound.dtype) for bound in bounds)


def fit(bounds: Bounds, args: Sequence[Value]) -> bool:
    """Tell whether the Python integers among the arguments are within the bounds."""
    return all(type(x := args[i]) is not int or lowest <= x <= highest for i, _, lowest, highest in bounds)


def check_fit(bounds: Bounds, args: Sequence[Value], caller: str, names: Callable[[], Sequence[str]]) -> None:
    """Check that the Python integers among the arguments are within the bounds.

    Raises: OverflowError, naming the argument.
    """
    for bound in bounds:
        if not fit((bound,), args):
            x, name = args[bound.argument], names()[bound.argument]
            raise OverflowError(
                f"{caller}: the argument {name} is the Python integer {x}, which does not fit {bound.dtype}, its dtype "
                f"in the program. Pass numpy.int64({x}), or convert the other operand first."
            )
