"""The incomplete gamma functions, and their derivatives in the order.

One idea: a density in front, which is a sum of deviations without cancellation (`deviance`), times a power series, a
continued fraction or, for large orders, Temme's uniform expansion.

They are elementwise primitives as in `arithmetic.py`; each is a formula in other operations (`approximate.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from calque_core.ops.approximate import damping, declare_formula, deviance, polynomial, summed, where_any
from calque_core.ops.arithmetic import abs, add, div, max, min, mul, neg, square, sub
from calque_core.ops.coefficients import TEMME
from calque_core.ops.compare import bitwise_and, bitwise_not, bitwise_or, eq, ge, gt, le, lt, select
from calque_core.ops.create import full_like
from calque_core.ops.declare import FLOAT, insist
from calque_core.ops.exponential import exp, expm1, log, log1p, pow, sqrt
from calque_core.ops.gamma import (
    LARGE,
    digamma_formula,
    gamma_of,
    minus_log_gamma_after,
    stirling_series,
)
from calque_core.ops.operands import broadcast_operands, floating_pair
from calque_core.ops.special import erfc

Value = Any
Values = tuple[Value, ...]


def _gamma_density(a: Value, x: Value) -> Value:
    """Return x**a exp(-x) / gamma(a + 1)."""
    small, near = min(a, LARGE), min(x, _UNDERFLOW)
    half = exp(mul(-0.5, near))
    direct = div(mul(mul(pow(near, small), half), half), gamma_of(add(small, 1.0)))
    large = max(a, LARGE)
    peak = div(exp(neg(stirling_series(large))), sqrt(mul(2 * math.pi, large)))
    return select(lt(a, LARGE), direct, mul(damping(large, div(sub(x, large), large), div(x, large)), peak))


_UNDERFLOW = 1000.0  # exp(-x) is 0 long before, and x**8 does not overflow


def _gamma_series(a: Value, x: Value) -> Value:
    """Return the sum of x**n / ((a + 1) ... (a + n)) (DLMF 8.7.1)."""

    def step(n: Value, values: Values) -> Values:
        term, total = values
        term = mul(term, div(x, add(a, n)))
        return term, add(total, term)

    one = full_like(x, 1.0)
    return summed(step, (one, one))[-1]


def _gamma_series_slope(a: Value, x: Value) -> tuple[Value, Value]:
    """Return the sum of `_gamma_series` without its first term 1, and its derivative in a."""

    def step(n: Value, values: Values) -> Values:
        term, term_dot, total, total_dot = values
        divisor = add(a, n)
        factor = div(x, divisor)
        term_dot = mul(factor, sub(term_dot, div(term, divisor)))
        term = mul(term, factor)
        return term, term_dot, add(total, term), add(total_dot, term_dot)

    one, zero = full_like(x, 1.0), full_like(x, 0.0)
    *_, tail, tail_dot = summed(step, (one, zero, zero, zero), count=2)
    return tail, tail_dot


def _gamma_fraction(a: Value, x: Value) -> Value:
    """Return F in Q = F x**a exp(-x) / gamma(a) (DLMF 8.9.2), for x > a.

    Source: Steed's method, a sum of the differences of convergents: Barnett, Feng, Steed & Goldfarb (1974), Coulomb
    wave functions for all real eta and rho, Computer Physics Communications 8.
    """
    b = sub(add(x, 1.0), a)

    def step(n: Value, values: Values) -> Values:
        d, term, total = values
        numerator = mul(mul(n, sub(a, n)), d)
        d_next = div(1.0, add(add(b, add(n, n)), numerator))
        term = mul(neg(mul(numerator, d_next)), term)
        return d_next, term, add(total, term)

    d = div(1.0, b)
    return summed(step, (d, d, d))[-1]


def _gamma_fraction_slope(a: Value, x: Value) -> tuple[Value, Value]:
    """Return F of `_gamma_fraction` and its derivative in a."""
    b = sub(add(x, 1.0), a)

    def step(n: Value, values: Values) -> Values:
        d, d_dot, term, term_dot, total, total_dot = values
        numerator, denominator = mul(n, sub(a, n)), add(b, add(n, n))
        product_dot = add(mul(n, d), mul(numerator, d_dot))
        d_next = div(1.0, add(denominator, mul(numerator, d)))
        d_next_dot = mul(square(d_next), sub(1.0, product_dot))
        factor = neg(mul(mul(numerator, d), d_next))
        factor_dot = neg(add(mul(product_dot, d_next), mul(mul(numerator, d), d_next_dot)))
        term_dot = add(mul(factor, term_dot), mul(factor_dot, term))
        term = mul(factor, term)
        return d_next, d_next_dot, term, term_dot, add(total, term), add(total_dot, term_dot)

    d = div(1.0, b)
    *_, total, total_dot = summed(step, (d, square(d), d, square(d), d, square(d)), count=2)
    return total, total_dot


_COLUMNS = 18
_ROWS = [TEMME[k : k + _COLUMNS] for k in range(0, len(TEMME), _COLUMNS)]
_UNIFORM = 200.0  # the order from which seven terms of Temme's expansion have all digits


def _temme(a: Value, x: Value) -> tuple[Value, Value, list[Value]]:
    """Return eta, exp(-a eta**2 / 2) / sqrt(2 pi a), and the coefficients c_k(eta) of a sum over a**-k.

    Source: DLMF 8.12.3 to 8.12.8; mu = x / a - 1 and eta**2 / 2 = mu - log(1 + mu).
    """
    mu = div(sub(x, a), a)
    half_square = deviance(mu, div(x, a))
    size = sqrt(mul(2.0, half_square))
    eta = select(lt(mu, 0.0), neg(size), size)
    front = div(exp(neg(mul(a, half_square))), sqrt(mul(2 * math.pi, a)))
    return eta, front, [polynomial(eta, row) for row in _ROWS]


def _temme_slope(a: Value, mu: Value, eta: Value, terms: Sequence[Value]) -> Value:
    """Return the derivative of the sum over c_k(eta) a**-k in a."""
    slopes = [polynomial(eta, [n * c for n, c in enumerate(row)][1:]) for row in _ROWS]
    eta_dot = neg(div(_mu_over_eta(mu, eta), a))
    inverse = div(1.0, a)
    by_order = neg(mul(square(inverse), _power_sum(inverse, [mul(float(k), t) for k, t in enumerate(terms) if k])))
    return add(mul(eta_dot, _power_sum(inverse, slopes)), by_order)


def _mu_over_eta(mu: Value, eta: Value) -> Value:
    return div(select(eq(eta, 0.0), 1.0, mu), select(eq(eta, 0.0), 1.0, eta))


def _power_sum(x: Value, terms: Sequence[Value]) -> Value:
    """Return the sum of terms[k] x**k by Horner's rule."""
    total = terms[-1]
    for term in terms[-2::-1]:
        total = add(mul(total, x), term)
    return total


