"""The derivatives of reading at winners and adding to winners: each is linear, and the transpose of the other.

The winners depend on the operand, but have no derivative: where a tie is broken, it does not exist.  In a batch, both
operands get the batch axis.  Functions that select and combine may close over mapped values, so their batch is that of
the operations that they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Primitive, UndefinedPrimal
from calque_core.extend import align_batch_axes, check_known, defbatch, defjvp, deftranspose, not_linear
from calque_signal.ops.select_and_scatter import (
    select_and_gather_add,
    select_and_gather_add_p,
    select_and_scatter_add,
    select_and_scatter_add_p,
    select_and_scatter_p,
)
from calque_signal.rules.reduce_window import window_in_batch

Value = Any
Dims = Sequence[int | None]

# Derivatives


def select_and_gather_add_transpose(ct: Value, tangents: UndefinedPrimal, x: Value, **params: Any) -> list[Value]:
    check_known(select_and_gather_add_p, x)
    return [select_and_scatter_add(ct, x, **params), None]


def select_and_scatter_add_transpose(ct: Value, source: UndefinedPrimal, x: Value, **params: Any) -> list[Value]:
    check_known(select_and_scatter_add_p, x)
    return [select_and_gather_add(ct, x, **params), None]


defjvp(select_and_gather_add_p, lambda t_dot, out, t, x, **params: select_and_gather_add(t_dot, x, **params), None)
deftranspose(select_and_gather_add_p, select_and_gather_add_transpose)
defjvp(select_and_scatter_add_p, lambda s_dot, out, s, x, **params: select_and_scatter_add(s_dot, x, **params), None)
deftranspose(select_and_scatter_add_p, select_and_scatter_add_transpose)
not_linear(select_and_scatter_p)

# Batches


def defselecting(primitive: Primitive) -> None:
    """Define the rule of an operation that follows the winners of the windows of its second operand."""

    def batch(args: Sequence[Value], dims: Dims, *, select_prim: Primitive, **window: Any) -> tuple[Value, int]:
        operands, bdim = align_batch_axes(args, dims)
        moved, out_bdim = window_in_batch(bdim, window)
        return primitive.bind(*operands, select_prim=select_prim, **moved), out_bdim

    defbatch(primitive, batch)


defselecting(select_and_gather_add_p)
defselecting(select_and_scatter_add_p)
