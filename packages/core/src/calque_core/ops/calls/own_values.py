"""Values of own types in loops and branches: one of many that are stacked, many stacked to one, moved axes.

One idea: a move of the axes of a value moves the axes of each of its arrays, and its type gives the type of the result.

Read next: `primitives/own_values.py`, the two primitives; `ops/calls/scan.py`, whose evaluation takes steps by these
functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core.ops.shapes.batch_axes import moveaxis
from calque_core.ops.shapes.joining import stack
from calque_core.primitives.own_values import lower_p as lower_p  # noqa: PLC0414  this module is their family's
from calque_core.primitives.own_values import lowered, raised
from calque_core.primitives.own_values import raise_p as raise_p  # noqa: PLC0414
from calque_core.types.avals import typeof
from calque_core.types.own_types import is_own
from calque_core.types.type_queries import with_leading_axis, without_leading_axis

Value = Any

__all__ = ["item_of", "lower_p", "moveaxis", "raise_p", "stacked"]


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


raise_p.def_pp(lambda params: {})
for _primitive in (lower_p, raise_p):
    _primitive.def_hole("jet", "Taylor series have arrays as their coefficients")
