"""Batching the reading of windows at positions that are values.

One idea: an unmapped array of indices means the same windows of every element, and the batch axis becomes an axis of
the windows; mapped indices into an unmapped array are more rows; otherwise the batch axes are a pair of batching axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import moveaxis, typeof
from calque_core.engine import axes_in_batch, with_entry
from calque_core.extend import Shape, defbatch
from calque_core.lax import GatherDimensionNumbers, gather, gather_p

Value = Any
Dims = Sequence[int | None]
Numbers = tuple[Shape, Shape, Shape, Shape, Shape]


def gather_batch(
    args: Sequence[Value],
    dims: Dims,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    unique_indices: bool,
    indices_are_sorted: bool,
    **params: Any,
) -> tuple[Value, int]:
    (x, indices), (x_bdim, i_bdim) = args, dims
    if i_bdim is None:
        assert x_bdim is not None
        numbers, out_bdim = windows_with_batch(dimension_numbers, x_bdim, typeof(x).ndim)
        sizes = with_entry(slice_sizes, x_bdim, typeof(x).shape[x_bdim])
        params.update(unique_indices=unique_indices, indices_are_sorted=indices_are_sorted)
        return gather(x, indices, GatherDimensionNumbers(*numbers), sizes, **params), out_bdim
    indices = moveaxis(indices, i_bdim, 0)
    if x_bdim is None:
        rows = axes_in_batch(dimension_numbers.start_indices_batching_dims, 0)
        numbers = dimension_numbers._replace(
            offset_dims=axes_in_batch(dimension_numbers.offset_dims, 0), start_indices_batching_dims=rows
        )
        return gather(x, indices, numbers, slice_sizes, **params), 0
    numbers = GatherDimensionNumbers(*paired_with_batch(dimension_numbers, x_bdim))
    sizes = with_entry(slice_sizes, x_bdim, min(1, typeof(x).shape[x_bdim]))
    return gather(x, indices, numbers, sizes, unique_indices=unique_indices, **params), 0


def windows_with_batch(numbers: Sequence[Shape], x_bdim: int, ndim: int) -> tuple[Numbers, int]:
    """Return the numbers with the batch axis of the operand as an axis of windows, and its place in result or updates.

    `ndim` is the rank of the operand with that axis.
    """
    window, collapsed, mapped, batching, rows = numbers
    collapsed, mapped, batching = (axes_in_batch(axes, x_bdim) for axes in (collapsed, mapped, batching))
    before = sum(axis < x_bdim for axis in range(ndim) if axis not in (*collapsed, *batching))
    bdim = window[before - 1] + 1 if before else 0
    window = axes_in_batch(window, bdim)
    return ((*window[:before], bdim, *window[before:]), collapsed, mapped, batching, rows), bdim


def paired_with_batch(numbers: Sequence[Shape], x_bdim: int) -> Numbers:
    """Return the numbers of a gather or scatter with the batch axes, of the indices in front, as batching axes."""
    window, collapsed, mapped, batching, rows = numbers
    collapsed, mapped, batching = (axes_in_batch(axes, x_bdim) for axes in (collapsed, mapped, batching))
    pairs = sorted([(x_bdim, 0), *zip(batching, axes_in_batch(rows, 0))])
    batching, rows = (tuple(axes) for axes in zip(*pairs))
    return axes_in_batch(window, 0), collapsed, mapped, batching, rows


defbatch(gather_p, gather_batch)
