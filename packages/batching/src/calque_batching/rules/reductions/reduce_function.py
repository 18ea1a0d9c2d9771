"""Batching a reduction by any function: the batch axis is not reduced."""

from __future__ import annotations

from typing import Any

from calque_core.engine import axes_in_batch, defreduction
from calque_core.extend import Shape
from calque_core.lax import reduce_p

Params = dict[str, Any]


def reduce_moved(bdim: int, params: Params) -> tuple[Params, int]:
    dimensions: Shape = axes_in_batch(params["dimensions"], bdim)
    return {"dimensions": dimensions}, bdim - sum(axis < bdim for axis in dimensions)


defreduction(reduce_p, reduce_moved)
