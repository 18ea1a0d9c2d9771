"""The loops around the insertion point, with the numbers of their steps, for the errors of checks.

One idea: `ModuleContext.steps` has a row for each loop, the outermost first.  A function of the module, and the region
of a `shard_map`, begins without rows, since values outside are not visible there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.engine import at_place
from calque_xla_backend.modules.lowering import LoweringRuleContext, Step
from calque_xla_backend.modules.types import IrValue, ir_constant

Build = Callable[..., Sequence[IrValue]]


def in_step(ctx: LoweringRuleContext, verb: str, number: IrValue, build: Build, *values: IrValue) -> Sequence[IrValue]:
    """Return `build(*values)`, the operations of the step `number` of the equation's loop."""
    module_context = ctx.module_context
    outside = module_context.steps
    module_context.steps = (*outside, Step(verb, at_place(ctx.eqn.position), number))
    try:
        return build(*values)
    finally:
        module_context.steps = outside


def counted(ctx: LoweringRuleContext, verb: str, build: Build, advance: int) -> Build:
    """Return `build`, of a loop's state, as a function of a counter and the state; it adds `advance` to a counter.

    Without `advance`, it returns no counter.
    """

    def build_counted(number: IrValue, *state: Any) -> list[IrValue]:
        outs = in_step(ctx, verb, number, build, *state)
        return [hlo.add(number, ir_constant(np.int32(advance))), *outs] if advance else [*outs]

    return build_counted
