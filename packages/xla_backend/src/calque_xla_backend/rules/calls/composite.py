"""Lowering of `composite`: one operation with a name, beside the function that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Jaxpr
from calque_core.lax import composite_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.module import callee_of
from calque_xla_backend.modules.tokens import needs_token
from calque_xla_backend.modules.types import IrValue, aval_to_ir_type


@register_lowering(composite_p)
def composite_lowering(
    ctx: LoweringRuleContext, *values: IrValue, jaxpr: Jaxpr, name: str, attributes: Any, version: int
) -> Sequence[IrValue]:
    callee = callee_of(ctx, jaxpr, name)
    if callee is None or needs_token(ctx):  # a composite has no place for a token
        return jaxpr_subcomp(ctx, jaxpr, *values)
    function, constants = callee
    composite: Any = hlo.CompositeOp(
        [aval_to_ir_type(aval) for aval in ctx.avals_out],
        [*constants, *values],
        name=name,
        decomposition=ir.FlatSymbolRefAttr.get(function.name.value),
        num_composite_regions=0,
        composite_attributes=ir.DictAttr.get({key: _attribute(value) for key, value in attributes}),
        version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), version),
    )
    return list(composite.results)


def _attribute(value: bool | float | str) -> ir.Attribute:
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    return ir.StringAttr.get(value)