def _gamma_regions(a: Value, x: Value) -> tuple[Value, Value]:
    """Tell where the uniform expansion and the power series hold; the continued fraction does elsewhere."""
    is_uniform = bitwise_and(gt(a, _UNIFORM), lt(abs(sub(x, a)), mul(0.3, a)))
    is_series = bitwise_and(bitwise_or(le(x, a), le(x, 1.1)), bitwise_not(is_uniform))
    return is_uniform, is_series


def _checked(a: Value, x: Value, at_zero: float, at_infinity: float, out: Value) -> Value:
    """Return `out` with its limits at x = 0, x = inf and a = inf, and NaN where a <= 0 or x < 0."""
    out = select(eq(x, 0.0), at_zero, select(eq(a, math.inf), at_zero, select(eq(x, math.inf), at_infinity, out)))
    is_valid = bitwise_and(bitwise_and(gt(a, 0.0), ge(x, 0.0)), bitwise_not(bitwise_and(eq(a, math.inf), eq(x, a))))
    return select(is_valid, out, math.nan)


def _with_order_zero(a: Value, x: Value, limit: float, out: Value) -> Value:
    """Return `out` with its limit for x > 0 at a = 0, where all mass is at 0."""
    return select(bitwise_and(eq(a, 0.0), gt(x, 0.0)), limit, out)


