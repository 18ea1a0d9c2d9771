"""Batching the cipher behind random numbers: it acts on each counter alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.engine import align_operands
from calque_core.extend import defbatch
from calque_core.lax import threefry2x32_p

Value = Any


def threefry2x32_batch(args: Sequence[Value], dims: Sequence[int | None]) -> tuple[list[Value], list[int]]:
    args, dim = align_operands(args, dims)
    return threefry2x32_p.bind(*args), [dim, dim]


defbatch(threefry2x32_p, threefry2x32_batch)
