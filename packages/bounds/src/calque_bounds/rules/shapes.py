"""Interval rules of operations that move elements: each bound moves as the element does.  Positions must be known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from calque_bounds import interval as iv
from calque_bounds.interval import Interval
from calque_bounds.table import EXACT, def_growing, grow
from calque_core import Primitive, lax

def_growing(
    *(lax.broadcast_in_dim_p, lax.reshape_p, lax.transpose_p, lax.rev_p, lax.squeeze_p, lax.slice_p, lax.pad_p),
    *(lax.concatenate_p, lax.split_p, lax.stack_p, lax.unstack_p, lax.tile_p),
)


def with_known(primitive: Primitive, xs: Sequence[Interval], positions: slice) -> list[Interval]:
    """Return the operands, with one array for each index at these positions."""
    operands = list(xs)
    remedy = "Compute indices, and what is sorted beside them, from constants."
    operands[positions] = [iv.known(x, f"an operand of '{primitive.name}'", remedy) for x in xs[positions]]
    return operands


def grow_at(positions: slice, primitive: Primitive, *xs: Interval, **params: Any) -> Any:
    """Apply a primitive, whose operands at these positions are indices, to the bounds."""
    return grow(primitive, *with_known(primitive, xs, positions), **params)


def def_indexed(positions: slice, *primitives: Primitive) -> None:
    """Define the rules of primitives that move elements to, or from, places that are operands."""
    EXACT.update(primitives)
    for primitive in primitives:
        primitive.def_rule("bounds", partial(grow_at, positions, primitive))


def_indexed(slice(1, 2), lax.gather_p, lax.scatter_p, lax.scatter_max_p, lax.scatter_min_p)
def_indexed(slice(1, None), lax.dynamic_slice_p)
def_indexed(slice(2, None), lax.dynamic_update_slice_p)
EXACT.add(lax.sort_p)


@lax.sort_p.def_rule("bounds")
def sort_bounds(*xs: Interval, **params: Any) -> Any:
    """Sort both bounds: the k-th smallest number grows with each number.  Several operands must be known."""
    return grow_at(slice(0 if len(xs) > 1 else 1, None), lax.sort_p, *xs, **params)
