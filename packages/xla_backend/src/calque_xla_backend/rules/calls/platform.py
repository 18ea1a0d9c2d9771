"""Lowering of `platform_dependent`: the branch of the module's platform; no other branch is lowered."""

from __future__ import annotations

from collections.abc import Sequence

from calque_core import Jaxpr
from calque_core.engine import Platforms, position_of_platform
from calque_core.lax import platform_dependent_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.types import IrValue


@register_lowering(platform_dependent_p)
def platform_dependent_lowering(
    ctx: LoweringRuleContext, *operands: IrValue, branches: Sequence[Jaxpr], platforms: Platforms
) -> Sequence[IrValue]:
    return jaxpr_subcomp(ctx, branches[position_of_platform(platforms, ctx.platform)], *operands)
