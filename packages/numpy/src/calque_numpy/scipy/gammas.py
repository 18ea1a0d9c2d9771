"""The gamma function with its relatives: beta functions, incomplete functions.

One idea: the functions of `lax` serve where they have all digits; a function whose logarithm is large has a formula of
its own.

Read next: `polygammas.py`, `combinatorics.py`, `bessel.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import calque_special
from calque_core import lax, typeof
from calque_core.engine import declare_formula, evaluate_together
from calque_core.engine.numpy_functions import as_dtype
from calque_core.extend import integer
from calque_core.extend import where as place
from calque_numpy.scipy.floats import elementwise, float_dtype
from calque_special.kit import GAMMA_REGIONS, gamma_factors, stirling_series

Value = Any

_OVERFLOW = {4: 50.0, 8: 190.0}  # by the size of the dtype: gamma(x) overflows before, its factors do not


# The gamma function


def _is_pole(x: Value) -> Value:
    return lax.bitwise_and(lax.lt(x, 0.0), lax.eq(lax.floor(x), x))


def _gamma_formula(x: Value) -> Value:
    """Return gamma(x): by its own formula from 1 on, by recurrence above 0, by reflection below (DLMF 5.5.3)."""
    is_negative, y = lax.lt(x, 0.0), lax.min(lax.abs(x), _OVERFLOW[typeof(x).dtype.itemsize])
    is_small = lax.lt(y, 1.0)
    nearest, other = gamma_factors(lax.select(is_small, lax.add(y, 1.0), y))
    size = lax.div(lax.mul(nearest, other), lax.select(is_small, x, 1.0))
    after = lax.select(is_small, 1.0, y)  # gamma(1 + |x|) is gamma(|x|) |x|, without a rounding of 1 + |x|
    whole = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    is_odd = lax.ne(lax.mul(lax.floor(lax.mul(whole, 0.5)), 2.0), whole)
    sine = lax.sin(lax.mul(lax.sub(x, whole), math.pi))
    # one factor after the other: beside a pole the sine is small where gamma(1 + |x|) overflows
    quotient = lax.div(lax.div(math.pi, lax.select(is_odd, lax.neg(sine), sine)), nearest)
    mirrored = lax.div(lax.div(quotient, other), after)
    out = lax.select(is_negative, mirrored, size)
    return lax.select(lax.bitwise_or(_is_pole(x), lax.eq(x, -np.inf)), np.nan, out)


gamma_p = declare_formula("gamma", _gamma_formula, regions={(): GAMMA_REGIONS})


def gamma_jvp(primals: Value, tangents: Value) -> tuple[Value, Value]:
    out = gamma_p.bind(*primals)
    return out, lax.mul(tangents[0], lax.mul(out, calque_special.digamma(*primals)))


gamma_p.def_rule("jvp", gamma_jvp)
evaluate_together(gamma_p, calque_special.digamma_p)


@elementwise()
def gamma(x: Value, /) -> Value:
    """Return the gamma function: infinite at 0, with the sign of the zero; NaN at negative whole numbers.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 64 ulp, where it is a normal number.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import gamma
    >>> np.round(gamma(np.array([0.5, 5.0])), 12)
    array([ 1.77245385, 24.        ])
    """
    return gamma_p.bind(x)


@elementwise()
def gammasgn(x: Value, /) -> Value:
    """Return the sign of gamma(x), 1 or -1: that of the zero at 0; NaN at negative whole numbers.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  The derivative is zero.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import gammasgn
    >>> gammasgn(np.array([2.5, -0.5, -1.5]))
    array([ 1., -1.,  1.])
    """
    x = lax.stop_gradient(x)
    floor = lax.floor(x)
    is_odd = lax.ne(lax.mul(lax.floor(lax.mul(floor, 0.5)), 2.0), floor)
    below = lax.select(_is_pole(x), np.nan, lax.select(is_odd, -1.0, lax.full_like(x, 1.0)))
    at_zero = lax.select(lax.lt(lax.reciprocal(x), 0.0), -1.0, lax.full_like(x, 1.0))
    below = lax.select(lax.eq(x, -np.inf), np.nan, below)
    out = lax.select(lax.lt(x, 0.0), below, lax.select(lax.eq(x, 0.0), at_zero, 1.0))
    return lax.select(lax.ne(x, x), x, out)


@elementwise()
def gammaln(x: Value, /) -> Value:
    """Return log(|gamma(x)|): infinite at 0 and at negative whole numbers.  Accuracy: 16 ulp for positive x.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import gammaln
    >>> gammaln(1.0)
    np.float64(0.0)
    """
    return calque_special.lgamma(x)


@elementwise()
def loggamma(x: Value, /) -> Value:
    """Return log(gamma(x)) of positive numbers: NaN for negative ones, infinite at 0.  Accuracy: 16 ulp.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import loggamma
    >>> loggamma(1.0), loggamma(-0.5)
    (np.float64(0.0), np.float64(nan))
    """
    is_negative = lax.lt(x, 0.0)
    return lax.select(is_negative, np.nan, calque_special.lgamma(lax.select(is_negative, 1.0, x)))


def multigammaln(a: Value, d: int) -> Value:
    """Return the logarithm of the multivariate gamma function of dimension d, for a > (d - 1) / 2.

    Shapes: a [*s] -> [*s].  Dtype: kept; float64 for integers.  Elsewhere the result is NaN.
    Raises: TypeError for complex numbers, and if `d` is no integer; ValueError for d < 1.

    >>> from calque_numpy.scipy.special import multigammaln
    >>> round(float(multigammaln(2.0, 1)), 12)
    0.0
    """
    d = integer("multigammaln", "d", d)
    if d < 1:
        raise ValueError(f"multigammaln{place()}: d is {d}. Give the dimension, 1 or more.")
    dtype = float_dtype("multigammaln", a)
    a = as_dtype(a, dtype)
    is_valid = lax.gt(a, dtype.type((d - 1) / 2))
    a = lax.select(is_valid, a, dtype.type(d))
    out = lax.full_like(a, d * (d - 1) / 4 * math.log(math.pi))
    for j in range(d):
        out = lax.add(out, calque_special.lgamma(lax.sub(a, dtype.type(j / 2))))
    return lax.select(is_valid, out, np.nan)


# Beta functions


def large_log_ratio(a: Value, b: Value) -> Value:
    """Return log(gamma(b) / gamma(a + b)) - a for b >= 8, from Stirling's series (DLMF 5.11.1)."""
    total = lax.add(a, b)
    powers = lax.add(_times_log1p(lax.sub(b, 0.5), a, b), lax.mul(a, lax.log(total)))
    return lax.sub(lax.sub(stirling_series(b), stirling_series(total)), powers)


