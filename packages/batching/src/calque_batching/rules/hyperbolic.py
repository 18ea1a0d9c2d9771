"""Batching the operations of `calque_core.ops.hyperbolic`: the batch axis is one more axis."""

from __future__ import annotations

from calque_core.extend import defvectorized
from calque_core.lax import acosh_p, asinh_p, atanh_p, cosh_p, sinh_p, tanh_p, tanh_slope_p

# Hyperbolic functions

defvectorized(sinh_p, cosh_p, tanh_p, tanh_slope_p)

# Inverses of the hyperbolic functions

defvectorized(asinh_p, acosh_p, atanh_p)
