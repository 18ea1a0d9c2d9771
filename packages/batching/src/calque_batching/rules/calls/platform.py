"""Batching `platform_dependent`: every branch is mapped, and the platform chooses for the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.rules.calls.cond import Batch, Branches, Dims, batch_branches
from calque_core.engine import Platforms
from calque_core.lax import platform_dependent_p

Value = Any


@platform_dependent_p.def_rule("axis_batch")
def platform_dependent_batch(
    axis: AxisData, args: Sequence[Value], dims: Dims, *, branches: Branches, platforms: Platforms
) -> Batch:
    return batch_branches(axis, partial(platform_dependent_p.bind, platforms=platforms), args, dims, branches)