def _times_log1p(factor: Value, a: Value, b: Value) -> Value:
    """Return factor * log1p(a / b) for a factor near b: a where the quotient is below every digit, and may be 0."""
    is_least = lax.lt(a, lax.mul(b, 2.0**-64))
    p, q = lax.select(is_least, 1.0, a), lax.select(is_least, 1.0, b)
    return lax.select(is_least, a, lax.mul(lax.select(is_least, 1.0, factor), lax.log1p(lax.div(p, q))))


def _positive_betaln(a: Value, b: Value) -> Value:
    """Return betaln(a, b) for 0 < a <= b; logarithms of gammas that cancel are taken together.

    Source: Didonato & Morris (1992), Algorithm 708, ACM Transactions on Mathematical Software 18.
    """
    is_large, are_large = lax.ge(b, 8.0), lax.ge(a, 8.0)
    p, q = lax.select(is_large, 1.0, a), lax.select(is_large, 1.0, b)
    small = lax.sub(lax.add(calque_special.lgamma(p), calque_special.lgamma(q)), calque_special.lgamma(lax.add(p, q)))
    p, q = lax.select(is_large, a, 1.0), lax.select(is_large, b, 8.0)  # no infinite derivative of the other formula
    mixed = lax.add(calque_special.lgamma(p), lax.add(large_log_ratio(p, q), p))
    p = lax.select(are_large, a, 8.0)
    total = lax.add(p, q)
    series = lax.sub(lax.add(stirling_series(p), stirling_series(q)), stirling_series(total))
    powers = lax.add(lax.mul(p, lax.log1p(lax.div(q, p))), _times_log1p(lax.sub(q, 0.5), p, q))
    half = lax.sub(math.log(2 * math.pi) / 2, lax.mul(0.5, lax.log(p)))  # that of q is in the powers
    both = lax.sub(lax.add(series, half), powers)
    return lax.select(are_large, both, lax.select(is_large, mixed, small))


@elementwise()
def betaln(a: Value, b: Value, /) -> Value:
    """Return log(|beta(a, b)|), where gammaln(a) + gammaln(b) - gammaln(a + b) would cancel, too.

    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 64 ulp of the larger of 1, gammaln(min(a, b))
    and the result, for positive a and b.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> from calque_numpy.scipy.special import betaln
    >>> round(float(betaln(1.0, 1e10)), 9)
    -23.02585093
    """
    low, high = _ordered(a, b)
    is_mirrored = lax.bitwise_and(lax.gt(low, -np.inf), lax.bitwise_and(lax.lt(low, 0.0), lax.ne(high, 0.0)))
    is_mirrored = lax.bitwise_and(is_mirrored, lax.lt(high, np.inf))
    is_positive = lax.gt(low, 0.0)
    p, q, sign, term = _mirrored(lax.select(is_mirrored, low, -0.5), lax.select(is_mirrored, high, 0.25))
    p, q = lax.select(is_mirrored, p, low), lax.select(is_mirrored, q, high)
    is_endless = lax.eq(q, np.inf)
    is_used = lax.bitwise_and(lax.bitwise_or(is_mirrored, is_positive), lax.bitwise_not(is_endless))
    p, q = lax.select(is_used, p, 1.0), lax.select(is_used, q, 1.0)
    size = lax.select(is_endless, -np.inf, _positive_betaln(*_ordered(p, q)))
    out = lax.select(is_mirrored, lax.add(lax.mul(sign, size), term), size)
    is_other = lax.bitwise_not(lax.bitwise_or(is_mirrored, is_positive))
    p, q = lax.select(is_other, a, 1.0), lax.select(is_other, b, 1.0)
    other = lax.sub(lax.add(calque_special.lgamma(p), calque_special.lgamma(q)), calque_special.lgamma(lax.add(p, q)))
    return lax.select(is_other, other, out)


