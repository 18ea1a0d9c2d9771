"""Batching of the primitives between values of own types and their arrays: all arrays have the batch axis of the value.

A value is mapped along its leading axes alone, which its type knows: `with_axis` and `without_axis`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.axes import bdim_at_front
from calque_batching.batch_trace import AxisData
from calque_core.engine import lowered, raised, with_leading_axis
from calque_core.lax import lower_p, raise_p

Value = Any
Dims = Sequence[int | None]


@lower_p.def_rule("batch")
def lower_batch(args: Sequence[Value], dims: Dims) -> tuple[list[Value], list[int | None]]:
    outs = lowered(args[0])
    return outs, [dims[0]] * len(outs)


@raise_p.def_rule("axis_batch")
def raise_batch(axis: AxisData, args: Sequence[Value], dims: Dims, *, aval: Any) -> tuple[Value, int]:
    arrays = [bdim_at_front(x, d, axis.size) for x, d in zip(args, dims)]
    return raised(arrays, with_leading_axis(aval, axis.size)), 0
