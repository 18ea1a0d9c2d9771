"""Batching the operations of `calque_core.ops.reductions.cumulative`: the batch axis stays where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Primitive
from calque_core.extend import defbatch
from calque_core.lax import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p

Value = Any


def defcumulative(primitive: Primitive) -> None:
    """Define the rule of a running reduction along one axis."""

    def batch(args: Sequence[Value], dims: Sequence[int], *, axis: int, reverse: bool) -> tuple[Value, int]:
        (x,), (x_bdim,) = args, dims
        return primitive.bind(x, axis=axis + (x_bdim <= axis), reverse=reverse), x_bdim

    defbatch(primitive, batch)


defcumulative(cumsum_p)
defcumulative(cumprod_p)
defcumulative(cummax_p)
defcumulative(cummin_p)
defcumulative(cumlogsumexp_p)