def _ordered(a: Value, b: Value) -> tuple[Value, Value]:
    """Return the lesser and the larger of two numbers, each with its whole derivative where they are equal."""
    is_ordered = lax.le(a, b)
    return lax.select(is_ordered, a, b), lax.select(is_ordered, b, a)


def _mirrored(a: Value, b: Value) -> tuple[Value, Value, Value, Value]:
    """Return p, q > 0, a sign and a term: betaln(a, b) is sign * betaln(p, q) + term, for a < 0 and a <= b.

    By gamma(x) gamma(1 - x) = pi / sin(pi x) (DLMF 5.5.3), for one or for all of a, b and a + b.
    """
    total, a_part, b_part = lax.add(a, b), _beside_whole(a), _beside_whole(b)
    both, has_sum = lax.lt(b, 0.0), lax.le(total, 0.0)
    of_a, of_total = _log_sine(a_part), _log_sine(_beside_whole(lax.add(a_part, b_part)))
    of_b = _log_sine(lax.select(both, b_part, 0.5))  # it is not used elsewhere, where its derivative may be infinite
    p = lax.select(both, lax.sub(1.0, a), lax.select(has_sum, b, total))
    q = lax.select(both, lax.sub(1.0, b), lax.select(has_sum, lax.sub(1.0, total), lax.neg(a)))
    sign = lax.select(lax.bitwise_and(has_sum, lax.bitwise_not(both)), 1.0, lax.full_like(a, -1.0))
    size = lax.log(lax.select(both, lax.sub(1.0, total), lax.neg(a)))
    alone = lax.sub(lax.sub(math.log(math.pi), of_a), size)
    term = lax.select(has_sum, lax.sub(of_total, of_a), alone)
    return p, q, sign, lax.select(both, lax.add(alone, lax.sub(of_total, of_b)), term)


def _beside_whole(x: Value) -> Value:
    """Return the distance from the nearest whole number."""
    return lax.sub(x, lax.stop_gradient(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)))


def _log_sine(x: Value) -> Value:
    return lax.log(lax.abs(lax.sin(lax.mul(x, math.pi))))


@elementwise()
def beta(a: Value, b: Value, /) -> Value:
    """Return gamma(a) gamma(b) / gamma(a + b).

    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: the absolute error of betaln, as a relative
    error.  NaN where a or b is a negative whole number.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> from calque_numpy.scipy.special import beta
    >>> round(float(beta(2.0, 3.0)), 12)
    0.083333333333
    """
    sign = lax.mul(lax.mul(gammasgn(a), gammasgn(b)), gammasgn(lax.add(a, b)))
    return lax.mul(sign, lax.exp(betaln(a, b)))


# Incomplete functions


@elementwise()
def betainc(a: Value, b: Value, x: Value, /) -> Value:
    """Return the regularized incomplete beta function: the integral from 0 to x over the integral from 0 to 1.

    Only x has a derivative.
    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: as `calque_special.betainc`.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import betainc
    >>> betainc(2.0, 2.0, np.array([0.0, 0.5, 1.0]))
    array([0. , 0.5, 1. ])
    """
    return calque_special.betainc(a, b, x)


@elementwise()
def gammainc(a: Value, x: Value, /) -> Value:
    """Return the regularized lower incomplete gamma function.

    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: as `calque_special.igamma`.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import gammainc
    >>> np.round(gammainc(1.0, np.array([0.0, 1.0, np.inf])), 12)
    array([0.        , 0.63212056, 1.        ])
    """
    return calque_special.igamma(a, x)


@elementwise()
def gammaincc(a: Value, x: Value, /) -> Value:
    """Return 1 - gammainc(a, x), the regularized upper incomplete gamma function, without cancellation.

    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: as `calque_special.igammac`.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import gammaincc
    >>> np.round(gammaincc(1.0, np.array([0.0, 1.0, np.inf])), 12)
    array([1.        , 0.36787944, 0.        ])
    """
    return calque_special.igammac(a, x)
