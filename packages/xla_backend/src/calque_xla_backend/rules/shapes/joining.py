"""Lowering of operations that join arrays, and cut an array into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.extend import Shape, shaped_array
from calque_core.lax import concatenate_p, split_p, stack_p, tile_p, unstack_p
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type, ir_constant, scalar_constant
from calque_xla_backend.runtime.placement import RELEASE

_MISCOMPILES = RELEASE < (0, 11, 1)
_SMALL = 1024  # elements
_INT32 = np.dtype("int32")


@register_lowering(concatenate_p)
def concatenate_lowering(ctx: LoweringRuleContext, *operands: IrValue, dimension: int) -> Sequence[IrValue]:
    return [joined(ctx, operands, [aval.shape[dimension] for aval in ctx.avals_in], dimension)]


def joined(ctx: LoweringRuleContext, operands: Sequence[IrValue], sizes: Sequence[int], axis: int) -> IrValue:
    """Return arrays of the sizes `sizes` along an axis, joined along that axis.

    Until jaxlib 0.11.0, XLA makes wrong code for CPUs of some small joins of float64 that hold arithmetic, such as that
    of a and -b * a, both of shape [4, 5], along axis 1.  So small arrays are written into one of zeros there.
    """
    aval = ctx.avals_out[0]
    is_small = aval.dtype == np.float64 and aval.size <= _SMALL
    if not (_MISCOMPILES and is_small and ctx.platform == "cpu"):
        return hlo.concatenate(operands, axis)
    out, first = ir_constant(np.zeros(aval.shape)), scalar_constant(0, _INT32)
    for x, start in zip(operands, accumulate(sizes, initial=0)):
        starts = [scalar_constant(start, _INT32) if i == axis else first for i in range(aval.ndim)]
        out = hlo.dynamic_update_slice(out, x, starts)
    return out


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
    return [joined(ctx, [hlo.reshape(of_one, x) for x in operands], [1] * len(operands), axis)]


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
