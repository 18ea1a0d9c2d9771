"""Kummer's confluent hypergeometric function of real numbers.

One idea: a transformation leads to a positive argument, where the terms of the power series have one sign for most
parameters; for large arguments, an asymptotic series.

Read next: `gauss.py`, `slopes.py`.
"""

from __future__ import annotations

import math
from typing import Any

from calque_core import lax
from calque_core.extend import summed, where_any
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.gammas import gammasgn
from calque_numpy.scipy.slopes import declare

Value = Any
Values = tuple[Value, ...]


def is_pole(x: Value) -> Value:
    """Tell where gamma has a pole: a series with such a numerator ends, one with such a denominator is infinite."""
    return (x <= 0.0) & (lax.floor(x) == x)


def _log_ratio(numerators: Values, denominators: Values) -> tuple[Value, Value]:
    """Return the logarithm and the sign of a quotient of gamma functions; a pole in a denominator makes it zero."""
    logarithm, sign = 0.0, 1.0
    for x in numerators:
        logarithm, sign = logarithm + lax.lgamma(x), sign * gammasgn(x)
    for x in denominators:
        is_zero = is_pole(x)
        safe = lax.select(is_zero, 1.0, x)
        logarithm = logarithm - lax.select(is_zero, math.inf, lax.lgamma(safe))
        sign = sign * gammasgn(safe)
    return logarithm, sign


# Kummer's function

_LARGE = 80.0  # from here on the asymptotic series has all digits for moderate parameters
_OVERFLOW = 1e5  # exp overflows long before


def _kummer_series(a: Value, b: Value, x: Value, first: Value) -> Value:
    """Return the sum of (a)_k x**k / ((b)_k k!) (DLMF 13.2.2), times `first`."""

    def step(n: Value, values: Values) -> Values:
        term, total = values
        term = term * ((a + n - 1.0) / (b + n - 1.0) * (x / n))
        return term, total + term

    return summed(step, (first, first))[-1]


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
    power = (other - b) * lax.log(lax.select(is_positive, lax.min(size, _OVERFLOW), size))
    half = lax.exp(0.5 * (exponent + power + logarithm))
    return (sign * series * half * half,)


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
    half = lax.select(is_mirrored, lax.exp(-0.5 * y), 1.0)  # exp(x) underflows before the product
    near = half * _kummer_series(lax.select(is_large, 1.0, p), lax.select(is_large, 1.0, q), y, half)
    safe = [lax.select(is_large, v, w) for v, w in ((a, 1.0), (b, 2.0), (x, 2 * _LARGE))]
    (large,) = where_any(is_large, _kummer_asymptotic, 1, *safe)
    return lax.select(is_infinite, math.inf, lax.select(is_large, large, near))


def _hyp1f1_slope(out: Value, a: Value, b: Value, x: Value) -> Value:
    return a / b * hyp1f1_p.bind(a + 1.0, b + 1.0, x)  # DLMF 13.3.15


hyp1f1_p = declare("hyp1f1", _hyp1f1_formula, "the parameter a", "the parameter b", _hyp1f1_slope)


@elementwise()
def hyp1f1(a: Value, b: Value, x: Value, /) -> Value:
    """Return Kummer's confluent hypergeometric function M(a, b, x); only x has a derivative.

    Infinite where b is zero or a negative whole number, unless the series ends before.
    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 64 ulp for positive a and b - a; otherwise
    64 ulp of the largest term of the power series.  For large parameters, NaN where exp(-x / 2) overflows.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> from calque_numpy.scipy.special import hyp1f1
    >>> round(float(hyp1f1(1.0, 2.0, 1.0)), 12)
    1.718281828459
    """
    return hyp1f1_p.bind(a, b, x)
