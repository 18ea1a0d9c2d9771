"""Batching the operations of `calque_core.ops.indexing.top_k`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.engine import axes_in_batch
from calque_core.extend import defbatch
from calque_core.lax import top_k, top_k_p

Value = Any


def top_k_batch(args: Sequence[Value], dims: Sequence[int], *, k: int, axis: int) -> tuple[list[Value], list[int]]:
    """Keep the batch dimension in its place; the axis of the choice moves past it."""
    (x,), (bdim,) = args, dims
    (moved,) = axes_in_batch((axis,), bdim)
    return list(top_k(x, k, axis=moved)), [bdim, bdim]


defbatch(top_k_p, top_k_batch)
