"""Lowering of writing windows at positions that are values: a region combines old and new.

XLA drops an update out of bounds, so that only clipping takes one more operation.  Where XLA divides the updates over
devices, extremes of floats are those of integers in their order, as in `reduce.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Primitive, ShapedArray
from calque_core.engine import scatter_windows
from calque_core.extend import shaped_array
from calque_core.lax import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
)
from calque_xla_backend.define import IrValue, floats_of_integers, maximum, minimum, ordered_integers, splat
from calque_xla_backend.modules.lowering import LoweringRuleContext, register_lowering
from calque_xla_backend.modules.types import aval_to_ir_type
from calque_xla_backend.rules.indexing.gather import limits


def def_scatter(primitive: Primitive, combine: Callable[[IrValue, IrValue], IrValue]) -> None:
    """Lower a kind of scatter, which combines an old element with an update by `combine`."""

    @register_lowering(primitive)
    def lowering(  # noqa: PLR0913 -- JAX's parameters
        ctx: LoweringRuleContext,
        x: IrValue,
        indices: IrValue,
        updates: IrValue,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
    ) -> Sequence[IrValue]:
        x_aval, indices_aval, updates_aval = ctx.avals_in
        if not x_aval.size or not updates_aval.size:
            return [x]
        if not dimension_numbers.scatter_dims_to_operand_dims:
            x, x_aval, indices, indices_aval, dimension_numbers = at_an_index(
                x, x_aval, indices_aval, dimension_numbers
            )
        if mode is GatherScatterMode.CLIP:
            windows = scatter_windows(x_aval.shape, updates_aval.shape, dimension_numbers)
            indices = hlo.clamp(splat(0, indices_aval), indices, limits(windows, indices_aval))
        window_dims, inserted, mapped, batching, rows = dimension_numbers
        numbers = hlo.ScatterDimensionNumbers.get(
            update_window_dims=list(window_dims),
            inserted_window_dims=list(inserted),
            input_batching_dims=list(batching),
            scatter_indices_batching_dims=list(rows),
            scattered_dims_to_operand_dims=list(mapped),
            index_vector_dim=indices_aval.ndim - 1,
        )
        as_integers = ctx.is_divided and combine in (maximum, minimum) and x_aval.kind == "f"
        if as_integers:
            x, updates = (ordered_integers(combine, *pair) for pair in ((x, x_aval), (updates, updates_aval)))
        op = hlo.ScatterOp(
            [x.type],
            [x],
            indices,
            [updates],
            numbers,
            indices_are_sorted=indices_are_sorted and mode is not GatherScatterMode.CLIP,
            unique_indices=unique_indices,
        )
        scalar = ir.RankedTensorType.get([], x.type.element_type)
        block = op.regions[0].blocks.append(scalar, scalar)
        with ir.InsertionPoint(block):
            hlo.return_([combine(*block.arguments)])
        out = floats_of_integers(op.results[0], x_aval) if as_integers else op.results[0]
        return [out if x_aval.shape == ctx.avals_in[0].shape else hlo.reshape(aval_to_ir_type(ctx.avals_in[0]), out)]


def at_an_index(
    x: IrValue, x_aval: ShapedArray, indices_aval: ShapedArray, numbers: ScatterDimensionNumbers
) -> tuple[IrValue, ShapedArray, IrValue, ShapedArray, ScatterDimensionNumbers]:
    """Return an operand with a new axis of size 1, indices of 0 along it, their types, and the dimension numbers.

    Without an axis to index, XLA combines only one of several windows, or compiles nothing.
    """
    x_aval = shaped_array((1, *x_aval.shape), x_aval.dtype)
    indices_aval = shaped_array((*indices_aval.shape[:-1], 1), indices_aval.dtype)
    numbers = numbers._replace(
        inserted_window_dims=(0, *[i + 1 for i in numbers.inserted_window_dims]),
        scatter_dims_to_operand_dims=(0,),
        operand_batching_dims=tuple([i + 1 for i in numbers.operand_batching_dims]),
    )
    return hlo.reshape(aval_to_ir_type(x_aval), x), x_aval, splat(0, indices_aval), indices_aval, numbers


def_scatter(scatter_p, lambda old, new: new)
def_scatter(scatter_add_p, hlo.add)
def_scatter(scatter_mul_p, hlo.multiply)
def_scatter(scatter_min_p, minimum)
def_scatter(scatter_max_p, maximum)
