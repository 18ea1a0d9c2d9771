"""Operations that move elements move the numbers of the sets.

Reads and writes at positions are exact where these are known; otherwise they take the union over the axes that the
positions choose along.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calque_core import Primitive, eval_context, lax
from calque_sparse.detection import Operand, no_pairs
from calque_sparse.sets import EMPTY, Ids, Sets


def moved(primitive: Primitive, *arrays: Any, **params: Any) -> Any:
    """Return the results of an operation that moves elements, on arrays of numbers."""
    with eval_context():
        return primitive.bind(*arrays, **params)


def all_moved(primitive: Primitive, sets: Sets, *operands: Operand, **params: Any) -> Any:
    """Return the results of an operation that moves the elements of all operands."""
    return moved(primitive, *[x.ids for x in operands], **params)


for primitive in (
    lax.reshape_p, lax.transpose_p, lax.rev_p, lax.slice_p, lax.squeeze_p, lax.broadcast_in_dim_p, lax.concatenate_p,
    lax.pad_p, lax.tile_p, lax.split_p, lax.stack_p, lax.unstack_p, lax.optimization_barrier_p,
):  # fmt: skip
    primitive.def_rule("sparsity", partial(all_moved, primitive))
for primitive in (
    lax.optimization_barrier_p, lax.gather_p, lax.scatter_min_p, lax.scatter_max_p, lax.sort_p,
):  # fmt: skip
    primitive.def_rule("sparsity_pairs", no_pairs)


def everywhere(sets: Sets, ids: Ids, axes: Any, shape: Any) -> Ids:
    """Return the union over some axes, at each place of a result of `shape`."""
    return np.broadcast_to(sets.union_over(ids, axes, keepdims=True), shape)


def cut_axes(sizes: Any, shape: Any) -> list[int]:
    """Return the axes on which a window of some sizes is smaller than an array of `shape`."""
    return [axis for axis, (size, whole) in enumerate(zip(sizes, shape)) if size < whole]


@lax.dynamic_slice_p.def_rule("sparsity")
def dynamic_slice_sparsity(sets: Sets, x: Operand, *starts: Operand, slice_sizes: Any) -> Any:
    if all(start.is_known for start in starts):
        return moved(lax.dynamic_slice_p, x.ids, *[start.value for start in starts], slice_sizes=slice_sizes)
    return everywhere(sets, x.ids, cut_axes(slice_sizes, x.aval.shape), slice_sizes)


@lax.dynamic_update_slice_p.def_rule("sparsity")
def dynamic_update_slice_sparsity(sets: Sets, x: Operand, update: Operand, *starts: Operand) -> Any:
    if all(start.is_known for start in starts):
        return moved(lax.dynamic_update_slice_p, x.ids, update.ids, *[start.value for start in starts])
    united = sets.union_over(update.ids, cut_axes(update.aval.shape, x.aval.shape), keepdims=True)
    return sets.union(x.ids, united)


@lax.gather_p.def_rule("sparsity")
def gather_sparsity(sets: Sets, x: Operand, indices: Operand, **params: Any) -> Any:
    """Move the sets; before it, unite them along the axes that unknown positions choose along."""
    ids, positions = x.ids, indices.value
    if not indices.is_known:
        batching = params["dimension_numbers"].operand_batching_dims
        axes = [axis for axis in cut_axes(params["slice_sizes"], ids.shape) if axis not in batching]
        ids, positions = everywhere(sets, ids, axes, ids.shape), np.zeros(indices.aval.shape, np.int64)
    return moved(lax.gather_p, ids, positions, **params | {"fill_value": EMPTY})


def scatter_sparsity(replaces: bool, sets: Sets, x: Operand, indices: Operand, updates: Operand, **params: Any) -> Ids:
    """Return the union of what an element depended on, unless a scatter `replaces`, and of all updates of it."""
    if not indices.is_known:
        return sets.union(x.ids, sets.everything(updates.ids))
    targets = written_places(x.aval.shape, indices.value, updates.aval.shape, params)
    is_written, old = targets >= 0, x.ids.flatten()
    old[targets[is_written] if replaces else []] = EMPTY
    groups = np.concatenate([np.arange(old.size), targets[is_written]])
    return sets.merge(groups, np.concatenate([old, updates.ids[is_written]]), old.size).reshape(x.aval.shape)


def written_places(shape: Any, indices: Any, update_shape: Any, params: dict[str, Any]) -> Any:
    """Return the place in the operand to which each update is written, or -1: read the places as updates are written.

    Shapes: -> update_shape.
    """
    window_dims, inserted, mapped, batching, rows = params["dimension_numbers"]
    sizes = iter([update_shape[axis] for axis in window_dims])
    slice_sizes = tuple([1 if axis in (*inserted, *batching) else next(sizes) for axis in range(len(shape))])
    modes = lax.GatherScatterMode
    mode = modes.CLIP if params["mode"] is modes.CLIP else modes.FILL_OR_DROP  # what lies outside reads -1
    numbers = lax.GatherDimensionNumbers(window_dims, inserted, mapped, batching, rows)
    options = {"indices_are_sorted": False, "unique_indices": False, "mode": mode, "fill_value": -1}
    places = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    return moved(lax.gather_p, places, indices, dimension_numbers=numbers, slice_sizes=slice_sizes, **options)


for primitive in (lax.scatter_add_p, lax.scatter_mul_p, lax.scatter_min_p, lax.scatter_max_p):
    primitive.def_rule("sparsity", partial(scatter_sparsity, False))
lax.scatter_p.def_rule("sparsity", partial(scatter_sparsity, True))


@lax.sort_p.def_rule("sparsity")
def sort_sparsity(sets: Sets, *operands: Operand, dimension: int, **params: Any) -> list[Any]:
    """Return the union along a line: an element may be any of it."""
    return [everywhere(sets, x.ids, [dimension], x.aval.shape) for x in operands]
