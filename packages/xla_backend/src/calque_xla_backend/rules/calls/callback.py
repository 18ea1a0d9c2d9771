"""Lowering of calls to Python: one custom call each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Primitive
from calque_core.engine import HostCall
from calque_core.lax import debug_callback_p, io_callback_p, pure_callback_p
from calque_xla_backend.modules.host_calls import call_host
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import IrValue


def _def_host_call(primitive: Primitive) -> None:
    @register_lowering(primitive)
    def lowering(ctx: LoweringRuleContext, *values: IrValue, callback: HostCall, **params: Any) -> Sequence[IrValue]:
        return call_host(ctx, callback, values)


for _primitive in (pure_callback_p, io_callback_p, debug_callback_p):
    _def_host_call(_primitive)
