"""Lowering of the special functions that XLA has; other functions are lowered by their decompositions."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir.dialects import chlo
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import real_dtype, shaped_array
from calque_core.lax import erf_inv_p, logistic_p
from calque_xla_backend.define import IrValue, compare, splat, with_zero_of
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.rules.elementwise.convert import in_single
from calque_xla_backend.rules.elementwise.exponential import complex_exp


@register_lowering(logistic_p)
@in_single
def logistic_lowering(ctx: LoweringRuleContext, x: IrValue) -> Sequence[IrValue]:
    """Lower to XLA's logistic function, which has NaN for complex numbers with an infinite part beside NaN."""
    (aval,) = ctx.avals_in
    return [hlo.logistic(x) if aval.kind != "c" else _complex_logistic(aval, x)]


def _complex_logistic(aval: ShapedArray, x: IrValue) -> IrValue:
    """Return 1 / (1 + exp(-x)), or exp(x) / (1 + exp(x)), by the exponential that does not overflow.

    On the real axis the imaginary part is the operand's zero.
    """
    part_aval, one = shaped_array(aval.shape, real_dtype(aval.dtype)), splat(1, aval)
    is_positive = compare("GE", hlo.real(x), splat(0, part_aval))
    z = complex_exp(aval, hlo.select(is_positive, hlo.negate(x), x))
    out = hlo.divide(hlo.select(is_positive, one, z), hlo.add(one, z))
    return hlo.complex(hlo.real(out), with_zero_of(hlo.imag(out), hlo.imag(x), part_aval))


register_lowering(erf_inv_p, in_single(lambda ctx, x: [chlo.erf_inv(x)]))
