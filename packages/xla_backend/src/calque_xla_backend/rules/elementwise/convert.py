"""Lowering of dtype changes.

Floats out of the range of an integer dtype saturate and NaN becomes 0; NumPy's result depends on the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.extend import wide_dtype
from calque_core.lax import bitcast_convert_type_p, convert_element_type_p, discard_p, stop_gradient_p
from calque_xla_backend.define import IrValue, inferred, retyped
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type

Rule = Callable[..., Sequence[IrValue]]


def convert(x: IrValue, aval: ShapedArray, dtype: np.dtype[Any]) -> IrValue:
    """Return `x`, an array of type `aval`, in another dtype; complex numbers lose their imaginary part."""
    if aval.dtype == dtype:
        return x
    if aval.kind == "c" and dtype.kind != "c":
        real_dtype = np.dtype(f"f{aval.dtype.itemsize // 2}")
        return convert(hlo.real(x), aval.update(dtype=real_dtype), dtype)
    return hlo.convert(aval_to_ir_type(aval.update(dtype=dtype)), x)


def in_single(rule: Rule) -> Rule:
    """Return a rule of an elementwise function whose steps are computed in single precision for narrower floats.

    The result is rounded once, as NumPy does; in the narrow dtype each step would be rounded.
    """

    @wraps(rule)
    def lowering(ctx: LoweringRuleContext, *values: IrValue) -> Sequence[IrValue]:
        (out_aval,) = ctx.avals_out
        wide = wide_dtype(out_aval.dtype)
        if wide == out_aval.dtype:
            return rule(ctx, *values)
        avals = [aval.update(dtype=wide) for aval in ctx.avals_in]
        wide_values = [convert(x, aval, wide) for x, aval in zip(values, ctx.avals_in)]
        (out,) = rule(ctx.replace(avals_in=avals, avals_out=[out_aval.update(dtype=wide)]), *wide_values)
        return [convert(out, out_aval.update(dtype=wide), out_aval.dtype)]

    return lowering


@register_lowering(convert_element_type_p)
def convert_element_type_lowering(
    ctx: LoweringRuleContext, x: IrValue, *, new_dtype: np.dtype[Any], weak_type: bool
) -> Sequence[IrValue]:
    return [convert(x, ctx.avals_in[0], new_dtype)]


retyped(bitcast_convert_type_p, hlo.bitcast_convert)
inferred(stop_gradient_p, lambda x: x)
inferred(discard_p, lambda x: x)
