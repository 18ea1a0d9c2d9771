"""The updates of a scatter: their places, and the joint effect of several updates of one place.

The rules of derivatives, of any order, are written with these; so is `scatter_apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from calque_core.calls.api_util import check_callable
from calque_core.ops.calls.fori_loop import fori_loop
from calque_core.ops.calls.mapping import associative_scan
from calque_core.ops.elementwise.arithmetic import div, max, mul
from calque_core.ops.elementwise.compare import bitwise_or, eq, gt, ne, select
from calque_core.ops.elementwise.convert import convert_element_type, discard
from calque_core.ops.elementwise.declare import as_result
from calque_core.ops.indexing.gather import GatherDimensionNumbers, gather
from calque_core.ops.indexing.orders import sort_by
from calque_core.ops.indexing.scatter import ScatterDimensionNumbers, scatter, scatter_add, scatter_p, scatter_windows
from calque_core.ops.indexing.windows import GatherScatterMode, as_indices, dimension_numbers_of
from calque_core.ops.reductions.reduce import reduce_max
from calque_core.ops.shapes.axes import integers
from calque_core.ops.shapes.broadcast import broadcast
from calque_core.ops.shapes.create import full, iota, zeros_like
from calque_core.ops.shapes.joining import concatenate
from calque_core.ops.shapes.shape import reshape, rev, slice
from calque_core.types.avals import Shape, shaped_array, typeof

Value = Any
Params = dict[str, Any]


def read_windows(
    x: Value, indices: Value, update_shape: Shape, params: Params, *, unread: Any = 0, is_clipped: bool = False
) -> Value:
    """Return the elements of `x` where a scatter with these parameters puts updates; `unread` for a dropped update.

    Shapes: x [*s] -> update_shape.  Dtype: kept.
    """
    numbers: ScatterDimensionNumbers = params["dimension_numbers"]
    is_clip = params["mode"] is GatherScatterMode.CLIP
    return gather(
        x,
        indices,
        GatherDimensionNumbers(*numbers),
        scatter_windows(typeof(x).shape, update_shape, numbers).sizes,
        unique_indices=params["unique_indices"],
        indices_are_sorted=params["indices_are_sorted"],
        mode=GatherScatterMode.CLIP if is_clip or is_clipped else GatherScatterMode.FILL_OR_DROP,
        fill_value=unread,
    )


def product_of_others(x: Value, indices: Value, updates: Value, params: Params) -> Value:
    """Return, for each element of the updates, the product of all other updates of its place in `x`."""
    shape = typeof(updates).shape
    if params["unique_indices"] or prod(shape) < 2:
        return full(shape, 1, typeof(updates).dtype)
    places = reshape(iota(np.int32, typeof(x).size), typeof(x).shape)
    keys = reshape(read_windows(places, indices, shape, params, unread=-1), (prod(shape),))
    key, order, values = _sorted(keys, iota(np.int32, prod(shape)), reshape(updates, (prod(shape),)))
    others = mul(_products_before(key, values), rev(_products_before(rev(key, (0,)), rev(values, (0,))), (0,)))
    return reshape(sort_by([order], [others], 0)[0], shape)


def _sorted(keys: Value, *carried: Value) -> list[Value]:
    return sort_by([keys], [keys, *carried], 0)


def _products_before(key: Value, values: Value) -> Value:
    """Return, for each value, the product of the values before it that have its key; equal keys are neighbours."""
    n = typeof(key).shape[0]
    is_first = concatenate([full((1,), True), ne(slice(key, (1,), (n,)), slice(key, (0,), (n - 1,)))], 0)
    one = full((1,), 1, typeof(values).dtype)
    previous = select(
        is_first, broadcast(typeof(values).dtype.type(1), (n,)), concatenate([one, slice(values, (0,), (n - 1,))], 0)
    )

    def combine(left: tuple[Value, Value], right: tuple[Value, Value]) -> tuple[Value, Value]:
        return bitwise_or(left[0], right[0]), select(right[0], right[1], mul(left[1], right[1]))

    return associative_scan(combine, (is_first, previous))[1]


def extreme_shares(operands: Sequence[Value], out: Value, params: Params) -> tuple[Value, Value]:
    """Return the weights of elements and of updates in `out`, the extreme of both; equal values share the weight."""
    x, indices, updates = operands
    shape, dtype = typeof(updates).shape, typeof(x).dtype
    is_old = convert_element_type(eq(x, out), dtype)
    is_new = convert_element_type(eq(updates, read_windows(out, indices, shape, params)), dtype)
    count = max(scatter_add(is_old, indices, is_new, **params), dtype.type(1))
    return div(is_old, count), div(is_new, read_windows(count, indices, shape, params, unread=1))


def scatter_apply(  # noqa: PLR0913 -- JAX's signature
    operand: Value,
    scatter_indices: Value,
    func: Callable[[Value], Value],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Shape = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Value:
    """Return `operand` with `func` applied to the elements to which `scatter_indices` point.

    `func` acts on each element alone.  It is applied once for each row of indices that points to an element; with
    `unique_indices`, which promises that it is one row, only to these elements, otherwise to all and then chosen.
    `update_shape` is the shape that the updates of `scatter` have.  Windows, modes and promises are as for `scatter`.
    Shapes: operand [*s], scatter_indices [*rows, k] -> [*s].  Dtype: of `operand`.
    Raises: as `scatter`.

    >>> import numpy as np
    >>> from calque_core.lax import ScatterDimensionNumbers, scatter_apply, square
    >>> elements = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> scatter_apply(np.array([1.0, 2.0, 3.0]), np.array([[2], [1], [2]]), square, elements, update_shape=(3,))
    array([ 1.,  4., 81.])
    """
    check_callable(func, "scatter_apply")
    operand, scatter_indices = as_result(operand), as_indices(scatter_indices)
    aval, update_shape = typeof(operand), integers("scatter_apply", "update_shape", update_shape)
    params: Params = {
        "dimension_numbers": dimension_numbers_of("scatter_apply", ScatterDimensionNumbers, dimension_numbers),
        "indices_are_sorted": bool(indices_are_sorted),
        "unique_indices": bool(unique_indices) or prod(typeof(scatter_indices).shape[:-1]) <= 1,
        "mode": GatherScatterMode.from_any(mode),
    }
    dtype = aval.dtype
    scatter_p.abstract(aval, typeof(scatter_indices), shaped_array(update_shape, dtype), **params)
    if params["unique_indices"]:
        read = read_windows(operand, scatter_indices, update_shape, params, is_clipped=True)
        return scatter(operand, scatter_indices, convert_element_type(func(read), dtype), **params)
    ones = full(update_shape, 1, np.int32)
    times = scatter_add(zeros_like(operand, np.int32), scatter_indices, ones, **params)

    def step(i: Value, x: Value) -> Value:
        is_changed = gt(times, i)
        new = convert_element_type(func(select(is_changed, x, discard(x))), dtype)
        return select(is_changed, new, x)

    return fori_loop(0, reduce_max(times), step, operand)
