"""Places of elements along an axis, and arrays in the order of other arrays: for the rules of `sort` and `top_k`.

Read next: `selection.py`, for the weights of extreme elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core.ops.indexing.gather import GatherDimensionNumbers, gather
from calque_core.ops.indexing.sort import sort_p
from calque_core.ops.indexing.windows import GatherScatterMode
from calque_core.ops.shapes.create import broadcasted_iota, zeros_like
from calque_core.ops.shapes.shape import reshape
from calque_core.types.avals import typeof

Value = Any


def positions(x: Value, dimension: int) -> Value:
    """Return an array of the shape of `x` that holds each element's position along an axis.

    >>> import numpy as np
    >>> from calque_core.engine import positions
    >>> positions(np.zeros((2, 3)), 1).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    return broadcasted_iota(np.int32, typeof(x).shape, dimension)


def sort_by(keys: Sequence[Value], carried: Sequence[Value], dimension: int) -> list[Value]:
    """Return the arrays `carried` in the order that sorts the keys.

    >>> import numpy as np
    >>> from calque_core.engine import sort_by
    >>> sort_by([np.array([3, 1, 2])], [np.array([0.3, 0.1, 0.2])], 0)
    [array([0.1, 0.2, 0.3])]
    """
    outs = sort_p.bind(*keys, *carried, dimension=dimension, is_stable=True, num_keys=len(keys))
    return list(outs[len(keys) :])


def elements_at(x: Value, indices: Value, dimension: int) -> Value:
    """Return the elements of `x` at positions along an axis: `numpy.take_along_axis`, with indices that are in bounds.

    Shapes: x [*a, n, *b], indices [*a, k, *b] -> [*a, k, *b].  Dtype: of `x`.

    >>> import numpy as np
    >>> from calque_core.engine import elements_at
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
