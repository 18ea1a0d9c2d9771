"""Batching checks: one check of the whole batch, and none of elements that do not run the operation.

One idea: operands get the batch axis in front, and the check notes which of them have it.  In a branch or a loop that
runs for elements that do not take it, a check holds for these elements whatever its predicate says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from calque_batching.axes import broadcast, moveaxis
from calque_core import Jaxpr, interpret, jaxprs_in_params, rules, stage
from calque_core.engine import Check, batch_size, has_effects_by_element, nested_jaxprs
from calque_core.extend import defbatch, missing_rule, settings_key, shaped_array
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


@check_p.def_rule("where_active")
def check_where_active(is_active: Value, predicate: Value, *values: Value, check: Check) -> list[Value]:
    """Let the check hold for elements that do not run it."""
    return check_p.bind(bitwise_or(predicate, bitwise_not(is_active)), *values, check=check)  # type: ignore[no-any-return]


def where_active(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program with one more operand in front: a bool, whether its effects by element happen.

    Raises: MissingRuleError for a primitive with such an effect and without a rule.
    """

    def run(is_active: Value, *args: Value) -> list[Value]:
        eqns = [
            eqn for program in nested_jaxprs(jaxpr) for eqn in program.eqns if not any(jaxprs_in_params(eqn.params))
        ]
        masked = {eqn.primitive for eqn in eqns if has_effects_by_element(eqn)}
        table = rules("where_active")
        for primitive in masked:
            if primitive not in table:
                raise missing_rule(primitive, "where_active")
        return interpret(jaxpr, {primitive: partial(table[primitive], is_active) for primitive in masked}, *args)

    avals = [shaped_array((), np.dtype(bool)), *jaxpr.in_avals]
    masked: Jaxpr = jaxpr.memo(("where active", *settings_key()), lambda: stage(run, avals, verb="vmap"))
    return masked
