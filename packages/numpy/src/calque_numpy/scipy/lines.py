"""Distributions on the whole line.

One idea: logarithms of probabilities are formulas of their own, so that tails have all digits; a symmetric distribution
has one tail.

Read next: `distributions.py`, the rule that makes functions of these formulas.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import calque_special
from calque_core import lax, typeof
from calque_numpy.nn.activations import log1mexp, log_sigmoid
from calque_numpy.scipy.distributions import Family, Formulas, continuous, mirror_image, symmetric
from calque_numpy.scipy.gammas import betaln
from calque_numpy.scipy.normal import log_ndtr, ndtr, ndtri
from calque_numpy.scipy.probability import expit, logit

Value = Any

_LOG_2 = math.log(2.0)
_LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)
_LINE = Family()


def _log1p_square(z: Value) -> Value:
    """Return log(1 + z**2), also where the square overflows."""
    size = abs(z)
    is_far = size > 1.0
    far, near = lax.select(is_far, size, 1.0), lax.select(is_far, 0.0, z)
    inverse = lax.reciprocal(far)
    return lax.select(is_far, lax.log1p(inverse * inverse) + 2.0 * lax.log(far), lax.log1p(near * near))


norm = symmetric(
    "norm",
    _LINE,
    logpdf=lambda y: -0.5 * y * y - _LOG_ROOT_2_PI,
    cdf=ndtr,
    logcdf=log_ndtr,
    ppf=ndtri,
)


# Cauchy's


def _cauchy_ppf(q: Value) -> Value:
    """Return tan(pi (q - 1 / 2)); beside 0 and 1 by the angle from there."""
    is_near = abs(q - 0.5) < 0.25
    near = lax.tan(math.pi * (lax.select(is_near, q, 0.5) - 0.5))
    is_low = q < 0.5
    tail = lax.select(is_near, 0.25, lax.select(is_low, q, 1.0 - q))
    far = lax.reciprocal(lax.tan(math.pi * tail))
    return lax.select(is_near, near, lax.select(is_low, -far, far))


cauchy = symmetric(
    "cauchy",
    _LINE,
    logpdf=lambda y: -math.log(math.pi) - _log1p_square(y),
    cdf=lambda y: lax.atan2(lax.full_like(y, 1.0), -y) / math.pi,
    ppf=_cauchy_ppf,
)
logistic = symmetric(
    "logistic",
    _LINE,
    logpdf=lambda y: log_sigmoid(y) + log_sigmoid(-y),
    cdf=expit,
    logcdf=log_sigmoid,
    ppf=logit,
)


# Laplace's, and the generalized normal distribution


def _laplace_logcdf(y: Value) -> Value:
    size = abs(y)
    return lax.select(y < 0.0, y - _LOG_2, lax.log1p(-0.5 * lax.exp(-size)))


def _laplace_cdf(y: Value) -> Value:
    tail = 0.5 * lax.exp(-abs(y))
    return lax.select(y < 0.0, tail, 1.0 - tail)


def _laplace_ppf(q: Value) -> Value:
    is_low = q < 0.5
    size = -lax.log(2.0 * lax.select(is_low, q, 1.0 - q))
    return lax.select(is_low, -size, size)


laplace = symmetric(
    "laplace",
    _LINE,
    logpdf=lambda y: -abs(y) - _LOG_2,
    cdf=_laplace_cdf,
    logcdf=_laplace_logcdf,
    ppf=_laplace_ppf,
)


def _gennorm_power(y: Value, beta: Value) -> Value:
    """Return |y|**beta; at 0 with finite derivatives in beta."""
    is_zero = y == 0.0
    return lax.select(is_zero, 0.0, lax.pow(abs(lax.select(is_zero, 1.0, y)), beta))


def _gennorm_cdf(y: Value, beta: Value) -> Value:
    tail = 0.5 * calque_special.igammac(1.0 / beta, _gennorm_power(y, beta))
    return lax.select(y < 0.0, tail, 1.0 - tail)


gennorm = symmetric(
    "gennorm",
    Family(("beta",), lambda beta: beta > 0.0),
    logpdf=lambda y, beta: lax.log(0.5 * beta) - calque_special.lgamma(1.0 / beta) - _gennorm_power(y, beta),
    cdf=_gennorm_cdf,
)


# Gumbel's distributions of largest and of smallest values

_FAR = 40.0  # exp(-y) is below an ulp of y


def _rate(y: Value) -> Value:
    """Return exp(-y), bounded: exp(-rate) is 0 long before, and its derivative is no product with infinity."""
    return lax.exp(lax.min(-y, _FAR))


def _gumbel_logsf(y: Value) -> Value:
    """Return log(1 - exp(-exp(-y))), which is -y for large y."""
    is_far = y > _FAR
    return lax.select(is_far, -y, log1mexp(_rate(lax.select(is_far, 0.0, y))))


def _gumbel_logpdf(y: Value) -> Value:
    is_over = -y > math.log(float(np.finfo(typeof(y).dtype).max))
    inner = lax.select(is_over, 0.0, y)
    return lax.select(is_over, -math.inf, -inner - lax.exp(-inner))


_GUMBEL: Formulas = {
    "logpdf": _gumbel_logpdf,
    "logcdf": lambda y: -lax.exp(-y),
    "sf": lambda y: -lax.expm1(-_rate(y)),
    "logsf": _gumbel_logsf,
    "cdf": lambda y: lax.exp(-_rate(y)),
    "ppf": lambda q: -lax.log(-lax.log(q)),
    "isf": lambda q: -lax.log(-lax.log1p(-q)),
}
gumbel_r = continuous("gumbel_r", _LINE, **_GUMBEL)
gumbel_l = mirror_image("gumbel_l", _LINE, **_GUMBEL)


# Student's


def _t_logpdf(y: Value, df: Value) -> Value:
    scale = 0.5 * lax.log(df) + betaln(0.5 * df, 0.5)
    return -0.5 * (df + 1.0) * _log1p_square(y / lax.sqrt(df)) - scale


t = continuous("t", Family(("df",), lambda df: df > 0.0), logpdf=_t_logpdf)
