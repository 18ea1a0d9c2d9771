"""Lowering of the special functions that XLA has; the others are lowered by their decompositions."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir.dialects import chlo
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core.extend import at_least_single
from calque_core.lax import erf_inv_p, logistic_p
from calque_xla_backend.define import IrValue, elementwise
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.rules.convert import convert


@register_lowering(logistic_p)
def logistic_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Half precision is computed in single precision: the exponential overflows where the result does not underflow."""
    (aval,) = ctx.avals_in
    wide_aval = aval.update(dtype=at_least_single(aval.dtype))
    out = hlo.logistic(convert(x, aval, wide_aval.dtype))
    return [convert(out, wide_aval, aval.dtype)]


elementwise(erf_inv_p, chlo.erf_inv)
