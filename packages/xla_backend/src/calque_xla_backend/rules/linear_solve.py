"""Lowering of linear solves: the solver's equations, inline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr
from calque_core.lax import custom_linear_solve_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.types import IrValue


@register_lowering(custom_linear_solve_p)
def custom_linear_solve_lowering(
    ctx: LoweringRuleContext, *values: IrValue, solve: Jaxpr, **_: Any
) -> Sequence[IrValue]:
    return jaxpr_subcomp(ctx, solve, *values)
