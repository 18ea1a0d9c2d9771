"""Batching checkpointed functions: one checkpointed program for the whole batch, with the same policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.define import defvectorized
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_core import Jaxpr
from calque_core.lax import name_p, optimization_barrier_p, remat_p

Value = Any
Dims = Sequence[int | None]


def remat_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, jaxpr: Jaxpr, **params: Any
) -> tuple[list[Value], list[int | None]]:
    """Keep unmapped each result that depends on no mapped operand."""
    batched, out_dims = batch_jaxpr_axes(jaxpr, axis, dims)
    return remat_p.bind(*args, jaxpr=batched, **params), out_dims


remat_p.def_rule("axis_batch", remat_batch)
defvectorized(name_p)


@optimization_barrier_p.def_rule("batch")
def optimization_barrier_batch(args: Sequence[Value], dims: Dims) -> tuple[list[Value], Dims]:
    """Each result is its operand, mapped or not."""
    return optimization_barrier_p.bind(*args), dims
