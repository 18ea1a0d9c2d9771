"""The derivatives of the special functions."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from calque_core.extend import defjvp, not_linear
from calque_core.lax import (
    clamp,
    erf_inv_p,
    erf_p,
    erfc_p,
    exp,
    logistic_p,
    logistic_slope,
    logistic_slope_p,
    mul,
    neg,
    square,
    tanh,
)

Value = Any


def gaussian(x: Value) -> Value:
    """Return exp(-x**2); of larger numbers that of 100, which is 0, as are then all derivatives, at infinity too."""
    return exp(neg(square(clamp(-100.0, x, 100.0))))


defjvp(logistic_p, lambda x_dot, out, x: mul(x_dot, logistic_slope(x)))
defjvp(logistic_slope_p, lambda x_dot, out, x: mul(x_dot, neg(mul(tanh(mul(0.5, x)), out))))
defjvp(erf_p, lambda x_dot, out, x: mul(x_dot, mul(2 / sqrt(pi), gaussian(x))))
defjvp(erfc_p, lambda x_dot, out, x: mul(x_dot, mul(-2 / sqrt(pi), gaussian(x))))
defjvp(erf_inv_p, lambda x_dot, out, x: mul(x_dot, mul(sqrt(pi) / 2, exp(square(out)))))
not_linear(logistic_p, logistic_slope_p, erf_p, erfc_p, erf_inv_p)
