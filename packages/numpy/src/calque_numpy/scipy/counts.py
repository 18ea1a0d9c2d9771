"""Distributions of whole numbers: Bernoulli's, binomial, beta-binomial, geometric, negative binomial, Poisson's.

Read next: `densities.py`; `distributions.py`, the rule that makes functions of these formulas.
"""

from __future__ import annotations

import math
from typing import Any

import calque_special
from calque_core import lax, typeof
from calque_core.engine import polynomial
from calque_core.engine.numpy_functions import as_dtype
from calque_numpy.scipy.densities import log_beta_density, log_gamma_density
from calque_numpy.scipy.distributions import Family, discrete
from calque_numpy.scipy.gammas import betaln
from calque_numpy.scipy.probability import entr_p, xlog1py_p, xlogy_p

Value = Any


def _is_probability(p: Value) -> Value:
    return (p >= 0.0) & (p <= 1.0)


def _is_count(n: Value) -> Value:
    return (n >= 0.0) & lax.eq(lax.floor(n), n)


def _bernoulli_ppf(q: Value, p: Value) -> Value:
    """Return the least value with the probability q up to it: for q = 0 the number below all values, as SciPy's."""
    return lax.select(q == 0.0, -1.0, lax.select(q <= 1.0 - p, 0.0, lax.full_like(q, 1.0)))


bernoulli = discrete(
    "bernoulli",
    Family(("p",), _is_probability, low=0.0, high=1.0, is_discrete=True),
    logpmf=lambda k, p: xlogy_p.bind(k, p) + xlog1py_p.bind(1.0 - k, -p),
    cdf=lambda k, p: lax.select(k < 1.0, 1.0 - p, 1.0 + 0.0 * k),
    ppf=_bernoulli_ppf,
)
binom = discrete(
    "binom",
    Family(("n", "p"), lambda n, p: _is_count(n) & _is_probability(p), 0.0, lambda n, p: n, is_discrete=True),
    logpmf=lambda k, n, p: log_beta_density(p, k + 1.0, n - k + 1.0) - lax.log1p(n),
)


def _betabinom_logpmf(k: Value, n: Value, a: Value, b: Value) -> Value:
    return betaln(k + a, n - k + b) - betaln(a, b) - betaln(k + 1.0, n - k + 1.0) - lax.log1p(n)


betabinom = discrete(
    "betabinom",
    Family(
        ("n", "a", "b"),
        lambda n, a, b: _is_count(n) & (a > 0.0) & (b > 0.0),
        low=0.0,
        high=lambda n, a, b: n,
        is_discrete=True,
    ),
    logpmf=_betabinom_logpmf,
)
geom = discrete(
    "geom",
    Family(("p",), lambda p: (p > 0.0) & (p <= 1.0), low=1.0, inner=1.0, is_discrete=True),
    logpmf=lambda k, p: xlog1py_p.bind(k - 1.0, -p) + lax.log(p),
)
nbinom = discrete(
    "nbinom",
    Family(("n", "p"), lambda n, p: (n > 0.0) & (p > 0.0) & (p <= 1.0), low=0.0, is_discrete=True),
    logpmf=lambda k, n, p: log_beta_density(p, n, k + 1.0) + lax.log(p) - lax.log(n + k),
)


# Poisson's

_LARGE_MEAN = 50.0  # from here on the series has all digits
_VALUES = 128  # larger ones do not count for smaller means
_ENTROPY = (
    1 / 2, -1 / 12, -1 / 24, -19 / 360, -9 / 80, -863 / 2520, -1375 / 1008, -33953 / 5040, -57281 / 1440,
    -3250433 / 11880, -378351 / 176, -13695779093 / 720720,
)  # fmt: skip


def _mean_log_factorial(mu: Value) -> Value:
    """Return the mean of log(k!), a sum over the values."""

    def add_value(k: Value, carry: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        probability, logarithm, total = carry
        k = as_dtype(k, typeof(mu).dtype)
        probability, logarithm = probability * (mu / k), logarithm + lax.log(k)
        return probability, logarithm, total + probability * logarithm

    zero = lax.full_like(mu, 0.0)
    return lax.fori_loop(1, _VALUES + 1, add_value, (lax.exp(-mu), lax.full_like(mu, 0.0, shape=()), zero))[2]


def _poisson_entropy(mu: Value) -> Value:
    """Return the entropy: mu - mu log(mu) and the mean of log(k!), for large means by Stirling's series around mu.

    Source: Evans & Boersma (1988), The entropy of a Poisson distribution, SIAM Review 30.
    """
    is_large = mu > _LARGE_MEAN
    mean = lax.select(is_large, mu, _LARGE_MEAN)
    large = 0.5 * lax.log(2 * math.pi * mean) + polynomial(lax.reciprocal(mean), _ENTROPY)
    mean = lax.select(is_large, 1.0, lax.abs(mu))
    return lax.select(is_large, large, mean + entr_p.bind(mean) + _mean_log_factorial(mean))


poisson = discrete(
    "poisson",
    Family(("mu",), lambda mu: mu >= 0.0, low=0.0, is_discrete=True),
    logpmf=lambda k, mu: log_gamma_density(mu, k + 1.0, k),
    cdf=lambda k, mu: calque_special.igammac(lax.floor(k) + 1.0, mu),
    entropy=_poisson_entropy,
)
