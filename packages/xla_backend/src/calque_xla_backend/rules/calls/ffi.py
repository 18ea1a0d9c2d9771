"""Lowering of calls of kernels: a custom call of the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.lax import ffi_call_p
from calque_xla_backend.ffi import ffi_lowering
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import IrValue


@register_lowering(ffi_call_p)
def ffi_call_lowering(
    ctx: LoweringRuleContext,
    *values: IrValue,
    target_name: str,
    has_side_effect: bool,
    attributes: Sequence[tuple[str, Any]],
    aliases: Sequence[tuple[int, int]],
    **params: Any,
) -> Sequence[IrValue]:
    lower = ffi_lowering(target_name, has_side_effect=has_side_effect, input_output_aliases=dict(aliases))
    return lower(ctx, *values, **dict(attributes))
