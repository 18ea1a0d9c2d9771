"""Batching the operations of `calque_core.ops.trigonometric`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defbroadcasting, defvectorized
from calque_core.lax import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cos_p,
    cosh_p,
    sin_p,
    sinh_p,
    tan_p,
    tanh_p,
    tanh_slope_p,
)

# Circular functions

defvectorized(sin_p, cos_p, tan_p)

# Inverses of the circular functions

defvectorized(asin_p, acos_p, atan_p)
defbroadcasting(atan2_p)

# Hyperbolic functions

defvectorized(sinh_p, cosh_p, tanh_p, tanh_slope_p)

# Inverses of the hyperbolic functions

defvectorized(asinh_p, acosh_p, atanh_p)
