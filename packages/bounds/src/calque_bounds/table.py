"""Short forms of interval rules.

One idea: most operations grow with each operand, so that each bound of the result comes from the same bounds of the
operands.  An operation that does not round is in `EXACT`: on constants, it makes a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from calque_bounds.interval import Interval
from calque_core import Primitive, lax, typeof

Value = Any
EXACT: set[Primitive] = set()


def def_growing(*primitives: Primitive) -> None:
    """Define the rules of primitives that do not round and grow with each operand."""
    EXACT.update(primitives)
    for primitive in primitives:
        primitive.def_rule("bounds", partial(grow, primitive))


def grow(primitive: Primitive, *xs: Interval, **params: Any) -> Any:
    """Apply a primitive to the lower and to the upper bounds."""
    lower = primitive.bind(*[x.lower for x in xs], **params)
    is_exact = all(x.is_exact for x in xs)
    upper = lower if is_exact else primitive.bind(*[x.upper for x in xs], **params)
    return [Interval(*pair) for pair in zip(lower, upper)] if primitive.multiple_results else Interval(lower, upper)


def def_floats(primitive: Primitive, rule: Callable[..., Any]) -> None:
    """Define the rule of a primitive on floats.  Equal integers give equal bounds, other ones all integers."""

    @primitive.def_rule("bounds")
    def dispatched(*xs: Interval, **params: Any) -> Any:
        if typeof(xs[-1].lower).kind == "f":
            return rule(*xs, **params)
        return of_integers(primitive, xs, params)


def of_integers(primitive: Primitive, xs: Sequence[Interval], params: dict[str, Any]) -> Interval:
    """Return the result where all operands are known; where they are not, all integers, since sums may wrap around."""
    out = primitive.bind(*[x.lower for x in xs], **params)
    if all(x.is_exact for x in xs):
        return Interval(out, out)
    return all_unless(reduce(lax.bitwise_and, [lax.eq(*x) for x in xs]), out, out)


def all_unless(condition: Value, lower: Value, upper: Value) -> Interval:
    """Return an interval of integers or bools, but all of the dtype unless a condition holds."""
    dtype = typeof(lower).dtype
    low, high = (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return Interval(lax.select(condition, lower, dtype.type(low)), lax.select(condition, upper, dtype.type(high)))
