"""Lowering of writing windows at positions that are values: a region combines old and new.

XLA drops an update out of bounds, so that only clipping takes one more operation.  Where XLA divides the updates over
devices, extremes of floats are those of integers in their order, as in `reduce.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from calque_core import Primitive
from calque_core.extend import scatter_windows
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
from calque_xla_backend.rules.gather import limits


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
        return [floats_of_integers(op.results[0], x_aval)] if as_integers else list(op.results)


def_scatter(scatter_p, lambda old, new: new)
def_scatter(scatter_add_p, hlo.add)
def_scatter(scatter_mul_p, hlo.multiply)
def_scatter(scatter_min_p, minimum)
def_scatter(scatter_max_p, maximum)
