"""Batching checkpointed functions: one checkpointed program for the whole batch, with the same policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.rules.calls.jit import def_call
from calque_core.extend import defvectorized
from calque_core.lax import dce_sink_p, name_p, optimization_barrier_p, remat_p

Value = Any
Dims = Sequence[int | None]


def_call(remat_p)
defvectorized(name_p)


@optimization_barrier_p.def_rule("batch")
def optimization_barrier_batch(args: Sequence[Value], dims: Dims) -> tuple[list[Value], Dims]:
    """Each result is its operand, mapped or not."""
    return optimization_barrier_p.bind(*args), dims


@dce_sink_p.def_rule("batch")
def dce_sink_batch(args: Sequence[Value], dims: Dims) -> tuple[list[Value], Dims]:
    """Keep the values of all elements."""
    return dce_sink_p.bind(*args), []
