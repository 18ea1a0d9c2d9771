"""Sums of as many terms as they need, and methods that run where some element needs them.

One idea: the elements of an array need different numbers of terms, and different methods.  So a sum goes on until each
element's is complete, and a branch leaves out a method that no element needs.

Read next: `incomplete.py`, which is made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from calque_core import typeof
from calque_core.lax import (
    abs,
    add,
    bitwise_and,
    bitwise_or,
    cond,
    full_like,
    gt,
    lt,
    mul,
    reduce_or,
    select,
    while_loop,
)

Value = Any
Values = tuple[Value, ...]

MOST_STEPS = 20_000.0  # a sum needs about eight times the square root of its parameters


def summed(step: Callable[[Value, Values], Values], start: Values, count: int = 1) -> Values:
    """Return the values after `step(n, values)` for n = 1, 2, ..., until no term changes its sum.

    The values end with `count` terms and the `count` sums of them.  An element whose sums are complete is kept: other
    elements may need more steps.
    """
    one = full_like(start[0], 1.0, shape=())
    epsilon = float(np.finfo(typeof(one).dtype).eps) / 8

    def is_open(values: Values) -> Value:
        terms, sums = values[-2 * count : -count], values[-count:]
        return reduce(bitwise_or, (gt(abs(t), mul(epsilon, abs(s))) for t, s in zip(terms, sums)))

    def go_on(carry: tuple[Value, Value, Values]) -> Value:
        n, mask, _ = carry
        return bitwise_and(reduce_or(mask), lt(n, MOST_STEPS))

    def advance(carry: tuple[Value, Value, Values]) -> tuple[Value, Value, Values]:
        n, mask, values = carry
        values = tuple(select(mask, new, old) for new, old in zip(step(n, values), values))
        return add(n, 1.0), is_open(values), values

    _, _, values = while_loop(go_on, advance, (one, is_open(start), start))
    return tuple(values)


def where_any(mask: Value, method: Callable[..., Values], count: int, *operands: Value) -> Values:
    """Return `method(*operands)`, `count` arrays like the operands, if some element of `mask` holds; otherwise zeros.

    A formula chooses between methods by element; a method that no element needs then takes no time.  `method` closes
    over no array, so that it is traced once for all calls with the same types.
    """
    return cond(reduce_or(mask), method, lambda *xs: (full_like(xs[0], 0.0),) * count, *operands)  # type: ignore[no-any-return]
