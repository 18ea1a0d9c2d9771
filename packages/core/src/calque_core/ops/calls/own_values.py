"""Values of own types in loops and branches: one of many that are stacked, many stacked to one, moved axes.

One idea: a move of the axes of a value moves the axes of each of its arrays, and its type gives the type of the result.

Read next: `primitives/own_values.py`, the two primitives; `ops/calls/scan.py`, whose evaluation takes steps by these
functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.late import late_function
from calque_core.ops.shapes.batch_axes import moveaxis
from calque_core.ops.shapes.joining import stack
from calque_core.primitives.own_values import lower_p as lower_p  # noqa: PLC0414  this module is their family's
from calque_core.primitives.own_values import lowered, raised
from calque_core.primitives.own_values import raise_p as raise_p  # noqa: PLC0414
from calque_core.traces.evaluators import plain_types
from calque_core.types.avals import typeof
from calque_core.types.own_types import is_own
from calque_core.types.type_queries import lower_avals, with_leading_axis, without_leading_axis

Value = Any

__all__ = ["is_run_on_arrays", "item_of", "lower_p", "moveaxis", "raise_p", "run_on_arrays", "stacked"]

_is_lowerable = late_function("calque_core.passes.lower_values", "is_lowerable")
_lower_values = late_function("calque_core.passes.lower_values", "lower_values")


def item_of(x: Value, i: int) -> Value:
    """Return number `i` of the values that are stacked in `x`."""
    aval = typeof(x)
    if not is_own(aval):
        return x[i]
    return raised([array[i] for array in lowered(x)], without_leading_axis(aval))


def stacked(values: Sequence[Value], aval: Any) -> Value:
    """Return values of the type `aval` as one, stacked; there may be none."""
    if not is_own(aval):
        return stack(values) if values else np.zeros((0, *aval.shape), aval.dtype)
    columns = list(zip(*map(lowered, values))) or [()] * len(aval.arrays())
    arrays = [stacked(column, x) for column, x in zip(columns, aval.arrays().values())]
    return raised(arrays, with_leading_axis(aval, len(values)))


def is_run_on_arrays(args: Sequence[Value], *jaxprs: Jaxpr) -> bool:
    """Tell whether a loop over values of own types is evaluated as a loop over their arrays.

    It is if an array is not NumPy's, since the array's class then runs the loop as one operation.
    """
    if not any(is_own(typeof(x)) for x in args):
        return False
    return not all(type(array) in plain_types for x in args for array in lowered(x)) and all(map(_is_lowerable, jaxprs))


def run_on_arrays(
    primitive: Any, args: Sequence[Value], params: dict[str, Any], out_avals: Sequence[Any]
) -> list[Value]:
    """Return the results of a loop, by evaluating the loop of the arrays of its operands."""
    programs = {name: _lower_values(x) if type(x) is Jaxpr else x for name, x in params.items()}
    lowered_params = primitive.adapted["lower_values"](partial(_count, args), **programs)
    arrays = iter(primitive.bind(*[array for x in args for array in lowered(x)], **lowered_params))
    return [raised([next(arrays) for _ in lower_avals(aval)], aval) for aval in out_avals]


def _count(args: Sequence[Value], start: int, stop: int) -> int:
    return sum(len(lower_avals(typeof(x))) for x in args[start:stop])


raise_p.def_pp(lambda params: {})
for _primitive in (lower_p, raise_p):
    _primitive.def_hole("jet", "Taylor series have arrays as their coefficients")
