"""Batching triangular systems: one triangle for all elements gets the right-hand sides of all side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from calque_batching.axes import moveaxis
from calque_batching.define import align_batch_axes, defbatch
from calque_core import typeof
from calque_core.lax import reshape
from calque_core.lax.linalg import triangular_solve_p

Value = Any


def triangular_solve_batch(
    args: Sequence[Value], dims: Sequence[int | None], *, left_side: bool, **params: Any
) -> tuple[Value, int]:
    """Put the batch axis beside the free axis of b if a is one triangle, otherwise before the leading axes of both."""
    (a, b), (a_bdim, b_bdim) = args, dims
    if a_bdim is not None or b_bdim is None or typeof(a).ndim > 2:
        operands, _ = align_batch_axes(args, dims, 0)
        return triangular_solve_p.bind(*operands, left_side=left_side, **params), 0
    bdim = 1 if left_side else 0
    b = moveaxis(b, b_bdim, bdim)
    n, count = typeof(a).shape[0], prod(typeof(b).shape[bdim : bdim + 2])
    flat = reshape(b, (n, count) if left_side else (count, n))
    out = triangular_solve_p.bind(a, flat, left_side=left_side, **params)
    return reshape(out, typeof(b).shape), bdim


defbatch(triangular_solve_p, triangular_solve_batch)
