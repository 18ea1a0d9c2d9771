"""Batching `jit`: one program for the whole batch, with the same compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_core import Jaxpr
from calque_core.lax import jit_p

Value = Any


def jit_batch(
    axis: AxisData, args: Sequence[Value], dims: Sequence[int | None], *, jaxpr: Jaxpr, **params: Any
) -> tuple[list[Value], list[int | None]]:
    """Keep unmapped each result that depends on no mapped operand."""
    batched, out_dims = batch_jaxpr_axes(jaxpr, axis, dims)
    return jit_p.bind(*args, jaxpr=batched, **params), out_dims


jit_p.def_rule("axis_batch", jit_batch)
