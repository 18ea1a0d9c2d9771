"""Lowering of operations that join arrays, and cut an array into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.extend import Shape, shaped_array
from calque_core.lax import concatenate_p, split_p, stack_p, tile_p, unstack_p
from calque_xla_backend.define import IrValue, inferred
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type

inferred(concatenate_p, lambda *operands, dimension: hlo.concatenate(operands, dimension))


def sections(x: IrValue, shape: Shape, sizes: Sequence[int], axis: int) -> list[IrValue]:
    """Return consecutive slices of an array along one axis."""
    edges = pairwise((0, *accumulate(sizes)))
    before, after, strides = shape[:axis], shape[axis + 1 :], (1,) * len(shape)
    return [
        hlo.slice(x, (*[0] * axis, start, *[0] * len(after)), (*before, stop, *after), strides) for start, stop in edges
    ]


@register_lowering(split_p)
def split_lowering(ctx: LoweringRuleContext, x: IrValue, *, sizes: Shape, axis: int) -> Sequence[IrValue]:
    return sections(x, ctx.avals_in[0].shape, sizes, axis)


@register_lowering(stack_p)
def stack_lowering(ctx: LoweringRuleContext, *operands: IrValue, axis: int) -> Sequence[IrValue]:
    """Give each operand the new axis, of size 1, and join the operands along it."""
    aval = ctx.avals_in[0]
    of_one = aval_to_ir_type(shaped_array((*aval.shape[:axis], 1, *aval.shape[axis:]), aval.dtype))
    return [hlo.concatenate([hlo.reshape(of_one, x) for x in operands], axis)]


@register_lowering(unstack_p)
def unstack_lowering(ctx: LoweringRuleContext, x: IrValue, *, axis: int) -> Sequence[IrValue]:
    shape = ctx.avals_in[0].shape
    rows = sections(x, shape, (1,) * shape[axis], axis)
    return [hlo.reshape(aval_to_ir_type(aval), row) for aval, row in zip(ctx.avals_out, rows)]


@register_lowering(tile_p)
def tile_lowering(ctx: LoweringRuleContext, x: IrValue, *, reps: Shape) -> Sequence[IrValue]:
    """Give the copies axes of their own, between the axes of the operand, and merge the axes."""
    aval = ctx.avals_in[0]
    apart = tuple(n for pair in zip(reps, aval.shape) for n in pair)
    copies = hlo.broadcast_in_dim(aval_to_ir_type(shaped_array(apart, aval.dtype)), x, range(1, len(apart), 2))
    return [hlo.reshape(aval_to_ir_type(ctx.avals_out[0]), copies)]
