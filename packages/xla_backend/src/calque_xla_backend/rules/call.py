"""Lowering of `jit`: a call of a function of the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.jaxpr import Jaxpr
from calque_core.ops.call import jit_p
from jaxlib.mlir import ir

from calque_xla_backend.lowering import LoweringRuleContext, call_jaxpr, register_lowering


@register_lowering(jit_p)
def jit_lowering(
    ctx: LoweringRuleContext, *values: ir.Value, jaxpr: Jaxpr, name: str, compiler: Any
) -> Sequence[ir.Value]:
    return call_jaxpr(ctx, jaxpr, name, *values)
