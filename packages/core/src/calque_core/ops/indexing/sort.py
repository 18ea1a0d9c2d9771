"""Sorting along an axis: one array, or several by the keys of the first arrays.

NaNs come last, and -0.0 equals 0.0.  Evaluation is stable also without `is_stable`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.ops.shapes.axes import canonical_axis, integer
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import ShapedArray, typeof
from calque_core.types.dtypes import REGISTERED
from calque_core.types.limits import wide_dtype

Value = Any
Params = dict[str, Any]

sort_p = Primitive("sort", multiple_results=True)


@sort_p.def_abstract_eval
def sort_abstract_eval(*avals: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> list[ShapedArray]:
    if len({aval.shape for aval in avals}) != 1:
        types = " and ".join(str(aval) for aval in avals)
        raise ShapeError(f"sort of {types}{where()}: the shapes differ. Broadcast the operands to one shape.")
    if not 1 <= num_keys <= len(avals):
        raise ValueError(
            f"sort{where()}: num_keys is {num_keys}. Use a number from 1 to {len(avals)}, the number of operands."
        )
    return [aval.strip_weak_type() for aval in avals]


def sort_impl(*operands: Value, dimension: int, is_stable: bool, num_keys: int) -> list[Value]:
    keys = [sort_key(x) for x in operands[:num_keys]]
    if len(operands) == 1 and keys[0] is operands[0]:
        return [np.sort(operands[0], dimension, kind="stable")]
    if num_keys == 1:
        order = np.argsort(keys[0], dimension, kind="stable")
    else:
        order = np.lexsort(keys[::-1], dimension)
    return [np.take_along_axis(x, order, dimension) for x in operands]


def sort_key(x: Value) -> Value:
    """Return the sort key of `x`: `x`, or its values in float32 if NumPy does not sort NaNs of this dtype last."""
    return x.astype(wide_dtype(x.dtype)) if x.dtype.isbuiltin == REGISTERED else x


def sort_impl_for_types(*avals: ShapedArray, num_keys: int, **_: Any) -> Callable[..., list[Value]] | None:
    """Return the sorting of vectors by one of them, without the indices that NumPy makes for more axes: 6 us sooner."""
    if avals[0].ndim != 1 or num_keys != 1 or len(avals) == 1 or avals[0].dtype.isbuiltin == REGISTERED:
        return None

    def evaluate(*operands: Value) -> list[Value]:
        order = operands[0].argsort(kind="stable")
        return [x.take(order) for x in operands]

    return evaluate


sort_p.def_impl(sort_impl, leaf=True, for_types=sort_impl_for_types)


def sort(operand: Value | Sequence[Value], dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Value:
    """Return `operand` sorted along an axis, or a tuple of arrays rearranged together by the first `num_keys` of them.

    Shapes: each [*s] -> [*s].  Dtypes: kept.  NaNs come last; complex numbers are ordered by real, then imaginary part.
    `is_stable=False` lets a compiled program reorder equal keys.
    Raises: ValueError if the axis is out of range, there are no operands, or `num_keys` exceeds their number;
    ShapeError if the shapes differ.

    >>> import numpy as np
    >>> from calque_core.lax import sort
    >>> sort(np.array([3, 1, 2]))
    array([1, 2, 3])
    >>> sort((np.array([3, 1, 2]), np.array([30, 10, 20])))
    (array([1, 2, 3]), array([10, 20, 30]))
    """
    is_single = not isinstance(operand, (tuple, list))
    operands = [operand] if is_single else list(operand)
    if not operands:
        raise ValueError(f"sort{where()} got no operands. Give at least one array.")
    avals = [typeof(x) for x in operands]
    params: Params = {
        "dimension": canonical_axis("sort", dimension, avals[0].ndim),
        "is_stable": bool(is_stable),
        "num_keys": integer("sort", "num_keys", num_keys),
    }
    sort_abstract_eval(*avals, **params)
    outs = sort_p.bind(*operands, **params)
    return outs[0] if is_single else tuple(outs)


def sort_key_val(keys: Value, values: Value, dimension: int = -1, is_stable: bool = True) -> tuple[Value, Value]:
    """Return `keys` sorted along an axis, and `values` in the same order.

    Shapes: keys [*s], values [*s] -> [*s], twice.  Dtypes, order, errors: as `sort`.

    >>> import numpy as np
    >>> from calque_core.lax import sort_key_val
    >>> sort_key_val(np.array([3, 1, 2]), np.array([0.3, 0.1, 0.2]))
    (array([1, 2, 3]), array([0.1, 0.2, 0.3]))
    """
    keys, values = sort((keys, values), dimension, is_stable)
    return keys, values
