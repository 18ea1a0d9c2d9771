"""Batching systems of equations: one matrix for all elements gets the right-hand sides of all side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from calque_core import moveaxis, typeof
from calque_core.extend import align_batch_axes, defbatch, defleading
from calque_core.lax import reshape
from calque_core.lax.linalg import inv_p, solve, solve_p

Value = Any
Dims = Sequence[int | None]


def batched_solution(
    args: Sequence[Value], dims: Dims, solve_for: Callable[[Value, Value], Value], *, left_side: bool
) -> tuple[Value, int]:
    """Put the batch axis beside the free axis of b if a is one matrix, otherwise before the leading axes of both."""
    (a, b), (a_bdim, b_bdim) = args, dims
    if a_bdim is not None or b_bdim is None or typeof(a).ndim > 2:
        operands, _ = align_batch_axes(args, dims, 0)
        return solve_for(*operands), 0
    bdim = 1 if left_side else 0
    b = moveaxis(b, b_bdim, bdim)
    n, count = typeof(a).shape[0], prod(typeof(b).shape[bdim : bdim + 2])
    out = solve_for(a, reshape(b, (n, count) if left_side else (count, n)))
    return reshape(out, typeof(b).shape), bdim


def solve_batch(args: Sequence[Value], dims: Dims, *, transpose_a: bool) -> tuple[Value, int]:
    return batched_solution(args, dims, lambda a, b: solve(a, b, transpose_a=transpose_a), left_side=True)


defbatch(solve_p, solve_batch)
defleading(inv_p)
