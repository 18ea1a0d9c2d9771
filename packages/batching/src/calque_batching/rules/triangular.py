"""Batching triangular systems, as all systems of equations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from calque_batching.rules.equations import batched_solution
from calque_core.extend import defbatch
from calque_core.lax.linalg import triangular_solve_p

Value = Any


def triangular_solve_batch(
    args: Sequence[Value], dims: Sequence[int | None], *, left_side: bool, **params: Any
) -> tuple[Value, int]:
    solve_for = partial(triangular_solve_p.bind, left_side=left_side, **params)
    return batched_solution(args, dims, solve_for, left_side=left_side)


defbatch(triangular_solve_p, triangular_solve_batch)
