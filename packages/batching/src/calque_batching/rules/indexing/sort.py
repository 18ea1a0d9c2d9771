"""Batching the operations of `calque_core.ops.indexing.sort`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.extend import align_batch_axes, defbatch
from calque_core.lax import sort, sort_p

Value = Any


def sort_batch(
    args: Sequence[Value], dims: Sequence[int | None], *, dimension: int, is_stable: bool, num_keys: int
) -> tuple[list[Value], list[int]]:
    """Give all operands the batch axis: they are permuted together, so one mapped key maps all of them."""
    operands, bdim = align_batch_axes(args, dims)
    outs = sort(operands, dimension + (bdim <= dimension), is_stable, num_keys)
    return list(outs), [bdim] * len(outs)


defbatch(sort_p, sort_batch)
