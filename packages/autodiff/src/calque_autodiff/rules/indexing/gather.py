"""The derivative of reading windows at positions that are values: linear in the array, but for the fill value."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from calque_autodiff.known.lines import Lines, Maker
from calque_core import Jaxpr, ShapedArray, UndefinedPrimal
from calque_core.engine import clipped_lines, combine_lines, zeros_of
from calque_core.extend import check_known, defjvp, deftranspose, shaped_array
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

# In every size


def positions_in_every_size(program: Jaxpr, others: Sequence[Value]) -> Maker | None:
    """Return the lines of `x[rows]` or `x[i, j]`, for known positions, as rows of indices, along the first axes.

    The sizes are in no parameter, so no window of a `gather` is made, and kept, for each.
    """
    eqn = program.eqns[0]
    if len(program.eqns) > 1 or len(program.invars) != 2 or eqn.primitive is not gather_p:
        return None
    offset_dims, axes = eqn.params["dimension_numbers"][:2]
    num_rows, count = eqn.invars[1].aval.ndim - 1, len(axes)
    is_first = axes == tuple(range(count)) and offset_dims == tuple(range(num_rows, num_rows + len(offset_dims)))
    if not is_first or not others[0].is_gather or eqn.params["mode"] is not GatherScatterMode.PROMISE_IN_BOUNDS:
        return None

    def lines(aval: ShapedArray, rows: ShapedArray) -> Lines | None:
        shape, dtype, sizes = aval.shape, aval.dtype, aval.shape[:count]
        in_lines = (prod(sizes), *shape[count:])
        out_aval = shaped_array((*rows.shape[:-1], *shape[count:]), dtype)
        if not out_aval.size:
            return None

        def run(x: Value, indices: Value) -> Value:
            if x.flags.c_contiguous:
                return x.reshape(in_lines).take(clipped_lines(indices, sizes), 0)
            return x[tuple([indices[..., i] for i in range(count)])]

        def add(total: Value, ct: Value, indices: Value) -> None:
            if total.flags.c_contiguous:
                combine_lines(np.add, total.reshape(in_lines), clipped_lines(indices, sizes).reshape(-1), ct)
            else:
                np.add(total, pull(ct, indices), total)

        def pull(ct: Value, indices: Value) -> Value:
            out = np.zeros(shape, dtype)
            add(out, ct, indices)
            return out

        return Lines(out_aval, run, pull, add)

    return lines


gather_p.def_rule("every_size", positions_in_every_size)
