"""Lowering of a reduction by any function: its program is a region.

A region may not use values from outside: a program that closes over values lowers the operations of its tree.  So does
the reduction of one element, for which XLA leaves the initial value out, and each reduction on other platforms: XLA's
kernels for GPUs combine elements in any order, and begin each part with the initial value.  Where XLA divides the
operands over devices, it has no collective for a region.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from calque_core import Jaxpr
from calque_core.engine import split_reduction
from calque_core.extend import Shape
from calque_core.lax import reduce_p
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, lower_fun, register_lowering
from calque_xla_backend.rules.reductions.reduce import reduce

lower_tree = lower_fun(reduce_p.rules["decomposition"])


@register_lowering(reduce_p, platform="cpu")
def reduce_lowering(
    ctx: LoweringRuleContext, *args: IrValue, jaxpr: Jaxpr, num_consts: int, dimensions: Shape
) -> Sequence[IrValue]:
    count = prod(ctx.avals_in[num_consts].shape[axis] for axis in dimensions)
    if num_consts or count == 1 or ctx.is_divided:
        params: dict[str, Any] = {"jaxpr": jaxpr, "num_consts": num_consts, "dimensions": dimensions}
        return lower_tree(ctx, *args, **params)
    _, operands, inits = split_reduction(args, num_consts)
    return reduce(operands, inits, ctx.avals_out, dimensions, lambda *xs: jaxpr_subcomp(ctx, jaxpr, *xs))
