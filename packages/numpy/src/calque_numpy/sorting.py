"""Sorted arrays.  Equal elements keep their order, and NaN comes last, in both directions.

Read next: `linalg.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import canonicalize_dtype, implements, lax, typeof
from calque_core.engine.numpy_functions import canonical_axis, integers, ravel
from calque_core.extend import where

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
    return lax.bitwise_not(x) if typeof(x).kind in "biu" else lax.neg(x)


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
    a = a if typeof(a).ndim else ravel(a)  # NumPy's result of a number has one element, too
    a, axis = _operand_and_axis("argsort", a, axis, kind, order)
    positions = lax.broadcasted_iota(canonicalize_dtype(np.intp), typeof(a).shape, axis)
    return lax.sort((_reversed_order(a) if descending else a, positions), axis)[1]


@implements(np.partition)
def partition(a: Value, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Value:
    """Return the elements with the kth in its sorted place, smaller ones before it: here they are sorted.

    Raises: ValueError for a position or an axis out of range, or another kind; TypeError for `order`, or a position
    that is no integer.

    >>> import numpy as np
    >>> from calque_numpy import partition
    >>> partition(np.array([3, 1, 2]), 1)
    array([1, 2, 3])
    """
    _check_kind("partition", kind)
    _check_positions("partition", a, kth, axis)
    return sort(a, axis, None, order)


@implements(np.argpartition)
def argpartition(a: Value, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Value:
    """Return the positions of the elements in the order of `partition`: here they are sorted.

    Raises: as `partition`.

    >>> import numpy as np
    >>> from calque_numpy import argpartition
    >>> argpartition(np.array([3, 1, 2]), 1)
    array([1, 2, 0])
    """
    a = a if typeof(a).ndim else ravel(a)
    _check_kind("argpartition", kind)
    _check_positions("argpartition", a, kth, axis)
    return argsort(a, axis, None, order)


def _check_kind(name: str, kind: str) -> None:
    if kind != "introselect":
        raise ValueError(f"{name}{where()}: the kind is {kind!r}. Leave it out.")


def _check_positions(name: str, a: Value, kth: Any, axis: int | None) -> None:
    aval = typeof(a)
    size = aval.size if axis is None else aval.shape[canonical_axis(name, axis, aval.ndim)]
    for k in integers(name, "kth", np.atleast_1d(kth)):
        if aval.size and not -size <= k < size:
            raise ValueError(
                f"{name} of {aval}{where()}: the position {k} is out of bounds for {size} elements. Use {-size} to "
                f"{size - 1}."
            )


@implements(np.lexsort)
def lexsort(keys: Value, axis: int = -1) -> Value:
    """Return the positions that sort by several keys, of which the last is the first to be compared.

    Shapes: keys, k arrays of shape [*s], or [k, *s] -> [*s].
    Raises: ValueError for no key or an axis out of range; ShapeError for keys of different shapes.

    >>> import numpy as np
    >>> from calque_numpy import lexsort
    >>> lexsort([np.array([3, 1, 2]), np.array([0, 1, 0])])
    array([2, 0, 1])
    """
    rows = list(keys) if isinstance(keys, (list, tuple)) else list(lax.unstack(keys))
    if not rows:
        raise ValueError(f"lexsort{where()}: there are no keys. Give at least one.")
    shape = typeof(rows[0]).shape
    if not shape and axis in (-1, 0):
        return lax.full((), 0, canonicalize_dtype(np.intp))
    axis = canonical_axis("lexsort", axis, len(shape))
    positions = lax.broadcasted_iota(canonicalize_dtype(np.intp), shape, axis)
    return lax.sort((*rows[::-1], positions), axis, num_keys=len(rows))[-1]


@implements(np.sort_complex)
def sort_complex(a: Value) -> Value:
    """Return the elements along the last axis as complex numbers, sorted by the real and then the imaginary part.

    Raises: ValueError for an array of rank 0.

    >>> import numpy as np
    >>> from calque_numpy import sort_complex
    >>> sort_complex(np.array([2.0, 1.0]))
    array([1.+0.j, 2.+0.j])
    """
    dtype = typeof(a).dtype
    is_narrow = dtype.kind in "iu" and dtype.itemsize <= 2
    wide = dtype if dtype.kind == "c" else np.dtype(np.complex64 if is_narrow else np.complex128)
    return sort(lax.convert_element_type(a, canonicalize_dtype(wide)))
