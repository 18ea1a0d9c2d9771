"""Lowering of loops that run until a condition fails: condition and body are regions.

One idea: the loop carries only the carry.  The regions use constants from outside, so that XLA sees that no step
changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Jaxpr
from calque_core.lax import while_p
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.types import IrValue

Build = Callable[..., Sequence[IrValue]]


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
    return build_while(
        lambda *state: jaxpr_subcomp(ctx, cond_jaxpr, *cond_consts, *state),
        lambda *state: jaxpr_subcomp(ctx, body_jaxpr, *body_consts, *state),
        carry,
    )


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
