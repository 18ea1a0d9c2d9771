"""Moving a batch axis to where it is wanted.

`not_mapped` is the axis of a value that has none: it is the same for every element.
"""

from __future__ import annotations

from typing import Any

from calque_core.avals import typeof
from calque_core.lax import broadcast_in_dim, transpose

Value = Any
not_mapped = None


def moveaxis(x: Value, source: int, destination: int) -> Value:
    """Return `x` with one axis moved, the others in order.

    Shapes: x [*a, n, *b] -> [*c, n, *d], where [*c, *d] is [*a, *b].  Dtype: kept.
    Negative positions count from the end.

    >>> import numpy as np
    >>> from calque_batching import moveaxis
    >>> moveaxis(np.zeros((2, 3, 4)), 0, 2).shape
    (3, 4, 2)
    """
    ndim = len(typeof(x).shape)
    source, destination = source % ndim, destination % ndim
    if source == destination:
        return x
    order = [i for i in range(ndim) if i != source]
    order.insert(destination, source)
    return transpose(x, order)


def broadcast(x: Value, size: int, axis: int) -> Value:
    """Return an unmapped value with a batch axis of `size` equal elements at `axis`.

    Shapes: x [*a, *b] -> [*a, size, *b].  Dtype: kept.

    >>> import numpy as np
    >>> from calque_batching import broadcast
    >>> broadcast(np.zeros((2, 3)), 4, 1).shape
    (2, 4, 3)
    """
    shape = typeof(x).shape
    full = (*shape[:axis], size, *shape[axis:])
    return broadcast_in_dim(x, full, [i for i in range(len(full)) if i != axis])


def bdim_at_front(x: Value, bdim: int | None, size: int) -> Value:
    """Return `x` with its batch axis in front, broadcast if it has none.

    >>> import numpy as np
    >>> from calque_batching import bdim_at_front, not_mapped
    >>> bdim_at_front(np.zeros((2, 3)), 1, 3).shape, bdim_at_front(np.zeros((2, 3)), not_mapped, 4).shape
    ((3, 2), (4, 2, 3))
    """
    return matchaxis(x, bdim, 0, size)


def matchaxis(x: Value, source: int | None, destination: int | None, size: int) -> Value:
    """Return `x` with its batch axis moved from `source` to `destination`, or broadcast if it has none.

    Raises: ValueError if it has one, and `destination` is None.

    >>> import numpy as np
    >>> from calque_batching import matchaxis
    >>> matchaxis(np.zeros((2, 3)), 0, 1, 2).shape, matchaxis(np.zeros(3), None, 1, 2).shape
    ((3, 2), (3, 2))
    """
    if source == destination:
        return x
    if destination is None:
        raise ValueError("a mapped value was to be returned without a batch axis. Give it an axis, or reduce it first.")
    return broadcast(x, size, destination) if source is None else moveaxis(x, source, destination)
