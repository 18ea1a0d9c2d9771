"""Lowering of `jit`: a call of a function of the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Jaxpr
from calque_core.lax import jit_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.module import call_jaxpr
from calque_xla_backend.modules.types import IrValue


@register_lowering(jit_p)
def jit_lowering(
    ctx: LoweringRuleContext, *values: IrValue, jaxpr: Jaxpr, name: str, compiler: Any
) -> Sequence[IrValue]:
    return call_jaxpr(ctx, jaxpr, name, *values)
