"""Batching `jit`, and other calls of a program: one call, of the same kind, of the program for the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import batch_jaxpr_axes
from calque_core import Jaxpr, Primitive
from calque_core.lax import jit_p

Value = Any


def def_call(primitive: Primitive) -> None:
    """Define the rule of a primitive that applies the program `jaxpr` to its operands; other parameters are kept."""

    @primitive.def_rule("axis_batch")
    def call_batch(
        axis: AxisData, args: Sequence[Value], dims: Sequence[int | None], *, jaxpr: Jaxpr, **params: Any
    ) -> tuple[list[Value], list[int | None]]:
        """Keep unmapped each result that depends on no mapped operand."""
        batched, out_dims = batch_jaxpr_axes(jaxpr, axis, dims)
        return primitive.bind(*args, jaxpr=batched, **params), out_dims


def_call(jit_p)
