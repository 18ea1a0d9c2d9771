"""Kummer's confluent hypergeometric function of real numbers.

One idea: a transformation leads to a positive argument, where the terms of the power series have one sign for most
parameters; for large arguments, an asymptotic series.

Read next: `gauss.py`, `slopes.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import calque_special
from calque_core import Primitive, lax, typeof
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.gammas import gammasgn
from calque_numpy.scipy.slopes import declare
from calque_special.kit import summed, where_any

Value = Any
Values = tuple[Value, ...]


def is_pole(x: Value) -> Value:
    """Tell where gamma has a pole: a series with such a numerator ends, one with such a denominator is infinite."""
    return (x <= 0.0) & (lax.floor(x) == x)


def _log_ratio(numerators: Values, denominators: Values) -> tuple[Value, Value]:
    """Return the logarithm and the sign of a quotient of gamma functions; a pole in a denominator makes it zero."""
    logarithm, sign = 0.0, 1.0
    for x in numerators:
        logarithm, sign = logarithm + calque_special.lgamma(x), sign * gammasgn(x)
    for x in denominators:
        is_zero = is_pole(x)
        safe = lax.select(is_zero, 1.0, x)
        logarithm = logarithm - lax.select(is_zero, math.inf, calque_special.lgamma(safe))
        sign = sign * gammasgn(safe)
    return logarithm, sign


# Kummer's function

_LARGE = 80.0  # from here on the asymptotic series has all digits for moderate parameters
_OVERFLOW = 1e5  # exp overflows long before
_DAMPED = 160.0  # to here exp(-x / 2) is a normal number in single precision


_PARTS = 8  # so many factors at most damp a series; more would be needed where the results underflow
_TALL = 2.0**60  # a sum that is damped once more


def _kummer_series(a: Value, b: Value, x: Value, damping: Value, parts: Value) -> Value:
    """Return the sum of (a)_k x**k / ((b)_k k!) (DLMF 13.2.2), times `damping` to the power `parts`.

    A factor is multiplied in when the sum is tall, so that neither the sum overflows nor the power underflows.
    """

    def step(n: Value, values: Values) -> Values:
        rest, term, total = values
        term = term * ((a + n - 1.0) / (b + n - 1.0) * (x / n))
        total = total + term
        is_tall = (abs(total) > _TALL) & (rest > 0.0)
        factor = lax.select(is_tall, damping, 1.0)
        return lax.select(is_tall, rest - 1.0, rest), term * factor, total * factor

    one = lax.full_like(x, 1.0)
    rest, _, total = summed(step, (parts, one, one))
    for i in range(_PARTS):
        total = total * lax.select(rest > float(i), damping, 1.0)
    return total


def _asymptotic_series(p: Value, q: Value, x: Value) -> Value:
    """Return the sum of (p)_k (q)_k / (k! x**k)."""

    def step(n: Value, values: Values) -> Values:
        term, total = values
        term = term * ((p + n - 1.0) * (q + n - 1.0) / (n * x))
        return term, total + term

    one = lax.full_like(x, 1.0)
    return summed(step, (one, one))[-1]


def _kummer_asymptotic(a: Value, b: Value, x: Value) -> tuple[Value]:
    """Return M(a, b, x) for large |x| (DLMF 13.7.1 and 13.7.2): of both exponentials, the larger one."""
    is_positive, size = x > 0.0, abs(x)
    other = lax.select(is_positive, a, b - a)  # a pole of its gamma function belongs to the series
    logarithm, sign = _log_ratio((b,), (other,))
    series = _asymptotic_series(b - other, 1.0 - other, size)
    exponent = lax.min(lax.select(is_positive, x, 0.0), _OVERFLOW)
    base = lax.select(is_positive, lax.min(size, _OVERFLOW), size)
    half = _half_of_product(exponent, base, other - b, logarithm)
    return (sign * series * half * half,)


def _half_of_product(exponent: Value, base: Value, power: Value, logarithm: Value) -> Value:
    """Return the root of exp(exponent + logarithm) base**power.

    The exponent of the product has the error of its terms, so each factor has a power of its own where all are normal.
    """
    terms = exponent, power * lax.log(base), logarithm
    most = 1.3 * math.log(float(np.finfo(typeof(base).dtype).max))
    are_normal = lax.max(lax.max(abs(terms[0]), abs(terms[1])), 2.0 * abs(terms[2])) < most
    factors = [lax.select(are_normal, x, y) for x, y in zip((exponent, base, power, logarithm), (0.0, 1.0, 1.0, 0.0))]
    product = lax.exp(0.5 * factors[0]) * lax.pow(factors[1], 0.5 * factors[2]) * lax.exp(0.5 * factors[3])
    return lax.select(are_normal, product, lax.exp(0.5 * (terms[0] + terms[1] + terms[2])))


def _hyp1f1_formula(a: Value, b: Value, x: Value) -> Value:
    """Return M(a, b, x); a negative x becomes positive by Kummer's transformation (DLMF 13.2.39)."""
    ends = is_pole(a)
    is_infinite = is_pole(b) & ~(ends & (a >= b))
    other = lax.select(x > 0.0, a, b - a)
    greatest = lax.max(abs(b - other), abs(1.0 - other)) + 1.0  # of the parameters of the asymptotic series
    is_large = (abs(x) > lax.max(_LARGE, greatest * greatest)) & ~(ends | (is_pole(b - a) & (x < 0.0)) | is_infinite)
    is_mirrored = (x < 0.0) & ~ends & ~is_large
    p, q = lax.select(is_mirrored, b - a, a), lax.select(is_infinite, 1.0, b)
    y = lax.select(is_large | is_infinite, 0.0, lax.select(is_mirrored, -x, x))
    parts = lax.select(is_mirrored, lax.select(y > _DAMPED, lax.full_like(x, float(_PARTS)), 2.0), 0.0)
    damping = lax.exp(lax.select(is_mirrored, -y / lax.max(parts, 1.0), 0.0))  # exp(x) underflows before the product
    near = _kummer_series(lax.select(is_large, 1.0, p), lax.select(is_large, 1.0, q), y, damping, parts)
    safe = [lax.select(is_large, v, w) for v, w in ((a, 1.0), (b, 2.0), (x, 2 * _LARGE))]
    (large,) = where_any(is_large, _kummer_asymptotic, 1, *safe)
    return lax.select(is_infinite, math.inf, lax.select(is_large, large, near))