# Each method takes the whole arrays, with harmless numbers in place of elements of other methods.


def _by_expansion(a: Value, x: Value) -> tuple[Value, Value]:
    """Return the argument and the correction of P = erfc(-argument) / 2 - correction."""
    eta, front, terms = _temme(a, x)
    return mul(eta, sqrt(mul(0.5, a))), mul(front, _power_sum(div(1.0, a), terms))


def _by_series(a: Value, x: Value) -> tuple[Value]:
    """Return P."""
    return (mul(_gamma_density(a, x), _gamma_series(a, x)),)


def _by_fraction(a: Value, x: Value) -> tuple[Value]:
    """Return Q."""
    return (mul(mul(_gamma_density(a, x), a), _gamma_fraction(a, x)),)


def _by_difference(a: Value, x: Value) -> tuple[Value]:
    """Return Q of small orders."""
    return (_upper_gamma_of_small(a, x),)


def _lower_gamma(a: Value, x: Value) -> Value:
    """Return P(a, x)."""
    is_uniform, is_series, argument, correction, lower, upper = _gamma_parts(a, x)
    uniform = sub(mul(0.5, erfc(neg(argument))), correction)
    return select(is_uniform, uniform, select(is_series, lower, sub(1.0, upper)))


def _upper_gamma(a: Value, x: Value) -> Value:
    """Return Q(a, x)."""
    is_uniform, is_series, argument, correction, lower, upper = _gamma_parts(a, x)
    uniform = add(mul(0.5, erfc(argument)), correction)
    out = select(is_uniform, uniform, select(is_series, sub(1.0, lower), upper))
    is_small = bitwise_and(
        le(x, 1.1), bitwise_and(lt(a, 1.0), lt(a, select(le(x, 0.5), div(-0.4, log(x)), mul(1.1, x))))
    )
    (small,) = where_any(is_small, _by_difference, 1, select(is_small, a, 0.5), select(is_small, x, 0.5))
    return select(is_small, small, out)


def _gamma_parts(a: Value, x: Value) -> tuple[Value, ...]:
    """Return where the expansion and the series hold, and the results of the expansion, the series, the fraction."""
    is_uniform, is_series = _gamma_regions(a, x)
    is_fraction = bitwise_not(bitwise_or(is_uniform, is_series))
    large = [select(is_uniform, a, _UNIFORM), select(is_uniform, x, _UNIFORM)]
    argument, correction = where_any(is_uniform, _by_expansion, 2, *large)
    (lower,) = where_any(is_series, _by_series, 1, select(is_series, a, 1.0), select(is_series, x, 0.0))
    (upper,) = where_any(is_fraction, _by_fraction, 1, select(is_fraction, a, 1.0), select(is_fraction, x, 8.0))
    return is_uniform, is_series, argument, correction, lower, upper


def _upper_gamma_of_small(a: Value, x: Value) -> Value:
    """Return Q for x <= 1.1 and small a, where 1 - P cancels: 1 - x**a / gamma(1 + a) is an expm1 (DLMF 8.7.1)."""
    logarithm = add(mul(a, log(x)), minus_log_gamma_after(a))
    term, total = full_like(x, 1.0), full_like(x, 0.0)
    for n in range(1, 21):
        term = mul(term, div(neg(x), float(n)))
        total = add(total, div(term, add(a, float(n))))
    return neg(add(expm1(logarithm), mul(mul(exp(logarithm), a), total)))


def _igamma_formula(a: Value, x: Value) -> Value:
    a, x = broadcast_operands("igamma", (a, x))
    return _with_order_zero(a, x, 1.0, _checked(a, x, 0.0, 1.0, _lower_gamma(a, x)))


def _igammac_formula(a: Value, x: Value) -> Value:
    a, x = broadcast_operands("igammac", (a, x))
    return _with_order_zero(a, x, 0.0, _checked(a, x, 1.0, 0.0, _upper_gamma(a, x)))


