"""The batch of a `composite` is that of its decomposition, without the name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_batching.batch_trace import AxisData
from calque_batching.jaxprs import eval_batched
from calque_core import Jaxpr
from calque_core.lax import composite_p

Value = Any


@composite_p.def_rule("axis_batch")
def composite_batch(
    axis: AxisData, args: Sequence[Value], dims: Sequence[int | None], *, jaxpr: Jaxpr, **_: Any
) -> tuple[list[Value], list[int | None]]:
    return eval_batched(jaxpr, axis, args, dims)
