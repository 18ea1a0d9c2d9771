"""The derivative of broadcasting: the cotangents of repeated elements are summed."""

from __future__ import annotations

from typing import Any

from calque_core import UndefinedPrimal
from calque_core.extend import Shape, deflinear
from calque_core.lax import broadcast_in_dim_p, reduce_sum, reshape, transpose

Value = Any


def broadcast_in_dim_transpose(
    ct: Value, x: UndefinedPrimal, *, shape: Shape, broadcast_dimensions: Shape
) -> list[Value]:
    """Sum over the new axes and over the axes that were stretched from size 1; a new axis of size 1 needs no sum."""
    kept = [d for d, n in zip(broadcast_dimensions, x.aval.shape) if n == shape[d]]
    repeated = [d for d in range(len(shape)) if d not in kept]
    if any(shape[d] != 1 for d in repeated):
        ct = reduce_sum(ct, repeated, keepdims=len(shape) == len(x.aval.shape))
    in_order = sorted(broadcast_dimensions)
    if in_order == [*broadcast_dimensions]:
        return [reshape(ct, x.aval.shape)]
    sizes = dict(zip(broadcast_dimensions, x.aval.shape))
    permutation = [in_order.index(d) for d in broadcast_dimensions]
    return [transpose(reshape(ct, [sizes[d] for d in in_order]), permutation)]


deflinear(broadcast_in_dim_p, broadcast_in_dim_transpose)
