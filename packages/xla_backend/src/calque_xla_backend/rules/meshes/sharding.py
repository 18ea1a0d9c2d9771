"""Lowering of requests about the division of an array over a mesh, which XLA follows."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir.dialects import sdy

from calque_core import PartitionSpec
from calque_core.engine import AnyMesh
from calque_core.lax import sharding_constraint_p
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.meshes import sharding_attribute


@register_lowering(sharding_constraint_p)
def sharding_constraint_lowering(
    ctx: LoweringRuleContext, x: IrValue, *, mesh: AnyMesh, spec: PartitionSpec
) -> Sequence[IrValue]:
    manual = ctx.module_context.manual
    by_hand = () if manual is None else [name for name in spec.names if name in manual.axes]
    if by_hand:
        raise ValueError(
            f"with_sharding_constraint: {spec!r} names the axis {by_hand[0]!r}, over which the shard_map around it "
            "divides arrays already. Name other axes, or leave it out of axis_names."
        )
    if mesh.size == 1:
        return [x]
    attribute = sharding_attribute(ctx.module_context, mesh, spec, ctx.avals_in[0].ndim)
    return [sdy.sharding_constraint(x, attribute)]
