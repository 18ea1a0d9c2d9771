"""Lowering of exchanges over named axes: each is one collective among the devices along the axis.

A parameter `axis_name` may be a tuple of names here, as `passes/joined_exchanges.py` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.lax import all_gather_invariant_p, all_gather_p, all_to_all_p, ppermute_p, psum_scatter_p
from calque_xla_backend.define import IrValue, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.manual import channel, devices_along, groups_along, pairs_attribute, replica_groups
from calque_xla_backend.modules.types import aval_to_ir_type
from calque_xla_backend.passes.joined_exchanges import names_of_exchange
from calque_xla_backend.rules.meshes.collective import combined, gathered

AxisName = Any
Permutation = tuple[tuple[int, int], ...]


@register_lowering(all_gather_invariant_p)
@register_lowering(all_gather_p)
def all_gather_lowering(ctx: LoweringRuleContext, x: IrValue, *, axis_name: AxisName, axis: int) -> Sequence[IrValue]:
    (out_aval,) = ctx.avals_out
    return [reshaped(gathered(ctx, x, names_of_exchange(axis_name), axis), out_aval)]


@register_lowering(psum_scatter_p)
def psum_scatter_lowering(ctx: LoweringRuleContext, x: IrValue, *, axis_name: AxisName, axis: int) -> Sequence[IrValue]:
    (x_aval,), (out_aval,), names = ctx.avals_in, ctx.avals_out, names_of_exchange(axis_name)
    size = devices_along(ctx, names)
    if size == 1:
        return [reshaped(x, out_aval)]
    before, after = out_aval.shape[:axis], out_aval.shape[axis:]
    op = hlo.ReduceScatterOp(
        aval_to_ir_type(x_aval.update(shape=(*before, 1, *after))),
        reshaped(x, x_aval.update(shape=(*before, size, *after))),
        axis,
        replica_groups(ctx, names),
        channel_handle=channel(),
        use_global_device_ids=True,
    )
    return [reshaped(combined(op, hlo.add, x_aval.dtype), out_aval)]


@register_lowering(all_to_all_p)
def all_to_all_lowering(ctx: LoweringRuleContext, x: IrValue, *, axis_name: AxisName, axis: int) -> Sequence[IrValue]:
    (x_aval,), names = ctx.avals_in, names_of_exchange(axis_name)
    size = devices_along(ctx, names)
    if size == 1:
        return [x]
    rows = x_aval.update(shape=(*x_aval.shape[:axis], size, *x_aval.shape[axis + len(names) :]))
    groups = replica_groups(ctx, names)
    op: Any = hlo.AllToAllOp([reshaped(x, rows)], axis, axis, size, groups, channel_handle=channel())
    return [reshaped(op.results[0], x_aval)]


def reshaped(x: IrValue, aval: ShapedArray) -> IrValue:
    """Return `x` in the shape of a type."""
    ir_type = aval_to_ir_type(aval)
    return x if x.type == ir_type else hlo.reshape(ir_type, x)


@register_lowering(ppermute_p)
def ppermute_lowering(
    ctx: LoweringRuleContext, x: IrValue, *, axes: tuple[AxisName, ...], perm: Permutation
) -> Sequence[IrValue]:
    groups = groups_along(ctx, axes)
    if perm and groups.shape[1] == 1:
        return [x]
    if not perm:
        return [splat(0, ctx.avals_out[0])]
    pairs = np.array([(group[a], group[b]) for group in groups for a, b in perm], np.int64).reshape(-1, 2)
    return [hlo.collective_permute(x, pairs_attribute(pairs), channel_handle=channel())]
