"""Factorials, binomial coefficients and Bernoulli's numbers.

Read next: `gammas.py`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import calque_special
from calque_core import lax, typeof
from calque_core.engine import scalar_dtype
from calque_core.engine.numpy_functions import check_dtypes
from calque_core.extend import integer
from calque_core.extend import where as place
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.gammas import betaln, gamma, gammasgn, large_log_ratio
from calque_numpy.scipy.polygammas import digamma_step
from calque_numpy.scipy.slopes import declare
from calque_special.kit import stirling_series, where_any

Value = Any


def factorial(n: Value, exact: bool = False) -> Value:
    """Return gamma(n + 1), and 0 for negative n.

    Shapes: n [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 64 ulp.
    Raises: TypeError for complex numbers; ValueError for exact=True, which needs integers of any length.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import factorial
    >>> np.round(factorial(np.array([0, 4, -1])), 9)
    array([ 1., 24.,  0.])
    """
    if exact:
        raise ValueError(f"factorial{place()}: exact=True needs integers of any length. Use math.factorial.")
    return _factorial(n)


@elementwise()
def _factorial(n: Value) -> Value:
    return lax.select(lax.lt(n, 0.0), 0.0, gamma(lax.add(n, 1.0)))


@elementwise()
def poch(z: Value, m: Value, /) -> Value:
    """Return the rising factorial gamma(z + m) / gamma(z).

    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 64 ulp of the larger of 1 and the logarithm of
    the result, as a relative error, for positive z and z + m.  NaN where z is a negative whole number.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import poch
    >>> np.round(poch(2.0, np.array([0.0, 1.0, 3.0])), 12)
    array([ 1.,  2., 24.])
    """
    tall, most, near, far = _TALL[typeof(z).dtype.itemsize]
    is_small = (z > 0.0) & (z < 1.0) & (m < most)  # poch(z, m) is z poch(z + 1, m - 1): the factor keeps its derivative
    first, step = lax.select(is_small, z + 1.0, z), lax.select(is_small, m - 1.0, m)
    # The other factor of a large m overflows before the product: it is divided by a power of two, and z multiplied.
    exponent = lax.select(is_small & (m >= tall), lax.select(z < 2.0**-10, lax.full_like(first, near), far), 0.0)
    factor = lax.select(is_small, z, 1.0) * lax.stop_gradient(lax.exp2(exponent))
    return factor * rising_p.bind(first, step, z + m, exponent)


# By the size of the dtype: gamma(m) is large, and too large; the power of two that multiplies z near 0, or elsewhere.
_TALL = {4: (30.0, 60.0, 126.0, 100.0), 8: (150.0, 400.0, 1022.0, 900.0)}


def _rising_formula(z: Value, m: Value, total: Value, exponent: Value) -> Value:
    """Return gamma(total) / gamma(z) / 2**exponent, where total is z + m."""
    sign = lax.mul(gammasgn(total), gammasgn(z))
    out = lax.mul(sign, lax.exp(_log_rising(z, m, total) - exponent * math.log(2.0)))
    return lax.select(lax.bitwise_and(lax.eq(m, 0.0), lax.ne(out, out)), lax.full_like(z, 1.0), out)


# The slope in z counts that of the sum: the operand `total` has none.
rising_p = declare(
    "rising_factorial",
    _rising_formula,
    lambda out, z, m, total, _: out * digamma_step(z, m, total),
    lambda out, z, m, total, _: out * calque_special.digamma(total),
    lambda out, z, m, total, _: lax.full_like(out, 0.0),
    lambda out, z, m, total, _: lax.full_like(out, 0.0),
)


def _log_rising(z: Value, m: Value, total: Value) -> Value:
    """Return log(|gamma(z + m) / gamma(z)|): from 8 on the logarithms are taken together, since they would cancel."""
    is_falling = lax.lt(m, 0.0)
    low, step = lax.select(is_falling, total, z), lax.select(is_falling, lax.neg(m), m)
    are_large, is_endless = lax.bitwise_and(lax.ge(low, 8.0), lax.lt(step, np.inf)), lax.eq(low, np.inf)
    are_large = lax.bitwise_and(are_large, lax.bitwise_not(is_endless))
    low, step = lax.select(are_large, low, 8.0), lax.select(are_large, step, 1.0)
    rising = lax.select(is_endless, np.inf, lax.neg(lax.add(large_log_ratio(step, low), step)))
    are_large = lax.bitwise_or(are_large, is_endless)
    small, first = lax.select(are_large, 1.0, total), lax.select(are_large, 1.0, z)
    apart = lax.sub(calque_special.lgamma(small), calque_special.lgamma(first))
    return lax.select(are_large, lax.select(is_falling, lax.neg(rising), rising), apart)


# Binomial coefficients

_PRODUCT = 30  # so many factors at most are multiplied
_EXACT = 2.0**53  # larger products are rounded, and could overflow


def _binomial_formula(n: Value, k: Value) -> Value:
    """Return gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1)) for 0 <= k <= n, and 0 elsewhere.

    For a whole k it is a product of quotients, each a binomial coefficient: whole numbers are exact.
    """
    is_valid = (n >= 0.0) & (k >= 0.0) & (k <= n)
    n, k = lax.select(is_valid, n, 1.0), lax.select(is_valid, k, 1.0)
    n_minus_k = n - k
    count = lax.select((n_minus_k < k) & (lax.floor(n_minus_k) == n_minus_k), n_minus_k, k)
    is_product = (count <= float(_PRODUCT)) & (lax.floor(count) == count)
    exact = rounded = lax.full_like(n, 1.0)
    for i in range(1, _PRODUCT + 1):
        is_used = count >= float(i)
        factor, divisor = (
            lax.select(is_used, (n - count) + float(i), 1.0),
            lax.select(is_used, lax.full_like(n, float(i)), 1.0),
        )
        exact, rounded = exact * factor / divisor, rounded * (factor / divisor)
    product = lax.select(exact < _EXACT, exact, rounded)
    is_endless = is_valid & (n == math.inf) & (k < math.inf)
    is_other = is_valid & ~is_product & ~is_endless
    (other,) = where_any(is_other, _by_gammas, 1, lax.select(is_other, k, 1.0), lax.select(is_other, n_minus_k, 1.0))
    other = lax.select(is_endless, math.inf, other)
    return lax.select(is_valid, lax.select(is_product, product, other), 0.0)


def _by_gammas(k: Value, n_minus_k: Value) -> tuple[Value]:
    """Return gamma(k + r + 1) / (gamma(k + 1) gamma(r + 1)): by Stirling's series (DLMF 5.11.1) from 8 on."""
    is_large = (k >= 8.0) & (n_minus_k >= 8.0)
    a, b = lax.select(is_large, k, 8.0), lax.select(is_large, n_minus_k, 8.0)
    powers = a * lax.log1p(b / a) + b * lax.log1p(a / b)
    series = stirling_series(a + b) - (stirling_series(a) + stirling_series(b))
    root = lax.sqrt((1.0 / a + 1.0 / b) * (0.5 / math.pi))
    half = lax.exp(0.5 * (powers + series))  # the power overflows before the result
    large = half * root * half
    small = lax.exp(-betaln(n_minus_k + 1.0, k + 1.0) - lax.log1p(k + n_minus_k))
    return (lax.select(is_large, large, small),)


