"""Lowering of exchanges over named axes: each is one collective among the devices along the axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.extend import shaped_array
from calque_core.lax import all_gather_invariant_p, all_gather_p, all_to_all_p, ppermute_p, psum_scatter_p
from calque_xla_backend.define import IrValue, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.manual import channel, devices_along, groups_along, pairs_attribute, replica_groups
from calque_xla_backend.modules.types import aval_to_ir_type
from calque_xla_backend.rules.collective import combined

AxisName = Any
Permutation = tuple[tuple[int, int], ...]


@register_lowering(all_gather_invariant_p)
@register_lowering(all_gather_p)
def all_gather_lowering(ctx: LoweringRuleContext, x: IrValue, *, axis_name: AxisName, axis: int) -> Sequence[IrValue]:
    (x_aval,), (out_aval,) = ctx.avals_in, ctx.avals_out
    row = hlo.reshape(aval_to_ir_type(shaped_array((*x_aval.shape[:axis], 1, *x_aval.shape[axis:]), x_aval.dtype)), x)
    if devices_along(ctx, (axis_name,)) == 1:
        return [row]
    op = hlo.AllGatherOp(
        [aval_to_ir_type(out_aval)],
        [row],
        axis,
        replica_groups(ctx, (axis_name,)),
        channel_handle=channel(),
        use_global_device_ids=True,
    )
    return list(op.results)


@register_lowering(psum_scatter_p)
def psum_scatter_lowering(ctx: LoweringRuleContext, x: IrValue, *, axis_name: AxisName, axis: int) -> Sequence[IrValue]:
    (x_aval,), (out_aval,) = ctx.avals_in, ctx.avals_out
    row = shaped_array((*x_aval.shape[:axis], 1, *x_aval.shape[axis + 1 :]), x_aval.dtype)
    if devices_along(ctx, (axis_name,)) == 1:
        return [hlo.reshape(aval_to_ir_type(out_aval), x)]
    op = hlo.ReduceScatterOp(
        aval_to_ir_type(row),
        x,
        axis,
        replica_groups(ctx, (axis_name,)),
        channel_handle=channel(),
        use_global_device_ids=True,
    )
    return [hlo.reshape(aval_to_ir_type(out_aval), combined(op, hlo.add, x_aval.dtype))]


@register_lowering(all_to_all_p)
def all_to_all_lowering(ctx: LoweringRuleContext, x: IrValue, *, axis_name: AxisName, axis: int) -> Sequence[IrValue]:
    if devices_along(ctx, (axis_name,)) == 1:
        return [x]
    groups = replica_groups(ctx, (axis_name,))
    op: Any = hlo.AllToAllOp([x], axis, axis, ctx.avals_in[0].shape[axis], groups, channel_handle=channel())
    return list(op.results)


@register_lowering(ppermute_p)
def ppermute_lowering(
    ctx: LoweringRuleContext, x: IrValue, *, axis_name: AxisName, perm: Permutation
) -> Sequence[IrValue]:
    groups = groups_along(ctx, (axis_name,))
    if perm and groups.shape[1] == 1:
        return [x]
    if not perm:
        return [splat(0, ctx.avals_out[0])]
    pairs = np.array([(group[a], group[b]) for group in groups for a, b in perm], np.int64).reshape(-1, 2)
    return [hlo.collective_permute(x, pairs_attribute(pairs), channel_handle=channel())]
