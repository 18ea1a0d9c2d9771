"""Batching checkpointed functions: one checkpointed program for the whole batch, with the same policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.define import defvectorized
from calque_batching.rules.jit import def_call
from calque_core.lax import name_p, optimization_barrier_p, remat_p

Value = Any
Dims = Sequence[int | None]


def_call(remat_p)
defvectorized(name_p)


@optimization_barrier_p.def_rule("batch")
def optimization_barrier_batch(args: Sequence[Value], dims: Dims) -> tuple[list[Value], Dims]:
    """Each result is its operand, mapped or not."""
    return optimization_barrier_p.bind(*args), dims
