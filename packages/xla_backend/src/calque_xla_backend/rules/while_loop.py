"""Lowering of loops that run until a condition fails: condition and body are regions.

One idea: the loop carries only the carry.  The regions use constants from outside, so that XLA sees that no step
changes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Jaxpr
from calque_core.lax import while_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.tokens import Build, current_token, needs_token, threaded
from calque_xla_backend.modules.types import IrValue


@register_lowering(while_p)
def while_lowering(
    ctx: LoweringRuleContext,
    *args: IrValue,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    checkpoints: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
) -> Sequence[IrValue]:
    num_consts = cond_nconsts + body_nconsts
    cond_consts, body_consts, carry = args[:cond_nconsts], args[cond_nconsts:num_consts], args[num_consts:]
    condition = partial(jaxpr_subcomp, ctx, cond_jaxpr, *cond_consts)
    body = partial(jaxpr_subcomp, ctx, body_jaxpr, *body_consts)
    if cond_jaxpr.effects:
        return _while_by_flag(ctx, condition, body, carry)
    return loop(ctx, condition, body, carry)


def _while_by_flag(
    ctx: LoweringRuleContext, condition: Build, body: Build, carry: Sequence[IrValue]
) -> Sequence[IrValue]:
    """Return the last carry of a loop whose condition has an effect: the loop carries the answer of the condition.

    The region of a condition returns nothing but its answer, so it has no place for a token.
    """

    def step(_: IrValue, *state: IrValue) -> Sequence[IrValue]:
        after = body(*state)
        return [*condition(*after), *after]

    return loop(ctx, lambda flag, *_: [flag], step, [*condition(*carry), *carry])[1:]


def loop(ctx: LoweringRuleContext, condition: Build, body: Build, carry: Sequence[IrValue]) -> Sequence[IrValue]:
    """Return the last carry of a `while`, which also carries a token if the equation has ordered effects."""
    if not needs_token(ctx):
        return build_while(condition, body, carry)
    module_context = ctx.module_context
    state = [current_token(module_context), *carry]
    module_context.token, *outs = build_while(
        lambda _, *values: condition(*values), threaded(module_context, body), state
    )
    return outs


def build_while(condition: Build, body: Build, carry: Sequence[IrValue]) -> list[IrValue]:
    """Return the last carry of a `while`; `condition` and `body` emit its regions from the carry in the region."""
    if not carry:
        return []  # a loop without a carry has no results
    types = [x.type for x in carry]
    loop = hlo.WhileOp(types, carry)
    for region, build in zip(loop.regions, (condition, body)):
        block = region.blocks.append(*types, arg_locs=[ir.Location.current] * len(types))
        with ir.InsertionPoint(block):
            hlo.return_(build(*block.arguments))
    return list(loop.results)
