"""Lowering of loops that run until a condition fails: condition and body are regions.

One idea: the loop carries only the carry.  The regions use constants from outside, so that XLA sees that no step
changes them.  Flags of running elements are carried as bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Jaxpr, ShapedArray, lax
from calque_core.engine import has_checks
from calque_core.lax import while_p
from calque_xla_backend.define import compare, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.steps import counted
from calque_xla_backend.modules.tokens import Build, current_token, needs_token, threaded
from calque_xla_backend.modules.types import IrValue, ir_constant
from calque_xla_backend.rules.elementwise.convert import convert

_BYTE = np.dtype(np.uint8)


@register_lowering(while_p)
def while_lowering(
    ctx: LoweringRuleContext,
    *args: IrValue,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    **_: Any,
) -> Sequence[IrValue]:
    num_consts = cond_nconsts + body_nconsts
    cond_consts, body_consts, carry = args[:cond_nconsts], args[cond_nconsts:num_consts], args[num_consts:]
    condition: Build = partial(jaxpr_subcomp, ctx, cond_jaxpr, *cond_consts)
    body: Build = partial(jaxpr_subcomp, ctx, body_jaxpr, *body_consts)
    if has_checks(cond_jaxpr, body_jaxpr):
        condition, body = counted(ctx, "while", condition, 0), counted(ctx, "while", body, 1)
        return _while_by_flag(ctx, condition, body, [ir_constant(np.int32(0)), *carry])[1:]
    if cond_jaxpr.effects:
        return _while_by_flag(ctx, condition, body, carry)
    return _while_with_bytes(ctx, _flags(cond_jaxpr, cond_nconsts), condition, body, carry)


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


def _flags(condition: Jaxpr, num_consts: int) -> dict[int, ShapedArray]:
    """Return the types, by position in the carry, of the arrays of bools that the condition reduces by `or`.

    A batch of loops has one, which tells the running elements.
    """
    reduced = {id(eqn.invars[0]) for eqn in condition.eqns if eqn.primitive is lax.reduce_or_p}
    carry = enumerate(condition.invars[num_consts:])
    return {i: v.aval for i, v in carry if id(v) in reduced and v.aval.dtype == bool and v.aval.shape}


def _while_with_bytes(
    ctx: LoweringRuleContext, flags: dict[int, ShapedArray], condition: Build, body: Build, carry: Sequence[IrValue]
) -> Sequence[IrValue]:
    """Return the last carry of a loop that carries flags as bytes.

    With jaxlib 0.10, XLA's kernels that select by carried bools make such a loop of a batch up to 1.14 times as slow.
    """

    def as_bytes(*state: IrValue) -> list[IrValue]:
        return [convert(x, flags[i], _BYTE) if i in flags else x for i, x in enumerate(state)]

    def as_flags(*state: IrValue) -> list[IrValue]:
        zeros = {i: splat(0, aval.update(dtype=_BYTE)) for i, aval in flags.items()}
        return [compare("NE", x, zeros[i]) if i in flags else x for i, x in enumerate(state)]

    outs = loop(
        ctx,
        lambda *state: condition(*as_flags(*state)),
        lambda *state: as_bytes(*body(*as_flags(*state))),
        as_bytes(*carry),
    )
    return as_flags(*outs)


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
