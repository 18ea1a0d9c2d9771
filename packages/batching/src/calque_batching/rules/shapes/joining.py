"""Batching the operations of `calque_core.ops.shapes.joining`.

The batch axis goes where operands and result are contiguous: beside a new first axis, in front of any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.engine import with_entry
from calque_core.extend import align_batch_axes, defbatch
from calque_core.lax import (
    concatenate,
    concatenate_p,
    split,
    split_p,
    stack,
    stack_p,
    tile,
    tile_p,
    unstack,
    unstack_p,
)

Value = Any
Shape = tuple[int, ...]
Dims = Sequence[int | None]


def concatenate_batch(args: Sequence[Value], dims: Dims, *, dimension: int) -> tuple[Value, int]:
    operands, bdim = align_batch_axes(args, dims)
    return concatenate(operands, dimension + (bdim <= dimension)), bdim


def split_batch(args: Sequence[Value], dims: Sequence[int], *, sizes: Shape, axis: int) -> tuple[list[Value], Dims]:
    (x,), (x_bdim,) = args, dims
    return split(x, sizes, axis + (x_bdim <= axis)), [x_bdim] * len(sizes)


def stack_batch(args: Sequence[Value], dims: Dims, *, axis: int) -> tuple[Value, int]:
    """Put a new first axis before the batch axis, as whole operands one after the other; any other axis after it."""
    if axis == 0:
        operands, bdim = align_batch_axes(args, dims)
        return stack(operands, 0), bdim + 1
    operands, bdim = align_batch_axes(args, dims, 0)
    return stack(operands, axis + 1), 0


def unstack_batch(args: Sequence[Value], dims: Sequence[int], *, axis: int) -> tuple[list[Value], Dims]:
    (x,), (x_bdim,) = args, dims
    whole_axis = axis + (x_bdim <= axis)
    outs = unstack(x, whole_axis)
    return outs, [x_bdim - (whole_axis < x_bdim)] * len(outs)


def tile_batch(args: Sequence[Value], dims: Sequence[int], *, reps: Shape) -> tuple[Value, int]:
    (x,), (x_bdim,) = args, dims
    return tile(x, with_entry(reps, x_bdim, 1)), x_bdim


defbatch(concatenate_p, concatenate_batch)
defbatch(split_p, split_batch)
defbatch(stack_p, stack_batch)
defbatch(unstack_p, unstack_batch)
defbatch(tile_p, tile_batch)