def _hyp1f1_slope(out: Value, a: Value, b: Value, x: Value) -> Value:
    return a / b * hyp1f1_p.bind(a + 1.0, b + 1.0, x)  # DLMF 13.3.15


# Its derivatives in the parameters: each term of a series has its own


def _slopes_of_sum(first: Value, factor: Any) -> Values:
    """Return the sum of terms and its two derivatives; `factor(n, term, by_first, by_second)` gives the next ones."""

    def step(n: Value, values: Values) -> Values:
        news = factor(n, *values[:3])
        return (*news, *(total + new for total, new in zip(values[3:], news, strict=True)))

    zero = 0.0 * first
    return summed(step, (first, zero, zero, first, zero, zero), 3)[3:]


def _kummer_slopes(a: Value, b: Value, x: Value, first: Value) -> Values:
    """Return the derivatives of `_kummer_series` in a and b; a may be a whole number at which the series ends."""

    def factor(n: Value, term: Value, by_a: Value, by_b: Value) -> Values:
        above, below = a + n - 1.0, b + n - 1.0
        scale = x / n / below
        return term * above * scale, (by_a * above + term) * scale, (by_b - term / below) * above * scale

    return _slopes_of_sum(first, factor)[1:]


def _asymptotic_slopes(p: Value, b: Value, y: Value, exponent: Value) -> Values:
    """Return the derivatives in p and b of exp(exponent) gamma(b) / gamma(p) y**(p - b) times `_asymptotic_series`."""
    q, r = b - p, 1.0 - p

    def factor(n: Value, term: Value, by_q: Value, by_r: Value) -> Values:
        left, right, scale = q + n - 1.0, r + n - 1.0, 1.0 / (n * y)
        return term * left * right * scale, (by_q * left + term) * right * scale, (by_r * right + term) * left * scale

    total, by_q, by_r = _slopes_of_sum(lax.full_like(y, 1.0), factor)
    is_end = is_pole(p)  # 1 / gamma(p) is 0, and its derivative (-1)**p (-p)!
    safe, length = lax.select(is_end, 1.0, p), lax.log(y)
    logarithm, sign = _log_ratio((b,), (safe,))
    logarithm = logarithm + lax.select(is_end, calque_special.lgamma(lax.select(is_end, 1.0 - p, 1.0)), 0.0)
    is_odd = is_end & (lax.floor(0.5 * p) * 2.0 != p)
    half = lax.exp(0.5 * (exponent + (p - b) * length + logarithm))
    by_p = lax.select(is_end, total, (length - calque_special.digamma(safe)) * total - by_q - by_r)
    by_b = lax.select(is_end, 0.0, (calque_special.digamma(b) - length) * total + by_q)
    sign = lax.select(is_odd, -sign, sign)
    return sign * by_p * half * half, sign * by_b * half * half


