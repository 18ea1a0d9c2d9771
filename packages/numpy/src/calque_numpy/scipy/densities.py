"""Densities of gamma and beta distributions, which are probabilities of counts, too.

One idea: for large parameters the density is a sum of deviances and of errors of Stirling's series, so that no large
logarithms cancel.  Source: Loader (2000), Fast and accurate computation of binomial probabilities.

Read next: `half_lines.py`, `intervals.py`, `counts.py`.
"""

from __future__ import annotations

import math
from typing import Any

import calque_special
from calque_core import lax
from calque_numpy.scipy.gammas import betaln
from calque_numpy.scipy.probability import kl_div_p, xlog1py_p, xlogy_p
from calque_special.kit import stirling_series

Value = Any

_LARGE = 8.0  # from here on Stirling's series has all digits
_LOG_2_PI = math.log(2 * math.pi)


def log_gamma_density(x: Value, a: Value, k: Value) -> Value:
    """Return log(x**k exp(-x) / gamma(a)) with k = a - 1, where the caller knows both without a rounding."""
    is_large = k > _LARGE
    order, y = lax.select(is_large, k, _LARGE), lax.select(is_large, x, _LARGE)
    large = -kl_div_p.bind(order, y) - stirling_series(order) - 0.5 * (lax.log(order) + _LOG_2_PI)
    order, y = lax.select(is_large, 1.0, a), lax.select(is_large, 1.0, x)
    small = xlogy_p.bind(lax.select(is_large, 0.0, k), y) - y - calque_special.lgamma(order)
    return lax.select(is_large, large, small)


def log_beta_density(p: Value, a: Value, b: Value) -> Value:
    """Return log(p**(a - 1) (1 - p)**(b - 1) / beta(a, b))."""
    k, m = a - 1.0, b - 1.0
    is_large = (k > _LARGE) & (m > _LARGE)
    i, j, x = lax.select(is_large, k, _LARGE), lax.select(is_large, m, _LARGE), lax.select(is_large, p, 0.5)
    n = i + j
    deviances = kl_div_p.bind(i, n * x) + kl_div_p.bind(j, n * (1.0 - x))
    series = stirling_series(n) - stirling_series(i) - stirling_series(j)
    front = 0.5 * (lax.log(n / i) - lax.log(j) - _LOG_2_PI) + lax.log1p(n)
    i, j, x = (lax.select(is_large, 1.0, each) for each in (a, b, p))
    x = lax.select(is_large, 0.5, x)
    small = xlogy_p.bind(i - 1.0, x) + xlog1py_p.bind(j - 1.0, -x) - betaln(i, j)
    return lax.select(is_large, series - deviances + front, small)
