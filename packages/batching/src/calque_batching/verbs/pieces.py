"""A mapped axis in pieces: a compromise between a loop over elements and one operation for all elements.

One idea: `vmap` computes the elements of a piece at once, and `scan` the pieces one after the other: so it needs the
memory of one piece, and one step per piece.

Read next: `vmap.py`, which divides its axis by `batch_size`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from calque_core import lax, moveaxis, typeof
from calque_core.extend import marked, merged, unmarked
from calque_pytree import PyTreeDef, tree_flatten

Value = Any


def results_in_pieces(
    fun: Callable[..., Any],
    leaves: Sequence[Value],
    dims: Sequence[int | None],
    sizes: tuple[int, int],
    out_axes: Callable[[PyTreeDef], Sequence[Any]],
) -> Any:
    """Return the results of `fun`, a `vmap` of flat arguments, which is applied to one piece after the other.

    `sizes` are those of the mapped axis and of a piece, which is smaller.  The last elements, if they are no whole
    piece, are computed apart, and `fun` is traced once more for them.  `out_axes` gives the batch axis of each result
    from their structure.
    """
    is_mapped = [d is not None for d in dims]
    mapped, axes, shared = marked(leaves, is_mapped), marked(dims, is_mapped), unmarked(leaves, is_mapped)
    size, piece_size = sizes
    count, remainder = divmod(size, piece_size)

    def piece(xs: Sequence[Value]) -> Any:
        return fun(*merged(is_mapped, xs, shared))

    outs, out_tree = tree_flatten(lax.map(piece, [_divided(x, d, count, piece_size) for x, d in zip(mapped, axes)]))
    out_dims = [
        None if axis is None else index(axis) % (typeof(y).ndim - 1) for y, axis in zip(outs, out_axes(out_tree))
    ]
    joined = [_joined(y, d) for y, d in zip(outs, out_dims)]
    if remainder:
        last = piece([lax.slice_in_dim(x, size - remainder, size, axis=d) for x, d in zip(mapped, axes)])
        joined = [
            x if d is None else lax.concatenate([x, y], d) for x, y, d in zip(joined, tree_flatten(last)[0], out_dims)
        ]
    return out_tree.unflatten(joined)


def _divided(x: Value, dim: int, count: int, size: int) -> Value:
    """Return the first `count * size` elements of axis `dim` as `count` arrays, stacked in front."""
    shape = typeof(x).shape
    divided = lax.slice_in_dim(x, 0, count * size, axis=dim)
    return moveaxis(lax.reshape(divided, (*shape[:dim], count, size, *shape[dim + 1 :])), dim, 0)


def _joined(y: Value, dim: int | None) -> Value:
    """Return stacked pieces as one array, whose axis `dim` has the elements of all; the first, if all are equal."""
    if dim is None:
        return lax.index_in_dim(y, 0, keepdims=False)
    apart = moveaxis(y, 0, dim)
    shape = typeof(apart).shape
    return lax.reshape(apart, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))
