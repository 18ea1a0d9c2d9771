"""Lowering of the choice of the greatest elements.

XLA's `top_k` orders numbers by their bits: a NaN by its sign, -0.0 before 0.0.  It gets keys with one NaN and one zero;
the elements are then read at the positions that it returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import chlo

from calque_core import moveaxis, typeof
from calque_core.engine import elements_at
from calque_core.extend import is_float, shaped_array, wide_dtype
from calque_core.lax import convert_element_type, eq, ne, select, top_k_p
from calque_xla_backend.define import IrValue
from calque_xla_backend.modules.lowering import LoweringRuleContext, lower_fun, register_lowering

Value = Any


@register_lowering(top_k_p)
def top_k_lowering(ctx: LoweringRuleContext, x: IrValue, *, k: int, axis: int) -> Sequence[IrValue]:
    (x_aval,), (out_aval, _) = ctx.avals_in, ctx.avals_out
    (keys,) = lower_fun(_keys, multiple_results=False)(ctx, x, axis=axis)
    _, indices = chlo.top_k(keys, k)
    shape = (*out_aval.shape[:axis], *out_aval.shape[axis + 1 :], k)
    inner = ctx.replace(avals_in=[x_aval, shaped_array(shape, np.dtype(np.int32))])
    return lower_fun(_chosen)(inner, x, indices, axis=axis)


def _keys(x: Value, *, axis: int) -> Value:
    """Return keys in the order of `x`, with the axis of the choice at the end.

    Short floats become single, for which XLA has a partial sort: 0.3 ms instead of 24 for 10 of 100,000 numbers.
    Integers of 4 bits become int8: XLA sorts them only alone.
    """
    x = moveaxis(x, axis, -1)
    dtype = typeof(x).dtype
    x = convert_element_type(x, wide_dtype(dtype))
    if not is_float(dtype):
        return x
    return select(eq(x, 0.0), 0.0, select(ne(x, x), np.nan, x))


def _chosen(x: Value, indices: Value, *, axis: int) -> list[Value]:
    indices = moveaxis(indices, -1, axis)
    return [elements_at(x, indices, axis), indices]
