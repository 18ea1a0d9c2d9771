"""Weights and orders of choices among elements (`reduce_max`, `sort`, ...), for rules of derivatives of any order.

Convention where a derivative does not exist: the extreme elements of a reduction have equal weights.

Read next: `ties.py`, for the choice of one of two operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core.ops.broadcast import broadcast_in_dim
from calque_core.ops.compare import eq
from calque_core.ops.convert import convert_element_type
from calque_core.ops.create import broadcasted_iota, zeros_like
from calque_core.ops.gather import GatherDimensionNumbers, gather
from calque_core.ops.reduce import reduce_sum
from calque_core.ops.shape import reshape
from calque_core.ops.sort import sort_p
from calque_core.ops.windows import GatherScatterMode
from calque_core.types.avals import Shape, typeof

Value = Any


def broadcast_reduced(out: Value, shape: Shape, axes: Shape) -> Value:
    """Return a reduced array, with its axes kept or not, in its former shape `shape`: repeated along `axes`."""
    kept = range(len(shape))
    return broadcast_in_dim(out, shape, kept if has_axes(out, shape) else [axis for axis in kept if axis not in axes])


def has_axes(out: Value, shape: Shape) -> bool:
    """Tell whether a reduction over some axes of an array of `shape` kept them."""
    return len(typeof(out).shape) == len(shape)


def extremes(x: Value, out: Value, axes: Shape) -> tuple[Value, Value]:
    """Return 1 for each element of `x` that equals its extreme `out` and 0 for other elements; then the counts of ones.

    `axes` are the reduced axes, which `out` has with size 1 or does not have; the counts have its shape.

    >>> import numpy as np
    >>> from calque_core.extend import extremes
    >>> extremes(np.array([1.0, 3.0, 3.0]), 3.0, (0,))
    (array([0., 1., 1.]), np.float64(2.0))
    """
    aval = typeof(x)
    is_extreme = convert_element_type(eq(x, broadcast_reduced(out, aval.shape, axes)), aval.dtype)
    return is_extreme, reduce_sum(is_extreme, axes, keepdims=has_axes(out, aval.shape))


def positions(x: Value, dimension: int) -> Value:
    """Return an array of the shape of `x` that holds each element's position along an axis.

    >>> import numpy as np
    >>> from calque_core.extend import positions
    >>> positions(np.zeros((2, 3)), 1).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    return broadcasted_iota(np.int32, typeof(x).shape, dimension)


def sort_by(keys: Sequence[Value], carried: Sequence[Value], dimension: int) -> list[Value]:
    """Return the arrays `carried` in the order that sorts the keys.

    >>> import numpy as np
    >>> from calque_core.extend import sort_by
    >>> sort_by([np.array([3, 1, 2])], [np.array([0.3, 0.1, 0.2])], 0)
    [array([0.1, 0.2, 0.3])]
    """
    outs = sort_p.bind(*keys, *carried, dimension=dimension, is_stable=True, num_keys=len(keys))
    return list(outs[len(keys) :])


def elements_at(x: Value, indices: Value, dimension: int) -> Value:
    """Return the elements of `x` at positions along an axis: `numpy.take_along_axis`, with indices that are in bounds.

    Shapes: x [*a, n, *b], indices [*a, k, *b] -> [*a, k, *b].  Dtype: of `x`.

    >>> import numpy as np
    >>> from calque_core.extend import elements_at
    >>> elements_at(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1], [0]]), 1).tolist()
    [[2.0], [3.0]]
    """
    shape = typeof(indices).shape
    if 0 in shape:
        return zeros_like(x, shape=shape)
    others = tuple(axis for axis in range(len(shape)) if axis != dimension)
    return gather(
        x,
        reshape(indices, (*shape, 1)),
        GatherDimensionNumbers((), (dimension,), (dimension,), others, others),
        (1,) * len(shape),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )
