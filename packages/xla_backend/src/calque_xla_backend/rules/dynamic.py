"""Lowering of reading and replacing a slice at a computed position.

One idea: a single slice is a `dynamic_slice` and a `dynamic_update_slice`, which XLA does in place in a loop; one
slice per element of a batch is a `gather` and a `scatter`, whose batching dimensions are the axes of the index.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.lax import dynamic_index_p, dynamic_update_index_p
from calque_xla_backend.define import IrValue, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type, ir_constant


@register_lowering(dynamic_index_p)
def dynamic_index_lowering(ctx: LoweringRuleContext, x: IrValue, index: IrValue) -> Sequence[IrValue]:
    x_aval, index_aval = ctx.avals_in
    rank, shape = index_aval.ndim, x_aval.shape
    if not rank:
        row = hlo.dynamic_slice(x, _start(index, index_aval, x_aval.ndim), [1, *shape[1:]])
        return [hlo.reshape(aval_to_ir_type(ctx.avals_out[0]), row)]
    numbers = hlo.GatherDimensionNumbers.get(
        offset_dims=list(range(rank, x_aval.ndim - 1)),
        collapsed_slice_dims=[rank],
        operand_batching_dims=list(range(rank)),
        start_indices_batching_dims=list(range(rank)),
        start_index_map=[rank],
        index_vector_dim=rank,
    )
    return [hlo.gather(x, index, numbers, [1] * (rank + 1) + list(shape[rank + 1 :]))]


@register_lowering(dynamic_update_index_p)
def dynamic_update_index_lowering(
    ctx: LoweringRuleContext, x: IrValue, update: IrValue, index: IrValue
) -> Sequence[IrValue]:
    x_aval, update_aval, index_aval = ctx.avals_in
    rank = index_aval.ndim
    if not rank:
        row = hlo.reshape(aval_to_ir_type(x_aval.update(shape=(1, *x_aval.shape[1:]))), update)
        return [hlo.dynamic_update_slice(x, row, _start(index, index_aval, x_aval.ndim))]
    # A scatter drops an index out of range, but gather and dynamic_slice clamp it; so clamp it here.
    low, high = splat(0, index_aval), splat(x_aval.shape[rank] - 1, index_aval)
    numbers = hlo.ScatterDimensionNumbers.get(
        update_window_dims=list(range(rank, update_aval.ndim)),
        inserted_window_dims=[rank],
        input_batching_dims=list(range(rank)),
        scatter_indices_batching_dims=list(range(rank)),
        scattered_dims_to_operand_dims=[rank],
        index_vector_dim=rank,
    )
    types = [aval_to_ir_type(ctx.avals_out[0])]
    op = hlo.ScatterOp(types, [x], hlo.clamp(low, index, high), [update], numbers, unique_indices=True)
    scalar = aval_to_ir_type(x_aval.update(shape=()))
    block = op.regions[0].blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        hlo.return_([block.arguments[1]])
    return list(op.results)


def _start(index: IrValue, index_aval: ShapedArray, rank: int) -> list[IrValue]:
    return [index, *[ir_constant(0, index_aval.dtype)] * (rank - 1)]