def _binomial_slope(out: Value, n: Value, k: Value, step: Value, after: Value) -> Value:
    """Return `out` times digamma(after + 1) - digamma(n - k + 1), whose arguments differ by the step."""
    is_valid = (n >= 0.0) & (k >= 0.0) & (k <= n)
    n_minus_k, step, after = (lax.select(is_valid, x, y) for x, y in ((n - k, 1.0), (step, 0.0), (after, 1.0)))
    return out * digamma_step(n_minus_k + 1.0, step, after + 1.0)


binomial_p = declare(
    "binomial",
    _binomial_formula,
    lambda out, n, k: _binomial_slope(out, n, k, k, n),
    lambda out, n, k: -_binomial_slope(out, n, k, k - (n - k), k),
)


def comb(N: Value, k: Value, *, exact: bool = False, repetition: bool = False) -> Value:
    """Return the number of sets of k of N elements; with `repetition`, an element may be chosen again.

    It is 0 where N or k is negative, and where k is larger than N.
    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 32 ulp for a whole k or N - k up to 30, and
    exact where the result is a whole number of few digits; otherwise 16 ulp of the logarithm, as a relative error.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast; ValueError for exact=True, which
    needs integers of any length.

    >>> from calque_numpy.scipy.special import comb
    >>> comb(5, 2), comb(5, 2, repetition=True)
    (np.float64(10.0), np.float64(15.0))
    """
    if exact:
        raise ValueError(f"comb{place()}: exact=True needs integers of any length. Use math.comb.")
    check_dtypes("comb", (typeof(N), typeof(k)))
    return _with_repetition(N, k) if repetition else _comb(N, k)


@elementwise()
def _comb(N: Value, k: Value) -> Value:
    return binomial_p.bind(N, k)


@elementwise()
def _with_repetition(N: Value, k: Value) -> Value:
    is_empty = (N >= 0.0) & (k == 0.0)
    return lax.select(is_empty, 1.0, binomial_p.bind(lax.select(is_empty, 1.0, N + k - 1.0), k))


# Bernoulli's numbers


def bernoulli(n: int) -> Value:
    """Return Bernoulli's numbers from B_0 to B_n, with B_1 = -1/2.

    Shapes: [n + 1].  Dtype: float64; float32 where `enable_x64` is off.  Accuracy: 1 ulp; infinite from B_260 on.
    Raises: TypeError if `n` is no integer; ValueError if it is negative.

    >>> from calque_numpy.scipy.special import bernoulli
    >>> bernoulli(4)
    array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333333])
    """
    count = integer("bernoulli", "n", n)
    if count < 0:
        raise ValueError(f"bernoulli{place()}: n is {count}. Give the last index, 0 or more.")
    even = {2 * k: x for k, x in enumerate(_even_bernoulli(count // 2), 1)}
    numbers = [1.0, -0.5, *(even.get(k, 0.0) for k in range(2, count + 1))][: count + 1]
    with np.errstate(over="ignore"):
        return np.array(numbers).astype(scalar_dtype(float))


def _even_bernoulli(count: int) -> list[float]:
    """Return B_2, B_4, ... from whole numbers, those of the power series of the tangent.

    Source: Brent & Harvey (2013), Fast computation of Bernoulli, tangent and secant numbers, section 6.
    """
    exact = min(count, _LAST_FINITE)
    tangents = [math.factorial(k) for k in range(exact)]
    for k in range(1, exact):
        for j in range(k, exact):
            tangents[j] = (j - k) * tangents[j - 1] + (j - k + 2) * tangents[j]
    signs = [(-1) ** k for k in range(count)]
    finite = [float(Fraction(2 * (k + 1) * t, 16 ** (k + 1) - 4 ** (k + 1))) for k, t in enumerate(tangents)]
    return [s * x for s, x in zip(signs, finite + [math.inf] * (count - exact), strict=True)]


_LAST_FINITE = 129
