"""The derivatives and the batches of windowed reductions.

A sum is linear, a maximum reads the tangents of the winners.  Any other function is its slices, combined by operations
that have derivatives.  In a batch, windows have size 1 along the batch axis, which stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Primitive, UndefinedPrimal
from calque_core.engine import defreduction, with_entry
from calque_core.extend import defbatch, defjvp, deflinear, not_linear
from calque_core.lax import ge_p, le_p
from calque_signal.ops.reduce_window import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
)
from calque_signal.ops.select_and_scatter import select_and_gather_add
from calque_signal.ops.slides import Window

Value = Any
Params = dict[str, Any]

# Derivatives


def reduce_window_sum_transpose(ct: Value, x: UndefinedPrimal, **window: Any) -> list[Value]:
    """Sum, for each element, the cotangents of the windows that hold it: the same window slides over them."""
    return [reduce_window_sum_p.bind(ct, **Window(**window).transposed(x.aval.shape)._asdict())]


deflinear(reduce_window_sum_p, reduce_window_sum_transpose)
defjvp(reduce_window_max_p, lambda x_dot, out, x, **window: select_and_gather_add(x_dot, x, ge_p, **window))
defjvp(reduce_window_min_p, lambda x_dot, out, x, **window: select_and_gather_add(x_dot, x, le_p, **window))
not_linear(reduce_window_max_p, reduce_window_min_p, reduce_window_p)

# Batches

_BATCH_AXIS: Params = Window(1, 1, (0, 0), 1, 1)._asdict()  # type: ignore[arg-type]  # the entries of one axis


def window_in_batch(bdim: int, window: Params) -> tuple[Params, int]:
    """Return a window of a batch whose axis is at `bdim`, and the place of this axis in the result."""
    return {name: with_entry(entries, bdim, _BATCH_AXIS[name]) for name, entries in window.items()}, bdim


def defwindowed(primitive: Primitive) -> None:
    """Define the rule of a reduction of one operand by windows."""

    def batch(args: Sequence[Value], dims: Sequence[int], **window: Any) -> tuple[Value, int]:
        (x,), (x_bdim,) = args, dims
        moved, out_bdim = window_in_batch(x_bdim, window)
        return primitive.bind(x, **moved), out_bdim

    defbatch(primitive, batch)


defwindowed(reduce_window_sum_p)
defwindowed(reduce_window_max_p)
defwindowed(reduce_window_min_p)
defreduction(reduce_window_p, window_in_batch)
