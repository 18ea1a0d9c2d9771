"""Batching the operations of `calque_core.ops.exponential`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defbroadcasting, defvectorized
from calque_core.lax import (
    cbrt_p,
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log_p,
    pow_p,
    rsqrt_p,
    sqrt_p,
)

# Powers and roots

defvectorized(sqrt_p, rsqrt_p, cbrt_p)
defbroadcasting(pow_p)

# Exponentials and logarithms

defvectorized(exp_p, exp2_p, expm1_p, log_p, log1p_p)
