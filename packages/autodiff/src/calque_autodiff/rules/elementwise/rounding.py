"""The derivatives of rounding: zero, wherever they exist.  A neighbour moves as its first operand does.

Of fewer bits, `reduce_precision` makes tangents and cotangents of fewer bits, as in jax.
"""

from __future__ import annotations

from calque_core.engine import spread
from calque_core.extend import defjvp, deflinear, not_linear, zero_derivative
from calque_core.lax import ceil_p, floor_p, is_finite_p, nextafter_p, reduce_precision, reduce_precision_p, round_p

zero_derivative(floor_p, ceil_p, round_p, reason="rounding is piecewise constant")
defjvp(nextafter_p, lambda x_dot, out, x, y: spread(x_dot, out), None)
not_linear(nextafter_p)
zero_derivative(is_finite_p, reason="the result is a bool")
deflinear(reduce_precision_p, lambda ct, x, **bits: [reduce_precision(ct, **bits)])
