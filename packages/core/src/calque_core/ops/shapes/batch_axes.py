"""Moving the batch axis of an array, for transformations that add an axis to values.

The batch axis of a value that is the same for every element is None.
"""

from __future__ import annotations

from typing import Any

from calque_core.ops.shapes.axes import canonical_axis
from calque_core.ops.shapes.broadcast import broadcast_in_dim
from calque_core.ops.shapes.shape import transpose
from calque_core.primitives.own_values import lowered, raised
from calque_core.types.avals import own_types, typeof
from calque_core.types.type_queries import with_axis_at, with_leading_axis, without_axis_at

Value = Any


def moveaxis(x: Value, source: int, destination: int) -> Value:
    """Return `x` with one axis moved; the other axes keep their order.

    Shapes: x [*a, n, *b] -> [*c, n, *d], where [*c, *d] is [*a, *b].  Dtype: kept.
    Negative positions count from the end.
    Raises: ValueError for a position outside of [-ndim, ndim).

    >>> import numpy as np
    >>> from calque_core import moveaxis
    >>> moveaxis(np.zeros((2, 3, 4)), 0, 2).shape
    (3, 4, 2)
    """
    if type(x) in own_types:
        return _moved(x, source, destination)
    ndim = len(typeof(x).shape)
    source, destination = canonical_axis("moveaxis", source, ndim), canonical_axis("moveaxis", destination, ndim)
    if source == destination:
        return x
    order = [i for i in range(ndim) if i != source]
    order.insert(destination, source)
    return transpose(x, order)


def matchaxis(x: Value, source: int | None, destination: int | None, size: int) -> Value:
    """Return `x` with its batch axis moved from `source` to `destination`, or broadcast if `source` is None.

    Raises: ValueError if `x` has a batch axis and `destination` is None.

    >>> import numpy as np
    >>> from calque_core import matchaxis
    >>> matchaxis(np.zeros((2, 3)), 0, 1, 2).shape, matchaxis(np.zeros(3), None, 1, 2).shape
    ((3, 2), (3, 2))
    """
    if source == destination:
        return x
    if destination is None:
        raise ValueError(
            "a mapped value cannot be returned without its batch axis. Give it an output axis, or reduce it first."
        )
    return _with_axis(x, destination, size) if source is None else moveaxis(x, source, destination)


def _moved(x: Value, source: int, destination: int) -> Value:
    """Return a value of an own type with one of its leading axes moved, which all of its arrays have."""
    aval = typeof(x)
    if source == destination:
        return x
    arrays = [moveaxis(array, source, destination) for array in lowered(x)]
    size = typeof(arrays[0]).shape[destination]
    return raised(arrays, with_axis_at(without_axis_at(aval, source), destination, size))


def _with_axis(x: Value, axis: int, size: int) -> Value:
    if type(x) in own_types:
        front = raised([_with_axis(array, 0, size) for array in lowered(x)], with_leading_axis(typeof(x), size))
        return moveaxis(front, 0, axis)
    shape = typeof(x).shape
    full = (*shape[:axis], size, *shape[axis:])
    return broadcast_in_dim(x, full, [i for i in range(len(full)) if i != axis])
