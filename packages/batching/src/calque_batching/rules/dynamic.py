"""Batching reading and replacing a slice at a computed position.

One idea: an unmapped index means the same slice of every element, and the batch axis goes behind the indexed axis; with
a mapped index the batch axis becomes the first axis of the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.axes import matchaxis
from calque_batching.define import defbatch
from calque_core import typeof
from calque_core.lax import dynamic_index_p, dynamic_update_index_p

Value = Any
Dims = Sequence[int | None]


def place_batch_axes(args: Sequence[Value], dims: Dims) -> tuple[list[Value], int, int]:
    """Return the operands with the batch axes that the primitive takes, and the batch dimensions of `x` and a slice."""
    *arrays, index = args
    size = next(typeof(x).shape[d] for x, d in zip(args, dims) if d is not None)
    if dims[-1] is None:
        x_bdim, slice_bdim = typeof(index).ndim + 1, typeof(index).ndim
    else:
        x_bdim = slice_bdim = 0
        index = matchaxis(index, dims[-1], 0, size)
    targets = (x_bdim, slice_bdim)
    return [*(matchaxis(x, d, bdim, size) for x, d, bdim in zip(arrays, dims, targets)), index], x_bdim, slice_bdim


def dynamic_index_batch(args: Sequence[Value], dims: Dims) -> tuple[Value, int]:
    """Read a slice of each element."""
    operands, _, slice_bdim = place_batch_axes(args, dims)
    return dynamic_index_p.bind(*operands), slice_bdim


def dynamic_update_index_batch(args: Sequence[Value], dims: Dims) -> tuple[Value, int]:
    """Replace a slice of each element."""
    operands, x_bdim, _ = place_batch_axes(args, dims)
    return dynamic_update_index_p.bind(*operands), x_bdim


defbatch(dynamic_index_p, dynamic_index_batch)
defbatch(dynamic_update_index_p, dynamic_update_index_batch)
