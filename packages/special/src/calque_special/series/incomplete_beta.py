"""The Taylor rule of the incomplete beta function in the limit of the integral, as in `incomplete.py`."""

from __future__ import annotations

from typing import Any

from calque_core.lax import add, exp, log, log1p, mul, neg, sub
from calque_jet.series import Series, minus, quotient
from calque_special.ops.gamma import lgamma
from calque_special.ops.incomplete_beta import betainc, regularized_incomplete_beta_p
from calque_special.series.incomplete import def_from_density

Value = Any


def beta_density(a: Value, b: Value, x: Value) -> Value:
    """Return x**(a - 1) (1 - x)**(b - 1) / beta(a, b)."""
    powers = add(mul(sub(a, 1.0), log(x)), mul(sub(b, 1.0), log1p(neg(x))))
    return exp(sub(powers, sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))))


def beta_ratio(a: Value, b: Value, xs: Series) -> Series:
    """Return the series of (a - 1) / x - (b - 1) / (1 - x)."""
    constant = [None] * (len(xs) - 1)
    left = quotient([sub(a, 1.0), *constant], xs)
    right = quotient([sub(b, 1.0), *constant], [sub(1.0, xs[0]), *(minus(None, c) for c in xs[1:])])
    return [minus(x, y) for x, y in zip(left, right)]


def_from_density(regularized_incomplete_beta_p, betainc, beta_density, beta_ratio)
