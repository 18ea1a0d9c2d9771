"""Gauss' hypergeometric function of real numbers.

One idea: the power series leads to the argument 0.9, and from there Taylor series of the differential equation halve
the distance to 1 with each step.  No case needs a gamma function, so that none overflows and none cancels where a
difference of the parameters is close to a whole number.

Read next: `hypergeometric.py`, `slopes.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.hypergeometric import is_pole
from calque_numpy.scipy.slopes import declare
from calque_special.kit import summed, where_any

Value = Any
Values = tuple[Value, ...]

_SERIES = 0.9  # up to this argument the power series serves
_DEGREE = 10_000.0  # polynomials of a higher degree are NaN: each degree is a step


# Arguments from 0 to 1


def _series(a: Value, b: Value, c: Value, z: Value) -> Values:
    """Return F and z F', by the power series (DLMF 15.2.1)."""
    least = -lax.min(lax.min(a, b), c)  # terms may grow again after this one

    def step(n: Value, values: Values) -> Values:
        term, _, _, total, slope = values
        term = term * ((a + n - 1.0) / (c + n - 1.0) * ((b + n - 1.0) / n) * z)
        size = lax.select((n < least) & (term != 0.0), math.inf, abs(term))
        return term, size, n * size, total + term, slope + n * term

    one = lax.full_like(z, 1.0)
    return summed(step, (one, one, one, one, 0.0 * one), 2)[-2:]


def _taylor(a: Value, b: Value, c: Value, w: Value, part: Value, out: Value, slope: Value) -> Values:
    """Return F and (1 - z) F' at 1 - z = (1 - part) w from their values at 1 - z = w.

    The term t_n is F^(n) (part w)**n / n!.  The coefficient of a power n in the differential equation (DLMF 15.10.1) is
    z (n+2) (n+1) t_(n+2) + part (n+1) ((2 w - 1) n + c - (a+b+1) z) t_(n+1) = part**2 w (n+a) (n+b) t_n.
    """
    z = 1.0 - w
    middle, last = c - (a + b + 1.0) * z, w * part * part

    def step(n: Value, values: Values) -> Values:
        before, term, _, _, total, slope = values
        total, slope = total + term, slope + n * term
        k = n - 1.0
        ahead = (k + a) * (k + b) * last * before - part * n * ((2.0 * w - 1.0) * k + middle) * term
        ahead = ahead / (z * ((k + 2.0) * n))
        size = lax.max(abs(term), abs(ahead))
        return term, ahead, size, n * size, total, slope

    first = part * slope
    total, slope = summed(step, (out, first, abs(out) + 1.0, abs(out) + 1.0, out, 0.0 * out), 2)[-2:]
    return total, slope * ((1.0 - part) / lax.select(part > 0.0, part, 1.0))


def _toward_one(a: Value, b: Value, c: Value, w: Value, log_w: Value) -> tuple[Value]:
    """Return F for _SERIES < z <= 1, where w = 1 - z is exact; it may be too small to be compiled as a number.

    Next to 1, F is p + q w**s with s = c - a - b and constants p and q, to rounding.
    """
    size = (abs(a) + 1.0) * (abs(b) + 1.0) * (abs(c) + 1.0)
    end = lax.max(w, float(np.finfo(typeof(w).dtype).eps) / 64.0 / size)

    def is_open(values: Values) -> Value:
        return lax.reduce_or(values[0] > end)

    def approach(values: Values) -> Values:
        place, out, slope = values
        after = lax.max(0.5 * place, end)
        part = (place - after) / place
        is_before = part > 0.0
        news = _taylor(a, b, c, place, part, out, slope)
        out, slope = (lax.select(is_before, new, old) for new, old in zip(news, (out, slope), strict=True))
        return after, out, slope

    first = lax.full_like(w, 1.0 - _SERIES)
    out, slope = _series(a, b, c, 1.0 - first)
    _, out, slope = lax.while_loop(is_open, approach, (first, out, slope * ((1.0 - _SERIES) / _SERIES)))
    s, power = c - a - b, log_w - lax.log(end)
    is_logarithm = s == 0.0
    growth = lax.select(is_logarithm, power, lax.expm1(s * power) / lax.select(is_logarithm, 1.0, s))
    return (lax.select(w < end, out - slope * growth, out),)


def _between(a: Value, b: Value, c: Value, w: Value, log_w: Value, z: Value) -> Value:
    """Return F for -_SERIES <= z = 1 - w <= 1."""
    is_far = w < 1.0 - _SERIES
    (far,) = where_any(is_far, _toward_one, 1, *(lax.select(is_far, v, 1.0) for v in (a, b, c, w, log_w)))
    return lax.select(is_far, far, _series(a, b, c, lax.select(is_far, 0.0, z))[0])


# Polynomials


def _polynomial(degree: Value, b: Value, c: Value, x: Value) -> Value:
    """Return F(-degree, b; c; x), by the recurrence of DLMF 15.5.11 for the difference of two degrees."""

    def step(values: Values) -> Values:
        k, difference, total = values
        before = lax.select(difference == 0.0, 0.0, k * (1.0 - x) * difference)  # x may be infinite
        difference = lax.select(k < degree, (before - b * x * total) / (c + k), 0.0)
        return k + 1.0, difference, total + difference

    one = lax.full_like(x, 1.0)
    start = lax.full_like(x, 0.0, shape=()), 0.0 * one, one
    return lax.while_loop(lambda values: lax.reduce_or(values[0] < degree), step, start)[-1]


