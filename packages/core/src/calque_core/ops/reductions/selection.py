"""Weights of the extreme elements of an array (`reduce_max`, ...), for rules of derivatives of any order.

Convention where a derivative does not exist: the extreme elements of a reduction have equal weights.

Read next: `ties.py`, for the choice of one of two operands; `orders.py`, for the places of elements.
"""

from __future__ import annotations

from typing import Any

from calque_core.ops.elementwise.compare import eq
from calque_core.ops.elementwise.convert import convert_element_type
from calque_core.ops.reductions.reduce import reduce_sum
from calque_core.ops.shapes.broadcast import broadcast_reduced, has_axes
from calque_core.types.avals import Shape, typeof

Value = Any


def extremes(x: Value, out: Value, axes: Shape) -> tuple[Value, Value]:
    """Return 1 for each element of `x` that equals its extreme `out` and 0 for other elements; then the counts of ones.

    `axes` are the reduced axes, which `out` has with size 1 or does not have; the counts have its shape.

    >>> import numpy as np
    >>> from calque_core.engine import extremes
    >>> extremes(np.array([1.0, 3.0, 3.0]), 3.0, (0,))
    (array([0., 1., 1.]), np.float64(2.0))
    """
    aval = typeof(x)
    is_extreme = convert_element_type(eq(x, broadcast_reduced(out, aval.shape, axes)), aval.dtype)
    return is_extreme, reduce_sum(is_extreme, axes, keepdims=has_axes(out, aval.shape))
