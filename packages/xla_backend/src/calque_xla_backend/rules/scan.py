"""Lowering of scans: a counter that runs from 0, in a `while`.

One idea: a step cuts its slices out of the inputs at the counter, and writes its slices into the results, which go
round with the carry; XLA does so in place.  Constants and inputs stay outside, where every step sees them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.jaxpr import Jaxpr
from calque_core.ops.scan import scan_p
from calque_xla_backend.define import IrValue, compare, splat
from calque_xla_backend.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.rules.while_loop import build_while
from calque_xla_backend.types import ir_constant


@register_lowering(scan_p)
def scan_lowering(
    ctx: LoweringRuleContext,
    *args: IrValue,
    jaxpr: Jaxpr,
    length: int,
    num_carry: int,
    num_consts: int,
    reverse: bool,
    unroll: int,
) -> Sequence[IrValue]:
    """Lower to a `while` of `unroll` steps a round, then the steps left over; to steps alone if there is one round."""
    consts, carry, xs = args[:num_consts], args[num_consts : num_consts + num_carry], args[num_consts + num_carry :]

    def number(value: int) -> IrValue:
        return ir_constant(value, np.int32 if length < 2**31 else np.int64)

    def step(i: IrValue, state: Sequence[IrValue]) -> list[IrValue]:
        place = hlo.subtract(number(length - 1), i) if reverse else i
        slices = [_slice_at(x, place) for x in xs]
        outs = jaxpr_subcomp(ctx, jaxpr, *consts, *state[:num_carry], *slices)
        return outs[:num_carry] + [_written(ys, y, place) for ys, y in zip(state[num_carry:], outs[num_carry:])]

    def steps(i: IrValue, *state: IrValue) -> list[IrValue]:
        after = list(state)
        for k in range(unroll):
            after = step(hlo.add(i, number(k)) if k else i, after)
        return [hlo.add(i, number(unroll)), *after]

    rounds = length // unroll
    looped = rounds * unroll if rounds > 1 else 0
    state = [*carry, *(splat(0, aval) for aval in ctx.avals_out[num_carry:])]
    if looped:
        _, *state = build_while(lambda i, *_: [compare("LT", i, number(looped))], steps, [number(0), *state])
    for i in range(looped, length):
        state = step(number(i), state)
    return state


def _slice_at(xs: IrValue, i: IrValue) -> IrValue:
    """Return `xs[i]`."""
    shape = xs.type.shape
    element = ir.RankedTensorType.get(shape[1:], xs.type.element_type)
    return hlo.reshape(element, hlo.dynamic_slice(xs, _start(i, shape), [1, *shape[1:]]))


def _written(ys: IrValue, y: IrValue, i: IrValue) -> IrValue:
    """Return `ys` with `y` as `ys[i]`."""
    shape = ys.type.shape
    row = ir.RankedTensorType.get([1, *shape[1:]], ys.type.element_type)
    return hlo.dynamic_update_slice(ys, hlo.reshape(row, y), _start(i, shape))


def _start(i: IrValue, shape: Sequence[int]) -> list[IrValue]:
    """Return where row `i` of an array of `shape` starts."""
    zero = hlo.constant(ir.DenseElementsAttr.get_splat(i.type, ir.IntegerAttr.get(i.type.element_type, 0)))
    return [i] + [zero] * (len(shape) - 1)
