"""Batching windowed reductions: windows have size 1 along the batch axis, which stays where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.rules.reduce_function import def_by_function
from calque_core import Primitive
from calque_core.extend import Window, defbatch, with_entry
from calque_core.lax import reduce_window_max_p, reduce_window_min_p, reduce_window_p, reduce_window_sum_p

Value = Any
Params = dict[str, Any]

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

# Any function

def_by_function(reduce_window_p, window_in_batch)
