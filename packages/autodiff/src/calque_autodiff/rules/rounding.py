"""The derivatives of rounding: zero, wherever they exist."""

from __future__ import annotations

from calque_autodiff.define import zero_derivative
from calque_core.lax import ceil_p, floor_p, is_finite_p, round_p

zero_derivative(floor_p, ceil_p, round_p, reason="rounding is piecewise constant")
zero_derivative(is_finite_p, reason="the result is a bool")
