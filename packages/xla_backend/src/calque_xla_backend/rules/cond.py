"""Lowering of control flow: each branch is a region that uses the values around it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Jaxpr
from calque_core.lax import cond_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.types import IrValue, aval_to_ir_type, ir_constant


@register_lowering(cond_p)
def cond_lowering(
    ctx: LoweringRuleContext, index: IrValue, *operands: IrValue, branches: Sequence[Jaxpr], batched: str
) -> Sequence[IrValue]:
    """Lower to `case`.  The index is clamped first, as in evaluation: `case` takes the last branch otherwise."""
    index = hlo.clamp(ir_constant(np.int32(0)), index, ir_constant(np.int32(len(branches) - 1)))
    case = hlo.CaseOp([aval_to_ir_type(aval) for aval in ctx.avals_out], index, len(branches))
    for region, branch in zip(case.regions, branches):
        with ir.InsertionPoint(region.blocks.append()):
            hlo.return_(jaxpr_subcomp(ctx, branch, *operands))
    return list(case.results)