def _slope_by_expansion(a: Value, x: Value) -> tuple[Value]:
    """Return minus the derivative of P in a."""
    return (mul(*_factors_by_expansion(a, x)),)


def _factors_by_expansion(a: Value, x: Value) -> tuple[Value, Value]:
    """Return two factors of minus the derivative of P in a; the first one is that of `_temme`."""
    eta, front, terms = _temme(a, x)
    mu = div(sub(x, a), a)
    total, total_dot = _power_sum(div(1.0, a), terms), _temme_slope(a, mu, eta, terms)
    turn = sub(_mu_over_eta(mu, eta), mul(0.5, eta))
    return front, add(turn, add(mul(total, sub(log1p(mu), div(0.5, a))), total_dot))


def _slope_by_series(a: Value, x: Value) -> tuple[Value]:
    """Return the derivative of P in a."""
    tail, tail_dot = _gamma_series_slope(a, x)
    by_density = mul(add(1.0, tail), sub(log(x), digamma_formula(add(a, 1.0))))
    return (mul(_gamma_density(a, x), add(by_density, tail_dot)),)


def _slope_by_fraction(a: Value, x: Value) -> tuple[Value]:
    """Return the derivative of Q in a."""
    fraction, fraction_dot = _gamma_fraction_slope(a, x)
    turn = sub(mul(a, sub(log(x), digamma_formula(add(a, 1.0)))), -1.0)  # a (log(x) - digamma(a)), finite for tiny a
    return (mul(_gamma_density(a, x), add(mul(fraction, turn), mul(a, fraction_dot))),)


def _lower_slope(a: Value, x: Value) -> Value:
    """Return the derivative of P in a."""
    is_uniform, is_series = _gamma_regions(a, x)
    is_fraction = bitwise_not(bitwise_or(is_uniform, is_series))
    large = [select(is_uniform, a, _UNIFORM), select(is_uniform, x, _UNIFORM)]
    (uniform,) = where_any(is_uniform, _slope_by_expansion, 1, *large)
    (lower,) = where_any(is_series, _slope_by_series, 1, select(is_series, a, 1.0), select(is_series, x, 0.5))
    (upper,) = where_any(is_fraction, _slope_by_fraction, 1, select(is_fraction, a, 1.0), select(is_fraction, x, 8.0))
    return select(is_uniform, neg(uniform), select(is_series, lower, neg(upper)))


def _igamma_grad_a_formula(a: Value, x: Value) -> Value:
    a, x = broadcast_operands("igamma_grad_a", (a, x))
    return _checked(a, x, 0.0, 0.0, _lower_slope(a, x))


# The derivatives of a sample x in a, at a fixed quantile: -(dP / da) / (dP / dx).  In that of log(x), the density
# x**a exp(-x) / gamma(a) in front of dP / da and of x dP / dx cancels, so that none of it over- or underflows.


def _sample_by_expansion(a: Value, x: Value, log_x: Value) -> Values:
    _, slope = _factors_by_expansion(a, x)
    slope = div(mul(slope, exp(stirling_series(a))), a)
    return slope, slope


def _sample_by_series(a: Value, x: Value, log_x: Value) -> Values:
    tail, tail_dot = _gamma_series_slope(a, x)
    mean = digamma_formula(add(a, 1.0))
    slope = div(sub(mul(add(1.0, tail), sub(mean, log_x)), tail_dot), a)
    scaled = sub(mul(add(1.0, tail), mean), add(mul(tail, max(log_x, _LEAST_LOG)), tail_dot))
    return slope, select(lt(a, 1.0), scaled, slope)


def _sample_by_fraction(a: Value, x: Value, log_x: Value) -> Values:
    fraction, fraction_dot = _gamma_fraction_slope(a, x)
    slope = add(mul(fraction, sub(log_x, digamma_formula(a))), fraction_dot)
    return slope, select(lt(a, 1.0), add(log_x, mul(a, slope)), slope)


_LEAST_LOG = -1e4  # x is 0 long before, and so is `tail`


