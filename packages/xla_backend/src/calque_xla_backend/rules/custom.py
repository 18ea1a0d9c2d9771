"""Lowering of functions with derivative rules of their own: their equations, inline.

Only differentiation reads the rules, and it runs before lowering.  What it leaves of a vjp rule for forward mode is
compiled as the jvp rule of the function; without one, lowering raises a TypeError.
"""

from __future__ import annotations

from collections.abc import Sequence

from calque_core import CustomRules, Jaxpr
from calque_core.lax import custom_jvp_call_p, custom_vjp_call_p, custom_vjp_linear_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.types import IrValue


@register_lowering(custom_jvp_call_p)
@register_lowering(custom_vjp_call_p)
def custom_lowering(ctx: LoweringRuleContext, *values: IrValue, jaxpr: Jaxpr, rules: CustomRules) -> Sequence[IrValue]:
    return jaxpr_subcomp(ctx, jaxpr, *values)


custom_vjp_linear_p.def_hole("lowering", "it is compiled as the jvp rule of its function, if there is one")
