"""Batching the operations of `calque_core.ops.elementwise.rounding`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defbroadcasting, defvectorized
from calque_core.lax import ceil_p, floor_p, is_finite_p, nextafter_p, reduce_precision_p, round_p

defvectorized(floor_p, ceil_p, round_p, is_finite_p)
defbroadcasting(nextafter_p)
defvectorized(reduce_precision_p)
