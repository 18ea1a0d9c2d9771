"""Lowering of control flow: each branch is a region that uses the values around it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Jaxpr
from calque_core.lax import cond_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.tokens import Build, current_token, needs_token, threaded
from calque_xla_backend.modules.types import IrValue, aval_to_ir_type, ir_constant


@register_lowering(cond_p)
def cond_lowering(
    ctx: LoweringRuleContext, index: IrValue, *operands: IrValue, branches: Sequence[Jaxpr], batched: str
) -> Sequence[IrValue]:
    """Lower to `case`.  The index is clamped first, as in evaluation: `case` takes the last branch otherwise."""
    index = hlo.clamp(ir_constant(np.int32(0)), index, ir_constant(np.int32(len(branches) - 1)))
    types = [aval_to_ir_type(aval) for aval in ctx.avals_out]
    builds: list[Build] = [partial(jaxpr_subcomp, ctx, branch, *operands) for branch in branches]
    if not needs_token(ctx):
        return build_case(index, types, builds)
    token = current_token(ctx.module_context)
    builds = [partial(threaded(ctx.module_context, build), token) for build in builds]
    ctx.module_context.token, *outs = build_case(index, [hlo.TokenType.get(), *types], builds)
    return outs


def build_case(index: IrValue, types: Sequence[ir.Type], builds: Sequence[Build]) -> list[IrValue]:
    """Return the results of a `case`; each function emits the region of one branch."""
    case = hlo.CaseOp(types, index, len(builds))
    for region, build in zip(case.regions, builds):
        with ir.InsertionPoint(region.blocks.append()):
            hlo.return_(build())
    return list(case.results)
