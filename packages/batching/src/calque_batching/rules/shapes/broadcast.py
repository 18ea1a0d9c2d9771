"""Batching the operations of `calque_core.ops.shapes.broadcast`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import typeof
from calque_core.engine import axes_in_batch, with_entry
from calque_core.extend import defbatch
from calque_core.lax import broadcast_in_dim, broadcast_in_dim_p

Value = Any


def broadcast_in_dim_batch(
    args: Sequence[Value], dims: Sequence[int], *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> tuple[Value, int]:
    """Put the batch axis behind the axis that it follows in the operand, so that no axis moves."""
    (x,), (x_bdim,) = args, dims
    out_bdim = broadcast_dimensions[x_bdim - 1] + 1 if x_bdim else 0
    positions = with_entry(axes_in_batch(broadcast_dimensions, out_bdim), x_bdim, out_bdim)
    return broadcast_in_dim(x, with_entry(shape, out_bdim, typeof(x).shape[x_bdim]), positions), out_bdim


defbatch(broadcast_in_dim_p, broadcast_in_dim_batch)
