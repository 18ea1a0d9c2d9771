"""Batching reading and replacing a slice at a position that is a value.

One idea: an unmapped index means the same slice of every element, and the batch axis goes behind the indexed one; with
a mapped index the batch axis becomes the first of the index's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.axes import matchaxis
from calque_batching.define import defbatch
from calque_core.avals import typeof
from calque_core.lax import dynamic_index_p, dynamic_update_index_p

Value = Any
Dims = Sequence[int | None]


def places(args: Sequence[Value], dims: Dims) -> tuple[list[Value], int, int]:
    """Return the operands with batch axes where the primitive takes them, and where those of `x` and of a slice are."""
    *arrays, index = args
    size = next(typeof(x).shape[d] for x, d in zip(args, dims) if d is not None)
    if dims[-1] is None:
        in_x, in_slice = typeof(index).ndim + 1, typeof(index).ndim
    else:
        in_x = in_slice = 0
        index = matchaxis(index, dims[-1], 0, size)
    targets = (in_x, in_slice)
    return [*(matchaxis(x, d, to, size) for x, d, to in zip(arrays, dims, targets)), index], in_x, in_slice


def dynamic_index_batch(args: Sequence[Value], dims: Dims) -> tuple[Value, int]:
    """Read a slice of each element."""
    operands, _, in_slice = places(args, dims)
    return dynamic_index_p.bind(*operands), in_slice


def dynamic_update_index_batch(args: Sequence[Value], dims: Dims) -> tuple[Value, int]:
    """Replace a slice of each element."""
    operands, in_x, _ = places(args, dims)
    return dynamic_update_index_p.bind(*operands), in_x


defbatch(dynamic_index_p, dynamic_index_batch)
defbatch(dynamic_update_index_p, dynamic_update_index_batch)
