"""Lowering of named axes: reductions over the devices along them, and positions of devices.

Under `vmap` the batching rules have replaced these operations before.  Here an axis is one of a mesh, in a `shard_map`
or a `pmap`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import PartitionSpec, Primitive
from calque_core.engine import highest, lowest
from calque_core.extend import shaped_array
from calque_core.lax import axis_index_p, pmax_p, pmin_p, psum_p, pvary_p
from calque_xla_backend.define import (
    Builder,
    IrValue,
    floats_of_integers,
    is_complex,
    maximum,
    minimum,
    ordered_dtype,
    ordered_integers,
)
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.manual import (
    Manual,
    channel,
    devices_along,
    manual_axes,
    manual_computation,
    replica_groups,
)
from calque_xla_backend.modules.meshes import device_numbers
from calque_xla_backend.modules.types import aval_to_ir_type, ir_constant, scalar_constant
from calque_xla_backend.rules.reductions.reduce import reduce

AxisName = Any


def combined(op: Any, build: Builder, dtype: Any) -> IrValue:
    """Return the result of a collective that combines the elements of two devices by `build`."""
    element = aval_to_ir_type(shaped_array((), dtype))
    block = op.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        hlo.return_([build(*block.arguments)])
    return op.results[0]


def reduction(primitive: Primitive, build: Builder) -> None:
    """Lower a reduction over named axes to one `all_reduce`."""

    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, x: IrValue, *, axes: tuple[AxisName, ...]) -> Sequence[IrValue]:
        return [x if devices_along(ctx, axes) == 1 else all_reduced(ctx, x, axes, build)]


def all_reduced(ctx: LoweringRuleContext, x: IrValue, axes: tuple[AxisName, ...], build: Builder) -> IrValue:
    """Return `x` of all devices along `axes`, combined by `build`, in one `all_reduce`."""
    (x_aval,) = ctx.avals_in
    op = hlo.AllReduceOp([x.type], [x], replica_groups(ctx, axes), channel_handle=channel(), use_global_device_ids=True)
    return combined(op, build, x_aval.dtype)


def extreme_reduction(primitive: Primitive, build: Builder, identity: Callable[[Any], Any]) -> None:
    """Lower as `reduction`, floats as integers in their order, since XLA's `all_reduce` drops NaN.

    Complex numbers, whose extremes `all_reduce` lacks, are gathered and reduced.
    """

    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, x: IrValue, *, axes: tuple[AxisName, ...]) -> Sequence[IrValue]:
        (x_aval,) = ctx.avals_in
        if devices_along(ctx, axes) == 1:
            return [x]
        if x_aval.kind == "f":
            integers = ordered_integers(build, x, x_aval)
            integers_ctx = ctx.replace(avals_in=[x_aval.update(dtype=ordered_dtype(x_aval.dtype))])
            return [floats_of_integers(all_reduced(integers_ctx, integers, axes, build), x_aval)]
        if not is_complex(x):
            return [all_reduced(ctx, x, axes, build)]
        init = scalar_constant(identity(x_aval.dtype), x_aval.dtype)
        return reduce([gathered(ctx, x, axes, 0)], [init], [x_aval], (0,), lambda a, b: [build(a, b)])


def gathered(ctx: LoweringRuleContext, x: IrValue, axes: tuple[AxisName, ...], axis: int) -> IrValue:
    """Return `x` of all devices along `axes`, in the order of their positions along a new axis."""
    (x_aval,) = ctx.avals_in
    size, before, after = devices_along(ctx, axes), x_aval.shape[:axis], x_aval.shape[axis:]
    row = hlo.reshape(aval_to_ir_type(x_aval.update(shape=(*before, 1, *after))), x)
    if size == 1:
        return row
    op = hlo.AllGatherOp(
        [aval_to_ir_type(x_aval.update(shape=(*before, size, *after)))],
        [row],
        axis,
        replica_groups(ctx, axes),
        channel_handle=channel(),
        use_global_device_ids=True,
    )
    return op.results[0]


reduction(psum_p, hlo.add)
extreme_reduction(pmax_p, maximum, lowest)
extreme_reduction(pmin_p, minimum, highest)


@register_lowering(pvary_p)
def pvary_lowering(ctx: LoweringRuleContext, x: IrValue, **_: Any) -> Sequence[IrValue]:
    """Lower to nothing: only the type says that shards may differ."""
    return [x]


# Positions


@register_lowering(axis_index_p)
def axis_index_lowering(ctx: LoweringRuleContext, *, axis_name: AxisName) -> Sequence[IrValue]:
    """Lower to arithmetic on the number of the device, which XLA knows only where all axes are divided by hand."""
    manual = manual_axes(ctx, (axis_name,))
    if devices_along(ctx, (axis_name,)) == 1:
        return [ir_constant(np.int32(0))]
    if not manual.remaining:
        return [_position(ctx, manual, axis_name)]
    (out_aval,) = ctx.avals_out
    whole_mesh = Manual(manual.mesh, manual.mesh.axis_names)
    op = manual_computation(
        ctx.module_context, whole_mesh, manual.remaining, [], [(aval_to_ir_type(out_aval), PartitionSpec())]
    )
    with ir.InsertionPoint(op.body.blocks.append()):
        sdy.ReturnOp([_position(ctx, manual, axis_name)])
    return list(op.results)


def _position(ctx: LoweringRuleContext, manual: Manual, axis_name: AxisName) -> IrValue:
    """Return the position of this device along an axis of the mesh."""
    numbers = device_numbers(ctx.module_context, manual.mesh)
    axis = manual.mesh.axis_names.index(axis_name)
    size, stride = numbers.shape[axis], int(np.prod(numbers.shape[axis + 1 :]))
    number = hlo.partition_id()
    if numbers.reshape(-1).tolist() != list(range(numbers.size)):
        position_of = np.argsort(numbers.reshape(-1)).astype(np.uint32)
        row = hlo.dynamic_slice(ir_constant(position_of), [number], [1])
        number = hlo.reshape(number.type, row)
    row = hlo.divide(number, ir_constant(np.uint32(stride)))
    position = hlo.remainder(row, ir_constant(np.uint32(size)))
    return hlo.convert(aval_to_ir_type(ctx.avals_out[0]), position)
