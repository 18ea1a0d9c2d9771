"""Distributions on a half line: exponential, gamma, chi-square and Pareto's.

Read next: `densities.py`; `distributions.py`, the rule that makes functions of these formulas.
"""

from __future__ import annotations

import math
from typing import Any

import calque_special
from calque_core import lax
from calque_numpy.nn.activations import log1mexp
from calque_numpy.scipy.densities import log_gamma_density
from calque_numpy.scipy.distributions import Family, continuous

Value = Any

expon = continuous(
    "expon",
    Family(low=0.0, inner=1.0),
    logpdf=lambda y: -y,
    logsf=lambda y: -y,
    cdf=lambda y: -lax.expm1(-y),
    logcdf=log1mexp,
    ppf=lambda q: -lax.log1p(-q),
    isf=lambda q: -lax.log(q),
)
gamma = continuous(
    "gamma",
    Family(("a",), lambda a: a > 0.0, low=0.0, inner=1.0),
    logpdf=lambda y, a: log_gamma_density(y, a, a - 1.0),
    cdf=lambda y, a: calque_special.igamma(a, y),
    sf=lambda y, a: calque_special.igammac(a, y),
)
chi2 = continuous(
    "chi2",
    Family(("df",), lambda df: df > 0.0, low=0.0, inner=1.0),
    logpdf=lambda y, df: log_gamma_density(0.5 * y, 0.5 * df, 0.5 * df - 1.0) - math.log(2.0),
    cdf=lambda y, df: calque_special.igamma(0.5 * df, 0.5 * y),
    sf=lambda y, df: calque_special.igammac(0.5 * df, 0.5 * y),
)
pareto = continuous(
    "pareto",
    Family(("b",), lambda b: b > 0.0, low=1.0, inner=2.0),
    logpdf=lambda y, b: lax.log(b) - (b + 1.0) * lax.log(y),
    sf=lambda y, b: lax.pow(y, -b),
    logsf=lambda y, b: -b * lax.log(y),
    cdf=lambda y, b: -lax.expm1(-b * lax.log(y)),
    logcdf=lambda y, b: log1mexp(b * lax.log(y)),
    ppf=lambda q, b: lax.exp(-lax.log1p(-q) / b),
    isf=lambda q, b: lax.pow(q, -1.0 / b),
)
