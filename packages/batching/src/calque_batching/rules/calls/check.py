"""Batching checks: one check of the whole batch, and none of elements that do not run the operation.

One idea: operands get the batch axis in front, and the check notes which of them have it.  In a branch or a loop that
runs for elements that do not take it, a check holds for these elements whatever its predicate says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calque_batching.axes import broadcast, moveaxis
from calque_core import Jaxpr, interpret, stage
from calque_core.engine import Check, batch_size
from calque_core.extend import defbatch, settings_key, shaped_array
from calque_core.lax import bitwise_not, bitwise_or, check_p

Value = Any


def check_batch(
    args: Sequence[Value], dims: Sequence[int | None], *, check: Check
) -> tuple[list[Value], list[int | None]]:
    """Check all elements.  A predicate that is the same for all is checked once, and so not at all for an empty batch.

    Shapes: predicate [*s] -> [n, *s].
    """
    predicate, *values = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims)]
    if dims[0] is None:
        predicate = broadcast(predicate, min(batch_size(args, dims), 1), 0)
    row = tuple(d is not None for d in dims[1:])
    return check_p.bind(predicate, *values, check=replace(check, batch=(row, *check.batch))), []


defbatch(check_p, check_batch)


def where_active(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program with one more operand in front, a bool that says whether its checks are made."""

    def run(is_active: Value, *args: Value) -> list[Value]:
        def checked(predicate: Value, *values: Value, check: Check) -> list[Value]:
            return check_p.bind(bitwise_or(predicate, bitwise_not(is_active)), *values, check=check)  # type: ignore[no-any-return]

        return interpret(jaxpr, {check_p: checked}, *args)

    avals = [shaped_array((), np.dtype(bool)), *jaxpr.in_avals]
    masked: Jaxpr = jaxpr.memo(("where active", *settings_key()), lambda: stage(run, avals, verb="vmap"))
    return masked
