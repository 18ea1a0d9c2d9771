"""Lowering of scans: a counter that runs from 0, in a `while`.

One idea: a step slices the inputs at the counter; an iteration of `unroll` steps writes their outputs into the results,
which are part of the carry; XLA does so in place.  Constants and inputs stay outside the loop, visible to every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Jaxpr
from calque_core.engine import has_checks
from calque_core.lax import scan_p
from calque_xla_backend.define import IrValue, compare, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, jaxpr_subcomp, register_lowering
from calque_xla_backend.modules.steps import in_step
from calque_xla_backend.modules.types import ir_constant
from calque_xla_backend.rules.calls.while_loop import loop


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
    """Lower to a `while` of `unroll` steps per iteration, then the remaining steps; one iteration needs no `while`."""
    consts, carry, xs = args[:num_consts], args[num_consts : num_consts + num_carry], args[num_consts + num_carry :]

    run = partial(jaxpr_subcomp, ctx, jaxpr)

    def number(value: int) -> IrValue:
        return ir_constant(value, np.int32 if length < 2**31 else np.int64)

    def take(count: int, i: IrValue, state: Sequence[IrValue]) -> list[IrValue]:
        """Take `count` steps from step `i`; their outputs are adjacent rows, written at once."""
        first = hlo.subtract(number(length - count), i) if reverse else i
        carry, rows = state[:num_carry], []
        for step, k in enumerate(reversed(range(count)) if reverse else range(count)):
            place = hlo.add(first, number(k)) if k else first
            inputs = [*consts, *carry, *(_slice_at(x, place) for x in xs)]
            if has_checks(jaxpr):
                outs = in_step(ctx, "scan", hlo.add(i, number(step)), run, *inputs)
            else:
                outs = run(*inputs)
            carry = outs[:num_carry]
            rows.append(outs[num_carry:])
        in_order = zip(*(reversed(rows) if reverse else rows))
        return [*carry, *(_write_rows(ys, block, first) for ys, block in zip(state[num_carry:], in_order))]

    iterations = length // unroll
    looped = iterations * unroll if iterations > 1 else 0
    state = [*carry, *(splat(0, aval) for aval in ctx.avals_out[num_carry:])]
    if looped:
        _, *state = loop(
            ctx,
            lambda i, *_: [compare("LT", i, number(looped))],
            lambda i, *state: [hlo.add(i, number(unroll)), *take(unroll, i, state)],
            [number(0), *state],
        )
    return take(length - looped, number(looped), state) if looped < length else state


def _slice_at(xs: IrValue, i: IrValue) -> IrValue:
    """Return `xs[i]`."""
    shape = xs.type.shape
    element = ir.RankedTensorType.get(shape[1:], xs.type.element_type)
    return hlo.reshape(element, hlo.dynamic_slice(xs, _start(i, shape), [1, *shape[1:]]))


def _write_rows(ys: IrValue, rows: Sequence[IrValue], i: IrValue) -> IrValue:
    """Return `ys` with the rows from `ys[i]` on replaced.

    One update for all rows: XLA makes a kernel of each update, which took 5 % of an unrolled RNN, 1 to 2 % of its grad.
    """
    shape = ys.type.shape
    row = ir.RankedTensorType.get([1, *shape[1:]], ys.type.element_type)
    block = hlo.concatenate([hlo.reshape(row, y) for y in rows], 0)
    return hlo.dynamic_update_slice(ys, block, _start(i, shape))


def _start(i: IrValue, shape: Sequence[int]) -> list[IrValue]:
    """Return the start indices of row `i` of an array of `shape`."""
    zero = hlo.constant(ir.DenseElementsAttr.get_splat(i.type, ir.IntegerAttr.get(i.type.element_type, 0)))
    return [i] + [zero] * (len(shape) - 1)
