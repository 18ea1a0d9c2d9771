"""Batching the operations of `calque_core.ops.trigonometric`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defbroadcasting, defvectorized
from calque_core.lax import (
    acos_p,
    asin_p,
    atan2_p,
    atan_p,
    cos_p,
    sin_p,
    tan_p,
)

# Circular functions

defvectorized(sin_p, cos_p, tan_p)

# Inverses of the circular functions

defvectorized(asin_p, acos_p, atan_p)
defbroadcasting(atan2_p)
