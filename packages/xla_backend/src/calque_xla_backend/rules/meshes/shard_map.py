"""Lowering of `shard_map`: a region that XLA runs on each device, on its shards.

The region sees no value from outside but its operands.  So large constants are operands too, whole on each device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from calque_core import Jaxpr, PartitionSpec
from calque_core.engine import AnyMesh
from calque_core.lax import shard_map_p
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.manual import inside, manual_computation
from calque_xla_backend.modules.module import lower_inner_functions
from calque_xla_backend.modules.tokens import needs_token
from calque_xla_backend.modules.types import aval_to_ir_type
from calque_xla_backend.passes.early_sums import sum_elements_first
from calque_xla_backend.passes.joined_exchanges import join_exchanges

AxisName = Any
Specs = tuple[PartitionSpec, ...]


@register_lowering(shard_map_p)
def shard_map_lowering(
    ctx: LoweringRuleContext,
    *values: IrValue,
    jaxpr: Jaxpr,
    mesh: AnyMesh,
    in_specs: Specs,
    out_specs: Specs,
    axis_names: tuple[AxisName, ...],
    check_vma: bool,
) -> Sequence[IrValue]:
    if needs_token(ctx):
        raise TypeError(
            f"shard_map of {jaxpr.debug_name or 'a function'} has an ordered effect, such as "
            "io_callback(ordered=True), but its shards run at the same time. Use an effect without order, or call it "
            "outside of shard_map."
        )
    module_context, jaxpr = ctx.module_context, join_exchanges(sum_elements_first(jaxpr))
    if mesh.size == 1:  # XLA removes the region from programs of several devices only
        with inside(module_context, mesh, axis_names):
            lower_inner_functions(module_context, jaxpr)
            return jaxpr_subcomp(ctx, jaxpr, *values)
    with inside(module_context, mesh, axis_names) as manual:
        constants = lower_inner_functions(module_context, jaxpr)
        constants = {key: const for key, const in constants.items() if key in ctx.constants}  # not inside `lower_fun`
        operands = [*[(ctx.constants[key], PartitionSpec()) for key in constants], *zip(values, in_specs)]
        results = [(aval_to_ir_type(aval), spec) for aval, spec in zip(ctx.avals_out, out_specs)]
        op = manual_computation(module_context, manual, axis_names, operands, results)
        types = [aval_to_ir_type(aval) for _, aval in constants.values()]
        types += [aval_to_ir_type(aval) for aval in jaxpr.in_avals]
        block = op.body.blocks.append(*types, arg_locs=[ir.Location.current] * len(types))
        with ir.InsertionPoint(block):
            arguments = list(block.arguments)
            shard_ctx = LoweringRuleContext(module_context, dict(zip(constants, arguments)), ctx.eqn)
            sdy.ReturnOp(jaxpr_subcomp(shard_ctx, jaxpr, *arguments[len(constants) :]))
    return list(op.results)
