"""Batching the writing of windows at positions that are values: as for `gather`, by windows or by batching axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_batching.axes import matchaxis, moveaxis
from calque_batching.rules.indexing.gather import paired_with_batch, windows_with_batch
from calque_core import Primitive, typeof
from calque_core.engine import batch_size
from calque_core.extend import defbatch
from calque_core.lax import (
    ScatterDimensionNumbers,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
)

Value = Any
Dims = Sequence[int | None]


def batch_rule(primitive: Primitive) -> Callable[..., tuple[Value, int]]:
    """Return the rule of a kind of scatter."""

    def scatter_batch(
        args: Sequence[Value],
        dims: Dims,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        **params: Any,
    ) -> tuple[Value, int]:
        (x, indices, updates), (x_bdim, i_bdim, u_bdim) = args, dims
        size = batch_size(args, dims)
        bdim = 0 if x_bdim is None else x_bdim
        x = matchaxis(x, x_bdim, bdim, size)
        if i_bdim is None:
            numbers, u_place = windows_with_batch(dimension_numbers, bdim, typeof(x).ndim)
        else:
            indices, u_place = moveaxis(indices, i_bdim, 0), 0
            numbers, indices_are_sorted = paired_with_batch(dimension_numbers, bdim), False
        updates = matchaxis(updates, u_bdim, u_place, size)
        params.update(dimension_numbers=ScatterDimensionNumbers(*numbers), indices_are_sorted=indices_are_sorted)
        return primitive.bind(x, indices, updates, **params), bdim

    return scatter_batch


scatter_batch = batch_rule(scatter_p)
defbatch(scatter_p, scatter_batch)
defbatch(scatter_add_p, batch_rule(scatter_add_p))
defbatch(scatter_mul_p, batch_rule(scatter_mul_p))
defbatch(scatter_min_p, batch_rule(scatter_min_p))
defbatch(scatter_max_p, batch_rule(scatter_max_p))
