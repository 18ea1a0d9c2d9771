"""Lowering of dtype changes.

Floats out of the range of an integer dtype saturate and NaN becomes 0; NumPy's result depends on the processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.lax import bitcast_convert_type_p, convert_element_type_p, discard_p, stop_gradient_p
from calque_xla_backend.define import IrValue, inferred, retyped
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type


def convert(x: IrValue, aval: ShapedArray, dtype: np.dtype[Any]) -> IrValue:
    """Return `x`, an array of type `aval`, in another dtype; complex numbers lose their imaginary part."""
    if aval.dtype == dtype:
        return x
    if aval.dtype.kind == "c" and dtype.kind != "c":
        real_dtype = np.dtype(f"f{aval.dtype.itemsize // 2}")
        return convert(hlo.real(x), aval.update(dtype=real_dtype), dtype)
    return hlo.convert(aval_to_ir_type(aval.update(dtype=dtype)), x)


@register_lowering(convert_element_type_p)
def convert_element_type_lowering(
    ctx: LoweringRuleContext, x: IrValue, *, new_dtype: np.dtype[Any], weak_type: bool
) -> Sequence[IrValue]:
    return [convert(x, ctx.avals_in[0], new_dtype)]


retyped(bitcast_convert_type_p, hlo.bitcast_convert)
inferred(stop_gradient_p, lambda x: x)
inferred(discard_p, lambda x: x)
