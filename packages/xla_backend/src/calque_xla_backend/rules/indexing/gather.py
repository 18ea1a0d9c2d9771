"""Lowering of reading windows at positions that are values.

XLA clips the indices of a gather, so that only a fill value takes more operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import ShapedArray
from calque_core.engine import default_fill, gather_windows
from calque_core.extend import Shape, shaped_array
from calque_core.lax import GatherDimensionNumbers, GatherScatterMode, gather_p
from calque_xla_backend.define import IrValue, compare, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type, ir_constant, scalar_constant
from calque_xla_backend.rules.reductions.reduce import reduce

BOOL = np.dtype(bool)


@register_lowering(gather_p)
def gather_lowering(  # noqa: PLR0913 -- JAX's parameters
    ctx: LoweringRuleContext,
    x: IrValue,
    indices: IrValue,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> Sequence[IrValue]:
    (x_aval, indices_aval), (out_aval,) = ctx.avals_in, ctx.avals_out
    if not out_aval.size:
        return [splat(0, out_aval)]
    offset_dims, collapsed, mapped, batching, rows = dimension_numbers
    numbers = hlo.GatherDimensionNumbers.get(
        offset_dims=list(offset_dims),
        collapsed_slice_dims=list(collapsed),
        operand_batching_dims=list(batching),
        start_indices_batching_dims=list(rows),
        start_index_map=list(mapped),
        index_vector_dim=indices_aval.ndim - 1,
    )
    out = hlo.gather(x, indices, numbers, list(slice_sizes), indices_are_sorted=indices_are_sorted)
    if mode is not GatherScatterMode.FILL_OR_DROP:
        return [out]
    is_inside = inside(gather_windows(x_aval.shape, dimension_numbers, slice_sizes), indices, indices_aval)
    row_dims = [axis for axis in range(out_aval.ndim) if axis not in offset_dims]
    mask = hlo.broadcast_in_dim(aval_to_ir_type(out_aval.update(dtype=BOOL)), is_inside, row_dims)
    fill = default_fill(out_aval.dtype) if fill_value is None else np.asarray(fill_value).astype(out_aval.dtype)
    return [hlo.select(mask, out, splat(fill, out_aval))]


def inside(windows: Any, indices: IrValue, indices_aval: ShapedArray) -> IrValue:
    """Return for each row of indices whether its window lies inside of the operand."""
    low, high = splat(0, indices_aval), limits(windows, indices_aval)
    fits = hlo.and_(compare("GE", indices, low), compare("LE", indices, high))
    rows_aval = shaped_array(indices_aval.shape[:-1], BOOL)
    init = scalar_constant(True, BOOL)
    return reduce([fits], [init], [rows_aval], (indices_aval.ndim - 1,), lambda a, b: [hlo.and_(a, b)])[0]


def limits(windows: Any, indices_aval: ShapedArray) -> IrValue:
    """Return the largest index inside of the operand for each index."""
    row = ir_constant(np.array(windows.limits, indices_aval.dtype))
    return hlo.broadcast_in_dim(aval_to_ir_type(indices_aval), row, [indices_aval.ndim - 1])
