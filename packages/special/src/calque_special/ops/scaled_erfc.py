"""The scaled complementary error function, exp(x**2) erfc(x): its regions for evaluation, and its derivative.

Core has the function itself, since `erfc` is made of it.
"""

from __future__ import annotations

import math
from typing import Any

from calque_core.engine import SCALED_ERFC, Regions, polynomial, region, scaled_erfc, shifted_erfc
from calque_core.lax import add, div, min, mul, sub

Value = Any

_SHIFT = 3.75
_LARGEST = 1e30  # the functions are constant long before
_SLOPE = [k * c for k, c in enumerate(SCALED_ERFC)][1:]


def _scaled_erfc_of_size(x: Value) -> Value:
    return div(shifted_erfc(min(x, _LARGEST)), add(x, _SHIFT))


SCALED_ERFC_REGIONS = Regions([region(0.0, math.inf, _scaled_erfc_of_size)])


def scaled_erfc_slope(x: Value) -> Value:
    """Return the derivative of `scaled_erfc`, that of its series: 2 x exp(x**2) erfc(x) - 2 / sqrt(pi) cancels."""
    near = min(x, _LARGEST)
    shift = add(near, _SHIFT)
    slope = div(div(mul(2 * _SHIFT, polynomial(div(sub(near, _SHIFT), shift), _SLOPE)), shift), shift)
    return div(sub(slope, mul(2.0, scaled_erfc(x))), add(1.0, mul(2.0, x)))
