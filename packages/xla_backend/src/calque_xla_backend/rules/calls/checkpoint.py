"""Lowering of recomputation: the equations of the program, inline.

A barrier before a recomputation keeps XLA from merging it with the first computation.  It depends on all operands,
cotangents included, so that the recomputation runs when its values are needed, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Jaxpr
from calque_core.lax import dce_sink_p, name_p, optimization_barrier_p, remat_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.types import IrValue


@register_lowering(remat_p)
def remat_lowering(
    ctx: LoweringRuleContext, *values: IrValue, jaxpr: Jaxpr, policy: Any, prevent_cse: bool, differentiated: bool
) -> Sequence[IrValue]:
    operands = hlo.OptimizationBarrierOp(values).results if differentiated and prevent_cse and values else values
    return jaxpr_subcomp(ctx, jaxpr, *operands)


@register_lowering(name_p)
def name_lowering(ctx: LoweringRuleContext, x: IrValue, *, name: str) -> Sequence[IrValue]:
    return [x]


@register_lowering(optimization_barrier_p)
def optimization_barrier_lowering(ctx: LoweringRuleContext, *values: IrValue) -> Sequence[IrValue]:
    return list(hlo.OptimizationBarrierOp(values).results)


@register_lowering(dce_sink_p)
def dce_sink_lowering(ctx: LoweringRuleContext, *values: IrValue) -> Sequence[IrValue]:
    return []
