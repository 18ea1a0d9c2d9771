"""Sorted arrays.  Equal elements keep their order, and NaN comes last, in both directions.

Read next: `linalg.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import canonicalize_dtype, implements, lax, typeof
from calque_core.extend import where
from calque_core.extend.numpy_functions import canonical_axis, ravel

Value = Any

_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")


def _operand_and_axis(name: str, a: Value, axis: int | None, kind: str | None, order: Any) -> tuple[Value, int]:
    """Return the array to sort and its axis; the flat array and 0 for `axis=None`."""
    if order is not None:
        raise TypeError(f"{name}{where()}: order={order!r} names fields, but the array has none. Remove order.")
    if kind not in _KINDS:
        raise ValueError(f"{name}{where()}: kind is {kind!r}. Use 'stable', or leave it out.")
    return (ravel(a), 0) if axis is None else (a, canonical_axis(name, axis, typeof(a).ndim))


def _reversed_order(x: Value) -> Value:
    """Return keys whose order is the reverse of the order of `x`, but with NaN last."""
    return lax.bitwise_not(x) if typeof(x).dtype.kind in "biu" else lax.neg(x)


@implements(np.sort)
def sort(
    a: Value,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Value:
    """Return the elements in increasing order along `axis`, or flattened for `axis=None`; decreasing with `descending`.

    `kind` and `stable` change nothing: the sort is stable.
    Raises: ValueError for an axis out of range; TypeError for `order`.

    >>> import numpy as np
    >>> from calque_numpy import sort
    >>> sort(np.array([3, 1, 2])), sort(np.array([3, 1, 2]), descending=True)
    (array([1, 2, 3]), array([3, 2, 1]))
    """
    a, axis = _operand_and_axis("sort", a, axis, kind, order)
    return lax.sort((_reversed_order(a), a), axis)[1] if descending else lax.sort(a, axis)


@implements(np.argsort)
def argsort(
    a: Value,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Value:
    """Return the positions of the elements in increasing order along `axis`, or in the flat array for `axis=None`.

    With `descending`, the order is decreasing; `kind` and `stable` change nothing: the sort is stable.
    Raises: ValueError for an axis out of range; TypeError for `order`.

    >>> import numpy as np
    >>> from calque_numpy import argsort
    >>> argsort(np.array([3, 1, 2]))
    array([1, 2, 0])
    """
    a, axis = _operand_and_axis("argsort", a, axis, kind, order)
    positions = lax.broadcasted_iota(canonicalize_dtype(np.intp), typeof(a).shape, axis)
    return lax.sort((_reversed_order(a) if descending else a, positions), axis)[1]