def log_sample_slopes(a: Value, x: Value, log_x: Value) -> tuple[Value, Value]:
    """Return the derivatives in a > 0 of log(x) and of min(a, 1) log(x), for a gamma-distributed x at a fixed quantile.

    The second one is moderate where `a` is small, and x**a is distributed almost uniformly.  Operands have one shape;
    x = 0 stands for a number that is too small for its dtype.
    """
    is_uniform, is_series = _gamma_regions(a, x)
    is_fraction = bitwise_not(bitwise_or(is_uniform, is_series))
    slopes = [
        where_any(is_here, method, 2, select(is_here, a, usual), select(is_here, x, at), select(is_here, log_x, 0.0))
        for is_here, method, usual, at in (
            (is_uniform, _sample_by_expansion, _UNIFORM, _UNIFORM),
            (is_series, _sample_by_series, 1.0, 0.5),
            (is_fraction, _sample_by_fraction, 1.0, 8.0),
        )
    ]
    uniform, lower, upper = slopes
    return tuple(select(is_uniform, u, select(is_series, v, w)) for u, v, w in zip(uniform, lower, upper))


def _random_gamma_grad_formula(a: Value, x: Value) -> Value:
    a, x = broadcast_operands("random_gamma_grad", (a, x))
    return _checked(a, x, 0.0, math.nan, mul(x, log_sample_slopes(a, x, log(x))[0]))


igamma_p = declare_formula("igamma", _igamma_formula)
igammac_p = declare_formula("igammac", _igammac_formula)
igamma_grad_a_p = declare_formula("igamma_grad_a", _igamma_grad_a_formula)
random_gamma_grad_p = declare_formula("random_gamma_grad", _random_gamma_grad_formula)


def igamma(a: Value, x: Value) -> Value:
    """Return the regularized lower incomplete gamma function P(a, x), elementwise.

    1 where a = 0 < x, and NaN where a < 0, x < 0 or both are 0.
    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.
    Accuracy: 32 ulp, times the exponent 1 - log(P).
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import igamma
    >>> igamma(1.0, np.array([0.0, 1.0, np.inf]))
    array([0.        , 0.63212056, 1.        ])
    """
    return igamma_p.bind(*insist("igamma", FLOAT, *floating_pair("igamma", a, x)))


def igammac(a: Value, x: Value) -> Value:
    """Return the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), elementwise.

    0 where a = 0 < x, and NaN where a < 0, x < 0 or both are 0.
    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.
    Accuracy: 32 ulp, times the exponent 1 - log(Q).
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import igammac
    >>> igammac(1.0, np.array([0.0, 1.0, 100.0]))
    array([1.00000000e+00, 3.67879441e-01, 3.72007598e-44])
    """
    return igammac_p.bind(*insist("igammac", FLOAT, *floating_pair("igammac", a, x)))


def igamma_grad_a(a: Value, x: Value) -> Value:
    """Return the derivative of igamma(a, x) in a, elementwise: NaN where a <= 0 or x < 0.

    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.
    Accuracy: 64 ulp, times the exponents of `igamma` and `igammac`.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import igamma_grad_a
    >>> igamma_grad_a(1.0, np.array([0.0, 1.0]))
    array([ 0.        , -0.43172971])
    """
    return igamma_grad_a_p.bind(*insist("igamma_grad_a", FLOAT, *floating_pair("igamma_grad_a", a, x)))


def random_gamma_grad(a: Value, sample: Value) -> Value:
    """Return the derivative in a of a sample of the gamma distribution of order a, at a fixed quantile, elementwise.

    NaN where a <= 0 or the sample is negative.
    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.  Accuracy: as `igamma_grad_a`.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.
    Source: Figurnov, Mohamed & Mnih (2018), Implicit reparameterization gradients.

    >>> import numpy as np
    >>> from calque_core.lax import random_gamma_grad
    >>> random_gamma_grad(1.0, np.array([0.5, 1.0]))
    array([0.80697912, 1.17356303])
    """
    operands = floating_pair("random_gamma_grad", a, sample)
    return random_gamma_grad_p.bind(*insist("random_gamma_grad", FLOAT, *operands))
