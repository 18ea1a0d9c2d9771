"""Batching exchanges along named axes: under its own name the batch axis is an axis like any other.

So the elements that an operation would exchange are in the array already: none is copied, save for the reduction of
`psum_scatter` and the order of `ppermute`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from typing import Any

import numpy as np

from calque_batching.axes import matchaxis, moveaxis
from calque_batching.batch_trace import AxisData
from calque_core import Primitive, typeof
from calque_core.engine import strong
from calque_core.lax import (
    all_gather_invariant_p,
    all_gather_p,
    all_to_all_p,
    axis_index,
    axis_size,
    broadcast_in_dim,
    dynamic_index_in_dim,
    index_take,
    ppermute_p,
    psum_scatter_p,
    reduce_sum,
    select,
    zeros_like,
)

Value = Any
Dims = Sequence[int | None]
Permutation = tuple[tuple[int, int], ...]


def of_other_axis(
    primitive: Primitive, x: Value, x_bdim: int | None, axis_name: Hashable, axis: int
) -> tuple[Value, int | None]:
    """Return the result for a name that an enclosing transformation binds: the batch axis stays in front."""
    if x_bdim is None:
        return primitive.bind(x, axis_name=axis_name, axis=axis), None
    return primitive.bind(moveaxis(x, x_bdim, 0), axis_name=axis_name, axis=axis + 1), 0


def _def_gather(primitive: Primitive) -> None:
    """Define the rule: the batch axis becomes the axis `axis` of a result that all elements share."""

    def own_gather_batch(
        own: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: Hashable, axis: int
    ) -> tuple[Value, int | None]:
        (x,), (x_bdim,) = args, dims
        if axis_name != own.name:
            return of_other_axis(primitive, x, x_bdim, axis_name, axis)
        return strong(matchaxis(x, x_bdim, axis, own.size)), None

    primitive.def_rule("axis_batch", own_gather_batch)


def psum_scatter_batch(
    own: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: Hashable, axis: int
) -> tuple[Value, int | None]:
    """Sum over the batch axis, and make the axis `axis` the batch axis."""
    (x,), (x_bdim,) = args, dims
    if axis_name != own.name:
        return of_other_axis(psum_scatter_p, x, x_bdim, axis_name, axis)
    return reduce_sum(matchaxis(x, x_bdim, 0, own.size), 0), axis


def all_to_all_batch(
    own: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: Hashable, axis: int
) -> tuple[Value, int | None]:
    """Swap the roles of the batch axis and the axis `axis`."""
    (x,), (x_bdim,) = args, dims
    if axis_name != own.name:
        return of_other_axis(all_to_all_p, x, x_bdim, axis_name, axis)
    if x_bdim is None:  # element i gets the i-th slice from all elements, which have the same
        slices = moveaxis(x, axis, 0)
        shape = typeof(slices).shape
        spread = [d for d in range(len(shape) + 1) if d != axis + 1]
        return broadcast_in_dim(slices, (*shape[: axis + 1], own.size, *shape[axis + 1 :]), spread), 0
    whole = moveaxis(x, x_bdim, 0)
    return moveaxis(moveaxis(whole, axis + 1, 0), 1, axis + 1), 0


def ppermute_batch(
    own: AxisData, args: Sequence[Value], dims: Dims, *, axes: tuple[Hashable, ...], perm: Permutation
) -> tuple[Value, int | None]:
    """Take the elements in the order of their sources; an element that nothing is sent to gets zeros."""
    (x,), (x_bdim,) = args, dims
    if own.name not in axes:
        return ppermute_p.bind(x, axes=axes, perm=perm), x_bdim
    if len(axes) > 1:
        return _sent_along_several(own, matchaxis(x, x_bdim, 0, own.size), axes, perm), 0
    if x_bdim is None and len(perm) == own.size:
        return strong(x), None
    source_of = {target: source for source, target in perm}
    whole = matchaxis(x, x_bdim, 0, own.size)
    moved = index_take(whole, [np.array([source_of.get(i, 0) for i in range(own.size)])], [0])
    if len(perm) == own.size:
        return moved, 0
    is_target = np.array([i in source_of for i in range(own.size)])
    shape = typeof(moved).shape
    return select(broadcast_in_dim(is_target, shape, (0,)), moved, zeros_like(moved)), 0


def _sent_along_several(own: AxisData, x: Value, axes: tuple[Hashable, ...], perm: Permutation) -> Value:
    """Return the elements after a `ppermute` along the batch axis, which is the first of `x`, and along other axes.

    Rows whose elements move alike along the other axes are sent along these at once, and then take their new places.
    """
    others = tuple([name for name in axes if name != own.name])
    sizes = [own.size if name == own.name else axis_size(name) for name in axes]
    out = zeros_like(x)
    for among_others, rows in _routes(sizes, axes.index(own.name), perm).items():
        source_of = {target: source for source, target in rows}
        sent = ppermute_p.bind(x, axes=others, perm=among_others)
        moved = index_take(sent, [np.array([source_of.get(i, 0) for i in range(own.size)])], [0])
        is_target = np.zeros((own.size, axis_size(others)), bool)
        for (_, row), (_, place) in product(rows, among_others):
            is_target[row, place] = True
        is_mine = dynamic_index_in_dim(is_target, axis_index(others), 1, keepdims=False)
        out = select(broadcast_in_dim(is_mine, typeof(x).shape, (0,)), moved, out)
    return out


def _routes(sizes: Sequence[int], axis: int, perm: Permutation) -> dict[Permutation, list[tuple[int, int]]]:
    """Return, for each permutation along the axes other than `axis`, the pairs of rows between which it sends.

    >>> _routes([2, 2], 0, ((0, 1), (1, 2), (2, 3), (3, 0)))
    {((0, 1),): [(0, 0), (1, 1)], ((1, 0),): [(0, 1), (1, 0)]}
    """
    rows, others = np.indices(sizes)[axis].ravel(), _places_of_others(sizes, axis)
    between: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for source, target in perm:
        pair = int(rows[source]), int(rows[target])
        between.setdefault(pair, []).append((int(others[source]), int(others[target])))
    routes: dict[Permutation, list[tuple[int, int]]] = {}
    for pair, sent in between.items():
        routes.setdefault(tuple(sorted(sent)), []).append(pair)
    return routes


def _places_of_others(sizes: Sequence[int], axis: int) -> Value:
    """Return, for each position in row-major order, its position along the axes other than `axis`."""
    kept = [1 if k == axis else size for k, size in enumerate(sizes)]
    return np.broadcast_to(np.arange(np.prod(kept, dtype=int)).reshape(kept), sizes).ravel()


_def_gather(all_gather_p)
_def_gather(all_gather_invariant_p)
psum_scatter_p.def_rule("axis_batch", psum_scatter_batch)
all_to_all_p.def_rule("axis_batch", all_to_all_batch)
ppermute_p.def_rule("axis_batch", ppermute_batch)
