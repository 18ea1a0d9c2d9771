"""Distributions on an interval or a circle: uniform, beta, truncated normal, wrapped Cauchy's and von Mises'.

Read next: `densities.py`; `distributions.py`, the rule that makes functions of these formulas.
"""

from __future__ import annotations

import math
from typing import Any

import calque_special
from calque_core import lax
from calque_numpy.nn.activations import log1mexp
from calque_numpy.scipy.densities import log_beta_density
from calque_numpy.scipy.distributions import Family, continuous
from calque_numpy.scipy.normal import log_ndtr, ndtr

Value = Any

_LOG_2_PI = math.log(2 * math.pi)

uniform = continuous(
    "uniform",
    Family(low=0.0, high=1.0, inner=0.5),
    logpdf=lambda y: 0.0 * y,
    cdf=lambda y: y,
    sf=lambda y: 1.0 - y,
    ppf=lambda q: q,
    isf=lambda q: 1.0 - q,
)
beta = continuous(
    "beta",
    Family(("a", "b"), lambda a, b: (a > 0.0) & (b > 0.0), low=0.0, high=1.0, inner=0.5),
    logpdf=log_beta_density,
    cdf=lambda y, a, b: calque_special.betainc(a, b, y),
    sf=lambda y, a, b: calque_special.betainc(b, a, 1.0 - y),
)


# The normal distribution between a and b


def _log_area(a: Value, b: Value) -> Value:
    """Return log(ndtr(b) - ndtr(a)) for a <= b, from the tails: the larger one, with the smaller one beside it."""
    is_above = a > 0.0
    near, far = lax.select(is_above, -a, b), lax.select(is_above, -b, a)
    is_tail, is_endless = near < 0.0, far == -math.inf
    larger = log_ndtr(lax.select(is_tail, near, -1.0))
    smaller = log_ndtr(lax.select(is_tail & ~is_endless, far, -2.0))
    tails = larger + lax.select(is_endless, 0.0, log1mexp(larger - smaller))
    around = lax.log1p(-ndtr(lax.select(is_tail, -1.0, a)) - ndtr(-lax.select(is_tail, 1.0, b)))
    return lax.select(is_tail, tails, around)


def _log_share(one: Value, other: Value, whole: Value) -> Value:
    """Return the logarithm of a share of an area: from the other share where that is small."""
    share, rest = one - whole, other - whole
    is_low = share < -math.log(2.0)
    return lax.select(is_low, share, log1mexp(-lax.select(is_low, -1.0, rest)))


truncnorm = continuous(
    "truncnorm",
    Family(("a", "b"), lambda a, b: a < b, lambda a, b: a, lambda a, b: b, lambda a, b: lax.max(a, lax.min(b, 0.0))),
    logpdf=lambda y, a, b: -0.5 * (y * y + _LOG_2_PI) - _log_area(a, b),
    logcdf=lambda y, a, b: _log_share(_log_area(a, y), _log_area(y, b), _log_area(a, b)),
    logsf=lambda y, a, b: _log_share(_log_area(y, b), _log_area(a, y), _log_area(a, b)),
)


# On the circle


def _cosine_fall(y: Value) -> Value:
    """Return 1 - cos(y)."""
    sine = lax.sin(0.5 * y)
    return 2.0 * sine * sine


vonmises = continuous(
    "vonmises",
    Family(("kappa",), lambda kappa: kappa > 0.0),
    logpdf=lambda y, kappa: -kappa * _cosine_fall(y) - _LOG_2_PI - lax.log(calque_special.bessel_i0e(kappa)),
)


def _wrapcauchy_logpdf(y: Value, c: Value) -> Value:
    spread = 1.0 - c
    height = spread * (1.0 + c)
    return lax.log(height / (spread * spread + 2.0 * c * _cosine_fall(y))) - _LOG_2_PI


wrapcauchy = continuous(
    "wrapcauchy",
    Family(("c",), lambda c: (c > 0.0) & (c < 1.0), low=0.0, high=2 * math.pi, inner=1.0),
    logpdf=_wrapcauchy_logpdf,
)
