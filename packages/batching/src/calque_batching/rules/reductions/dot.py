"""Batching products: no axis moves, and the result has its batch axis where it falls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import typeof
from calque_core.engine import axes_in_batch
from calque_core.extend import defbatch
from calque_core.lax import DotDimensionNumbers, Precisions, dot_general, dot_general_p

Value = Any
Shape = tuple[int, ...]


def dot_general_batch(
    args: Sequence[Value],
    dims: Sequence[int | None],
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Precisions | None,
    preferred_element_type: np.dtype[Any] | None,
) -> tuple[Value, int]:
    """Make two batch axes one more pair of batch dimensions, and a single batch axis a free axis of its operand.

    The result has the batch dimensions first, then the free axes of `lhs`, then the free axes of `rhs`.
    """
    (lhs, rhs), (lhs_bdim, rhs_bdim) = args, dims
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    n_batch, n_lhs = len(lhs_batch), typeof(lhs).ndim - len(lhs_contract)
    if lhs_bdim is not None:
        lhs_contract, lhs_batch = axes_in_batch(lhs_contract, lhs_bdim), axes_in_batch(lhs_batch, lhs_bdim)
    if rhs_bdim is not None:
        rhs_contract, rhs_batch = axes_in_batch(rhs_contract, rhs_bdim), axes_in_batch(rhs_batch, rhs_bdim)
    if lhs_bdim is not None and rhs_bdim is not None:
        lhs_batch, rhs_batch, out_bdim = (lhs_bdim, *lhs_batch), (rhs_bdim, *rhs_batch), 0
    elif lhs_bdim is not None:
        out_bdim = n_batch + _free_before(lhs_bdim, lhs_contract, lhs_batch)
    else:
        assert rhs_bdim is not None
        out_bdim = n_lhs + _free_before(rhs_bdim, rhs_contract, rhs_batch)
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return dot_general(lhs, rhs, numbers, precision, preferred_element_type), out_bdim


def _free_before(bdim: int, contract: Shape, batch: Shape) -> int:
    """Return the number of free axes of an operand before its batch axis."""
    return bdim - sum(axis < bdim for axis in (*contract, *batch))


defbatch(dot_general_p, dot_general_batch)
