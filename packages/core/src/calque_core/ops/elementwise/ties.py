"""Ties: the weights of the operands of `max` and `min`, for their rules of derivatives of any order.

Convention where a derivative does not exist: equal operands have equal weights.

Read next: `selection.py`, for choices among the elements of an array.
"""

from __future__ import annotations

from typing import Any

from calque_core.ops.elementwise.arithmetic import add, mul
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.types.avals import typeof

Value = Any


def share(is_chosen: Value, is_strictly: Value, out: Value) -> Value:
    """Return the weight of an operand in the choice of one of two: 1, 0, or a half where both are equal.

    The weight is 0 if an operand is NaN: a NaN would pass through an outer choice, `where(isnan(x), 0, maximum(x, 0))`.

    >>> import numpy as np
    >>> from calque_core.engine import share
    >>> share(np.bool_(True), np.bool_(False), 2.0)  # 2.0 is one of two equal numbers
    np.float64(0.5)
    """
    dtype = typeof(out).dtype
    return mul(0.5, add(convert_element_type(is_chosen, dtype), convert_element_type(is_strictly, dtype)))
