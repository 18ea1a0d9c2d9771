"""Batching the reading and replacing of a window at a traced position.

One idea: an unmapped position means the same window of every element; a window at a mapped position is that of a
`gather` or a `scatter` with one row of indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_batching.axes import matchaxis
from calque_batching.rules.indexing.gather import gather_batch
from calque_batching.rules.indexing.scatter import scatter_batch
from calque_core import typeof
from calque_core.engine import batch_size, with_entry
from calque_core.extend import Shape, defbatch
from calque_core.lax import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    concatenate,
    dynamic_slice_p,
    dynamic_update_slice_p,
    expand_dims,
)

Value = Any
Dims = Sequence[int | None]


def dynamic_slice_batch(args: Sequence[Value], dims: Dims, *, slice_sizes: Shape) -> tuple[Value, int]:
    (x, *starts), (x_bdim, *start_dims) = args, dims
    if all(d is None for d in start_dims):
        assert x_bdim is not None
        sizes = with_entry(slice_sizes, x_bdim, typeof(x).shape[x_bdim])
        return dynamic_slice_p.bind(x, *with_zero(starts, x_bdim), slice_sizes=sizes), x_bdim
    indices, mapped = one_row(starts, start_dims)
    return gather_batch(
        (x, indices),
        (x_bdim, 0),
        dimension_numbers=GatherDimensionNumbers(tuple(range(len(starts))), (), mapped),
        slice_sizes=slice_sizes,
        unique_indices=True,
        indices_are_sorted=True,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


def dynamic_update_slice_batch(args: Sequence[Value], dims: Dims) -> tuple[Value, int]:
    (x, update, *starts), (x_bdim, u_bdim, *start_dims) = args, dims
    if all(d is None for d in start_dims):
        size = batch_size(args, dims)
        bdim = 0 if x_bdim is None else x_bdim
        x, update = matchaxis(x, x_bdim, bdim, size), matchaxis(update, u_bdim, bdim, size)
        return dynamic_update_slice_p.bind(x, update, *with_zero(starts, bdim)), bdim
    indices, mapped = one_row(starts, start_dims)
    return scatter_batch(
        (x, indices, update),
        (x_bdim, 0, u_bdim),
        dimension_numbers=ScatterDimensionNumbers(tuple(range(len(starts))), (), mapped),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    )


def with_zero(starts: Sequence[Value], bdim: int) -> tuple[Value, ...]:
    """Return the indices of a corner in the whole array, which is at 0 along the batch axis."""
    dtype = typeof(starts[0]).dtype if starts else np.dtype(np.int32)  # a scalar has no start
    return with_entry(starts, bdim, dtype.type(0))


def one_row(starts: Sequence[Value], dims: Dims) -> tuple[Value, Shape]:
    """Return indices [batch, axes] of the corners, and the axes."""
    size = batch_size(starts, dims)
    columns = [expand_dims(matchaxis(i, d, 0, size), (1,)) for i, d in zip(starts, dims)]
    return concatenate(columns, 1), tuple(range(len(starts)))


defbatch(dynamic_slice_p, dynamic_slice_batch)
defbatch(dynamic_update_slice_p, dynamic_update_slice_batch)
