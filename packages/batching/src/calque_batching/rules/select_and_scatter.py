"""Batching the reading at winners of windows, and the adding to them: both operands get the batch axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import call_batched
from calque_batching.rules.reduce_window import window_in_batch
from calque_core import Primitive
from calque_core.extend import align_batch_axes, defbatch
from calque_core.lax import select_and_gather_add_p, select_and_scatter_add_p, select_and_scatter_p

Value = Any
Dims = Sequence[int | None]


def defselecting(primitive: Primitive) -> None:
    """Define the rule of an operation that follows the winners of the windows of its second operand."""

    def batch(args: Sequence[Value], dims: Dims, *, select_prim: Primitive, **window: Any) -> tuple[Value, int]:
        operands, bdim = align_batch_axes(args, dims)
        moved, out_bdim = window_in_batch(bdim, window)
        return primitive.bind(*operands, select_prim=select_prim, **moved), out_bdim

    defbatch(primitive, batch)


defselecting(select_and_gather_add_p)
defselecting(select_and_scatter_add_p)

# Any functions that select and combine


@select_and_scatter_p.def_rule("axis_batch")
def select_and_scatter_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, **params: Any
) -> tuple[Value, int | None]:
    """Batch the operations that it stands for: its functions may close over mapped values."""
    decomposition = select_and_scatter_p.rules["decomposition"]
    (out,), (bdim,) = call_batched(lambda *values: [decomposition(*values, **params)], axis, args, dims)
    return out, bdim
