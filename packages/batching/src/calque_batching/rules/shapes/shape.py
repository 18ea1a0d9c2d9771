"""Batching the operations of `calque_core.ops.shapes.shape`: parameters with an entry per axis get one more entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import moveaxis, typeof
from calque_core.engine import align_operands, axes_in_batch, with_entry
from calque_core.extend import defbatch
from calque_core.lax import (
    full,
    pad,
    pad_p,
    reshape,
    reshape_p,
    rev,
    rev_p,
    select_n_p,
    slice,
    slice_p,
    squeeze,
    squeeze_p,
    transpose,
    transpose_p,
)

Value = Any
Shape = tuple[int, ...]
Dims = Sequence[int | None]

# The same elements in other positions


def reshape_batch(args: Sequence[Value], dims: Sequence[int], *, new_sizes: Shape) -> tuple[Value, int]:
    """Keep a batch axis at the front or the end: no element moves.  Move any other to the front."""
    (x,), (x_bdim,) = args, dims
    shape = typeof(x).shape
    if x_bdim == len(shape) - 1:
        return reshape(x, (*new_sizes, shape[-1])), len(new_sizes)
    return reshape(moveaxis(x, x_bdim, 0), (shape[x_bdim], *new_sizes)), 0


def transpose_batch(args: Sequence[Value], dims: Sequence[int], *, permutation: Shape) -> tuple[Value, int]:
    """Move the batch axis to the front in the same transposition."""
    (x,), (x_bdim,) = args, dims
    return transpose(x, (x_bdim, *axes_in_batch(permutation, x_bdim))), 0


def rev_batch(args: Sequence[Value], dims: Sequence[int], *, dimensions: Shape) -> tuple[Value, int]:
    (x,), (x_bdim,) = args, dims
    return rev(x, axes_in_batch(dimensions, x_bdim)), x_bdim


def squeeze_batch(args: Sequence[Value], dims: Sequence[int], *, dimensions: Shape) -> tuple[Value, int]:
    (x,), (x_bdim,) = args, dims
    removed = axes_in_batch(dimensions, x_bdim)
    return squeeze(x, removed), x_bdim - sum(axis < x_bdim for axis in removed)


defbatch(reshape_p, reshape_batch)
defbatch(transpose_p, transpose_batch)
defbatch(rev_p, rev_batch)
defbatch(squeeze_p, squeeze_batch)

# Slices


def slice_batch(
    args: Sequence[Value], dims: Sequence[int], *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> tuple[Value, int]:
    (x,), (x_bdim,) = args, dims
    starts, limits = (with_entry(start_indices, x_bdim, 0), with_entry(limit_indices, x_bdim, typeof(x).shape[x_bdim]))
    return slice(x, starts, limits, None if strides is None else with_entry(strides, x_bdim, 1)), x_bdim


defbatch(slice_p, slice_batch)

# More elements


def pad_batch(
    args: Sequence[Value], dims: Dims, *, padding_config: tuple[tuple[int, int, int], ...]
) -> tuple[Value, int]:
    """Pad with an unmapped value directly; select a mapped value where a padded mask marks the padding."""
    (x, padding_value), (x_bdim, value_bdim) = args, dims
    config = padding_config if x_bdim is None else with_entry(padding_config, x_bdim, (0, 0, 0))
    if value_bdim is None:
        assert x_bdim is not None
        return pad(x, padding_value, config), x_bdim
    aval = typeof(x)
    inner_shape = aval.shape if x_bdim is None else aval.shape[:x_bdim] + aval.shape[x_bdim + 1 :]
    is_inside = pad(full(inner_shape, True), False, padding_config)
    padded = pad(x, aval.dtype.type(0), config)
    operands, out_bdim = align_operands([is_inside, padding_value, padded], [None, value_bdim, x_bdim])
    return select_n_p.bind(*operands), out_bdim


defbatch(pad_p, pad_batch)
