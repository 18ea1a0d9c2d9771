"""The modified Bessel functions of order 0 and 1.

One idea: the scaled functions of `lax` give the values, and the power series gives the derivative near 0, where a
difference would cancel.

Read next: `scipy/slopes.py`.
"""

from __future__ import annotations

import math
from typing import Any

import calque_special
from calque_core import lax
from calque_core.engine import evaluate_together, polynomial
from calque_numpy.scipy.slopes import declare
from calque_special.kit import I0_REGIONS, I1_REGIONS

Value = Any

_I1_SERIES = [0.5 / (4**k * math.factorial(k) * math.factorial(k + 1)) for k in range(12)]  # DLMF 10.25.2
_SLOPE = [(2 * k + 1) * c for k, c in enumerate(_I1_SERIES)]
_CURVATURE = [2 * k * (2 * k + 1) * c for k, c in enumerate(_I1_SERIES)][1:]
_NEAR = 1.0


def _unscaled(scaled: Value, x: Value, at_infinity: Value) -> Value:
    """Return scaled * exp(|x|); half of the exponent at a time, since exp(|x|) overflows first."""
    half = lax.exp(0.5 * abs(x))
    return lax.select(abs(x) == math.inf, at_infinity, scaled * half * half)


def _i1_slope_formula(x: Value) -> Value:
    """Return I_0(x) - I_1(x) / x (DLMF 10.29.2); near 0 by the power series, since both terms have one half."""
    is_near = abs(x) < _NEAR
    near, far = lax.select(is_near, x, 0.0), lax.select(is_near, _NEAR, x)
    scaled = calque_special.bessel_i0e(far) - calque_special.bessel_i1e(far) / far
    return lax.select(is_near, polynomial(near * near, _SLOPE), _unscaled(scaled, far, abs(x)))


def _i1_curvature(out: Value, x: Value) -> Value:
    """Return (1 + 2 / x**2) I_1(x) - I_0(x) / x, Bessel's equation (DLMF 10.25.1); near 0 by the power series."""
    is_near = abs(x) < _NEAR
    near, far = lax.select(is_near, x, 0.0), lax.select(is_near, _NEAR, x)
    scaled = (1.0 + 2.0 / far / far) * calque_special.bessel_i1e(far) - calque_special.bessel_i0e(far) / far
    return lax.select(is_near, near * polynomial(near * near, _CURVATURE), _unscaled(scaled, far, x))


i1_slope_p = declare("i1_slope", _i1_slope_formula, _i1_curvature)
i1_p = declare(
    "i1",
    lambda x: _unscaled(calque_special.bessel_i1e(x), x, x),
    lambda out, x: i1_slope_p.bind(x),
    regions={(): I1_REGIONS},
)
i0_p = declare(
    "i0",
    lambda x: _unscaled(calque_special.bessel_i0e(x), x, abs(x)),
    lambda out, x: i1_p.bind(x),
    regions={(): I0_REGIONS},
)
evaluate_together(i0_p, i1_p)