# The function


def _hyp2f1_formula(a: Value, b: Value, c: Value, x: Value) -> Value:
    """Return F(a, b; c; x): a power, a polynomial, infinity, or a sum."""
    a, b = lax.min(a, b), lax.max(a, b)
    is_power = (c == a) | (c == b)
    ends = (is_pole(a) | is_pole(b)) & ~is_power
    degree, other = lax.select(is_pole(b), -b, -a), lax.select(is_pole(b), a, b)  # the lower of two degrees
    is_infinite = (is_pole(c) & ~is_power & ~(ends & (degree <= -c))) | ((x > 1.0) & ~ends)
    ends_after = (is_pole(c - a) | is_pole(c - b)) & ~ends  # by Euler's transformation (DLMF 15.8.1)
    degree = lax.select(ends_after, lax.select(is_pole(c - a), a - c, b - c), degree)
    other = lax.select(ends_after, lax.select(is_pole(c - a), c - b, c - a), other)
    is_polynomial = (ends | ends_after) & ~is_infinite
    is_sum = ~(is_polynomial | is_infinite)
    is_known = is_polynomial & (degree <= _DEGREE)
    short = _polynomial(*(lax.select(is_known, v, w) for v, w in ((degree, 0.0), (other, 1.0), (c, 1.0), (x, 0.0))))
    power = c - a - b
    base = lax.select(ends_after & is_known & (power != 0.0), x, 0.0)
    factor = lax.exp(power * lax.log1p(-base))
    short = lax.select(is_known, short * factor, math.nan)
    long = _sum(*(lax.select(is_sum, v, w) for v, w in ((a, 1.0), (b, 1.0), (c, 1.0), (x, 0.0))))
    out = lax.select(is_polynomial, short, lax.select(is_infinite, math.inf, long))
    return lax.select(x == 0.0, 1.0, out)


def _sum(a: Value, b: Value, c: Value, x: Value) -> Value:
    """Return F for a <= b and x <= 1: for a negative x by a transformation to most terms of one sign (DLMF 15.8.1)."""
    is_negative = x < 0.0
    logarithm = lax.log1p(-lax.select(is_negative, x, 0.0))
    # the first form of Pfaff is bounded, the factors of the second may overflow
    is_second = (c < b) & (b * logarithm < 0.8 * math.log(float(np.finfo(typeof(x).dtype).max)))
    is_euler = is_negative & (c < a) & (x > -_SERIES)
    is_pfaff = is_negative & ~is_euler
    first, second = lax.select(is_second, b, a), lax.select(is_second, a, b)
    power = lax.select(is_euler, c - a - b, -first)
    p = lax.select(is_euler, c - a, lax.select(is_pfaff, first, a))
    q = lax.select(is_euler, c - b, lax.select(is_pfaff, c - second, b))
    w = lax.select(is_pfaff, 1.0 / (1.0 - x), 1.0 - x)
    z = lax.select(is_pfaff, -x * w, x)
    log_w = lax.select(is_pfaff, -logarithm, lax.log(w))
    is_long = x < -1.0  # the exponent has a larger error than 1 - x
    half = lax.pow(lax.select(is_long, 1.0 - x, 1.0), 0.5 * power)  # the power underflows before the product
    half = lax.select(is_long, half, lax.exp(0.5 * power * logarithm))
    out = _between(p, q, c, w, log_w, z)
    out = lax.select(is_negative, out * half, out) * half  # half is 1 elsewhere; XLA would square a known one first
    return lax.select((x == -math.inf) & (a > 0.0), 0.0, out)


def _hyp2f1_slope(out: Value, a: Value, b: Value, c: Value, x: Value) -> Value:
    return a * b / c * hyp2f1_p.bind(a + 1.0, b + 1.0, c + 1.0, x)  # DLMF 15.5.1


hyp2f1_p = declare("hyp2f1", _hyp2f1_formula, "the parameter a", "the parameter b", "the parameter c", _hyp2f1_slope)


@elementwise()
def hyp2f1(a: Value, b: Value, c: Value, x: Value, /) -> Value:
    """Return Gauss' hypergeometric function F(a, b; c; x) for x up to 1; only x has a derivative.

    Infinite where c is zero or a negative whole number, unless the series ends before, and for x > 1, where SciPy has
    infinity as well, unless the series ends.  At x = 1 it is the limit from below.  A power of 1 - x where c
    is a or b.
    Shapes: broadcast.  Dtype: promoted; float64 for integers.
    Accuracy, as a relative error: 1e-13 (1e-5 in single precision) for positive parameters up to 5 and x from -1 to 1,
    close to 1 and for whole differences of the parameters too; 1e-12 for positive parameters up to 100 and x from 0 to
    1; 1e-10 for parameters from -5 to 5 and every x; all except next to a zero.  Sums cancel where a parameter is less
    than -10, and for x < 0 where b - c or a - c is more than 20: such results may have no correct digit, as SciPy's.
    NaN for polynomials of a degree over 10000.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> from calque_numpy.scipy.special import hyp2f1
    >>> round(float(hyp2f1(1.0, 1.0, 2.0, 0.5)), 12)
    1.38629436112
    """
    return hyp2f1_p.bind(a, b, c, x)
