"""The greatest and least elements along an axis, with their positions.

One idea: the order is the order of `sort.py`, so that NaN counts as the greatest number and -0.0 equals 0.0; of equal
elements, the first is chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.frames.source import where
from calque_core.ops.elementwise.convert import stop_gradient
from calque_core.ops.elementwise.declare import ORDERED
from calque_core.ops.indexing.orders import elements_at, positions, sort_by
from calque_core.ops.indexing.sort import sort_key
from calque_core.ops.shapes.axes import canonical_axis, integer
from calque_core.ops.shapes.slices import slice_in_dim
from calque_core.primitives.primitive import Primitive, bind_checked
from calque_core.types.avals import ShapedArray, shaped_array, typeof
from calque_core.types.dtypes import dtype_name

Value = Any

top_k_p = Primitive("top_k", multiple_results=True)


@top_k_p.def_abstract_eval(cached=True)
def top_k_abstract_eval(x_aval: ShapedArray, *, k: int, axis: int) -> list[ShapedArray]:
    if x_aval.kind not in ORDERED:
        raise TypeError(
            f"top_k of {x_aval}{where()}: not defined for {dtype_name(x_aval.dtype)}. Use sort, which compares complex "
            "numbers by the real part first, or pass real numbers."
        )
    size = x_aval.shape[axis]
    if not 0 <= k <= size:
        raise ValueError(
            f"top_k of {x_aval}{where()}: k is {k}, but axis {axis} has {size} elements. Use a number from 0 to {size}."
        )
    shape = (*x_aval.shape[:axis], k, *x_aval.shape[axis + 1 :])
    return [shaped_array(shape, x_aval.dtype), shaped_array(shape, np.dtype(np.int32))]


def top_k_impl(x: Value, *, k: int, axis: int) -> list[Value]:
    """Sort the elements from last to first, so that the first of equal elements is the last of them in the order."""
    x = np.asarray(x)
    order = np.argsort(np.flip(sort_key(x), axis), axis, kind="stable")
    first = np.flip(x.shape[axis] - 1 - order, axis)
    indices = first[(*[slice(None)] * axis, slice(k))]
    return [np.take_along_axis(x, indices, axis), indices.astype(np.int32)]


top_k_p.def_impl(top_k_impl, leaf=True)


def top_k(operand: Value, k: int, *, axis: int = -1) -> tuple[Value, Value]:
    """Return the `k` greatest elements along `axis` in decreasing order, and their positions.

    NaN counts as the greatest number, and -0.0 equals 0.0; of equal elements, the first comes first.
    Shapes: operand [*a, n, *b] -> [*a, k, *b], twice.  Dtypes: kept; int32.
    Raises: ValueError if `k` is not in [0, n] or the axis is out of range; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import top_k
    >>> top_k(np.array([9.0, 3.0, 6.0, 9.0]), 3)
    (array([9., 9., 6.]), array([0, 3, 2], dtype=int32))
    """
    position = canonical_axis("top_k", axis, typeof(operand).ndim)
    values, indices = bind_checked(top_k_p, operand, k=integer("top_k", "k", k), axis=position)
    return values, indices


def approx_max_k(
    operand: Value,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Value, Value]:
    """Return the `k` greatest elements along `reduction_dimension` in decreasing order, and their positions.

    `recall_target` and `reduction_input_size_override` allow a platform to miss some of these elements.  No platform
    does so here: the result is exact and the one of `top_k`, which says shapes and dtypes.
    Raises: also ValueError if `recall_target` is not in (0, 1], or if `aggregate_to_topk` is false: an exact result has
    no candidates.

    >>> import numpy as np
    >>> from calque_core.lax import approx_max_k
    >>> approx_max_k(np.array([1.0, 3.0, 2.0]), 2)
    (array([3., 2.]), array([1, 2], dtype=int32))
    """
    _check_approximation("approx_max_k", recall_target, reduction_input_size_override, aggregate_to_topk)
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: Value,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Value, Value]:
    """Return the `k` least elements along `reduction_dimension` in increasing order, and their positions.

    The result is exact, as for `approx_max_k`; it is the first part of the sorted elements, so NaN comes last.
    Shapes, dtypes, errors: as `approx_max_k`.

    >>> import numpy as np
    >>> from calque_core.lax import approx_min_k
    >>> approx_min_k(np.array([1.0, 3.0, 2.0]), 2)
    (array([1., 2.]), array([0, 2], dtype=int32))
    """
    _check_approximation("approx_min_k", recall_target, reduction_input_size_override, aggregate_to_topk)
    aval = typeof(operand)
    axis = canonical_axis("approx_min_k", reduction_dimension, aval.ndim)
    k = integer("approx_min_k", "k", k)
    top_k_p.abstract(aval, k=k, axis=axis)
    (order,) = sort_by([stop_gradient(operand)], [positions(operand, axis)], axis)
    indices = slice_in_dim(order, 0, k, axis=axis)
    return elements_at(operand, indices, axis), indices


def _check_approximation(name: str, recall_target: float, input_size: int, is_aggregated: bool) -> None:
    integer(name, "reduction_input_size_override", input_size)
    if not is_aggregated:
        raise ValueError(
            f"{name}{where()}: aggregate_to_topk is {is_aggregated!r}, which asks for more candidates than k, but the "
            "result is exact on all platforms. Leave the argument out."
        )
    if not 0 < recall_target <= 1:
        raise ValueError(f"{name}{where()}: recall_target is {recall_target!r}. Give a number in (0, 1].")
