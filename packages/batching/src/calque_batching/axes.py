"""Moving a batch axis to the position that a rule needs.

`not_mapped` is the axis of an unmapped value, which is the same for every element.  `matchaxis` and `moveaxis` are
core's, for authors of transformations with axes of their own.
"""

from __future__ import annotations

from typing import Any

from calque_core import matchaxis, moveaxis

__all__ = ["bdim_at_front", "broadcast", "matchaxis", "moveaxis", "not_mapped"]

Value = Any
not_mapped = None


def broadcast(x: Value, size: int, axis: int) -> Value:
    """Return an unmapped value with a batch axis of `size` equal elements at `axis`.

    Shapes: x [*a, *b] -> [*a, size, *b].  Dtype: kept.

    >>> import numpy as np
    >>> from calque_batching import broadcast
    >>> broadcast(np.zeros((2, 3)), 4, 1).shape
    (2, 4, 3)
    """
    return matchaxis(x, None, axis, size)


def bdim_at_front(x: Value, bdim: int | None, size: int) -> Value:
    """Return `x` with its batch axis in front, broadcast if it is unmapped.

    >>> import numpy as np
    >>> from calque_batching import bdim_at_front, not_mapped
    >>> bdim_at_front(np.zeros((2, 3)), 1, 3).shape, bdim_at_front(np.zeros((2, 3)), not_mapped, 4).shape
    ((3, 2), (4, 2, 3))
    """
    return matchaxis(x, bdim, 0, size)