def _hyp1f1_by_parameters(a: Value, b: Value, x: Value) -> Values:
    """Return the derivatives in a and b, by the formulas of `_hyp1f1_formula` with the same choice among them."""
    is_mirrored, y = x < 0.0, abs(x)
    p = lax.select(is_mirrored, b - a, a)
    greatest = lax.max(abs(b - p), abs(1.0 - p)) + 1.0
    is_large = y > lax.max(_LARGE, greatest * greatest)
    is_near = ~is_large | (is_pole(p) & ~is_mirrored)  # a polynomial has its whole derivative in b from the series
    half = lax.select(is_mirrored, lax.exp(-0.5 * lax.select(is_large, 0.0, y)), 1.0)
    p_near, b_near, y_near = (lax.select(is_near, v, w) for v, w in ((p, 1.0), (b, 1.0), (y, 0.0)))
    near = _kummer_slopes(p_near, b_near, y_near, half)
    exponent = lax.select(is_mirrored, 0.0, lax.min(y, _OVERFLOW))
    safe = [lax.select(is_large, v, w) for v, w in ((p, 1.0), (b, 2.0), (y, 2 * _LARGE), (exponent, 0.0))]
    large = where_any(is_large, _asymptotic_slopes, 2, *safe)
    by_p = lax.select(is_large, large[0], half * near[0])
    by_b = lax.select(is_near, half * near[1], large[1])
    by_a, by_b = lax.select(is_mirrored, -by_p, by_p), lax.select(is_mirrored, by_p + by_b, by_b)
    is_infinite = is_pole(b)
    by_b = lax.select(a == 0.0, 0.0, by_b)  # M(0, b, x) is 1
    return lax.select(is_infinite, math.nan, by_a), lax.select(is_infinite, math.nan, by_b)


hyp1f1_by_a_p: Primitive = declare(
    "hyp1f1_by_a",
    lambda a, b, x: _hyp1f1_by_parameters(a, b, x)[0],
    "the parameter a, for the second time",
    "the parameters a and b together",
    lambda out, a, b, x: (hyp1f1_p.bind(a + 1.0, b + 1.0, x) + a * hyp1f1_by_a_p.bind(a + 1.0, b + 1.0, x)) / b,
)
hyp1f1_by_b_p: Primitive = declare(
    "hyp1f1_by_b",
    lambda a, b, x: _hyp1f1_by_parameters(a, b, x)[1],
    "the parameters a and b together",
    "the parameter b, for the second time",
    lambda out, a, b, x: a / b * (hyp1f1_by_b_p.bind(a + 1.0, b + 1.0, x) - hyp1f1_p.bind(a + 1.0, b + 1.0, x) / b),
)
hyp1f1_p: Primitive = declare(
    "hyp1f1",
    _hyp1f1_formula,
    lambda out, a, b, x: hyp1f1_by_a_p.bind(a, b, x),
    lambda out, a, b, x: hyp1f1_by_b_p.bind(a, b, x),
    _hyp1f1_slope,
)


@elementwise()
def hyp1f1(a: Value, b: Value, x: Value, /) -> Value:
    """Return Kummer's confluent hypergeometric function M(a, b, x).

    It has all derivatives in x, and the first in a and b, which has derivatives in x.
    Infinite where b is zero or a negative whole number, unless the series ends before.
    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 64 ulp for positive a and b - a; otherwise
    64 ulp of the largest term of the power series.  For large parameters, NaN where exp(-x / 2) overflows.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> from calque_numpy.scipy.special import hyp1f1
    >>> round(float(hyp1f1(1.0, 2.0, 1.0)), 12)
    1.718281828459
    """
    return hyp1f1_p.bind(a, b, x)
