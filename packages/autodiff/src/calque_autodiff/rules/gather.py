"""The derivative of reading windows at positions that are values: linear in the array, but for the fill value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.define import check_known, defjvp, deftranspose
from calque_core import UndefinedPrimal
from calque_core.extend import zeros_of
from calque_core.lax import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather,
    gather_p,
    scatter_add,
)

Value = Any


def gather_tangent(
    x_dot: Value,
    out: Value,
    x: Value,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    fill_value: Any,
    **params: Any,
) -> Value:
    """Read the tangent at the same positions; values outside of the array are constants."""
    return gather(x_dot, indices, dimension_numbers, slice_sizes, fill_value=0, **params)


def gather_transpose(  # noqa: PLR0913 -- JAX's parameters
    ct: Value,
    x: UndefinedPrimal,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> list[Value]:
    """Add the windows back, among zeros.  Indices out of bounds that were clipped are clipped again."""
    check_known(gather_p, indices)
    is_filled = mode is GatherScatterMode.FILL_OR_DROP
    bar = scatter_add(
        zeros_of(x.aval),
        indices,
        ct,
        ScatterDimensionNumbers(*dimension_numbers),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices and is_filled,  # clipped, different indices may become equal
        mode=mode if is_filled else GatherScatterMode.CLIP,
    )
    return [bar, None]


defjvp(gather_p, gather_tangent, None)
deftranspose(gather_p, gather_transpose)
