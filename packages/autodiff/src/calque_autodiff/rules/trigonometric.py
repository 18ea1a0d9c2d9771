"""The derivatives of trigonometric and hyperbolic functions."""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import defjvp, not_linear
from calque_core.lax import add, cos, cos_p, mul, neg, sin, sin_p, square, sub, tan_p, tanh_p

Value = Any

# Trigonometry

defjvp(sin_p, lambda x_dot, out, x: mul(x_dot, cos(x)))
defjvp(cos_p, lambda x_dot, out, x: mul(x_dot, neg(sin(x))))
defjvp(tan_p, lambda x_dot, out, x: mul(x_dot, add(1.0, square(out))))
defjvp(tanh_p, lambda x_dot, out, x: mul(x_dot, sub(1.0, square(out))))
not_linear(sin_p, cos_p, tan_p, tanh_p)
