"""Lowering of linear functions: their equations, inline."""

from __future__ import annotations

from collections.abc import Sequence

from calque_core import Jaxpr
from calque_core.lax import linear_call_p, linear_transpose_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.types import IrValue


@register_lowering(linear_call_p)
def linear_call_lowering(
    ctx: LoweringRuleContext, *values: IrValue, callee: Jaxpr, transpose: Jaxpr, num_res: int
) -> Sequence[IrValue]:
    return jaxpr_subcomp(ctx, callee, *values)


linear_transpose_p.def_hole("lowering", "its transposed program is lowered instead")
