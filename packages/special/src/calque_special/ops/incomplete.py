"""The incomplete gamma functions, and their derivatives in the order.

One idea: a density in front, which is a sum of deviations without cancellation (`deviance`), times a power series, a
continued fraction or, for large orders, Temme's uniform expansion.

They are elementwise primitives, and each is a formula in other operations (`calque_core.engine.declare_formula`).

Read next: `incomplete_methods.py`, these methods.
"""

from __future__ import annotations

import math
from typing import Any

from calque_core.engine import declare_formula
from calque_core.extend import broadcast_operands, real_operands
from calque_core.lax import (
    abs,
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    div,
    eq,
    erfc,
    exp,
    expm1,
    full_like,
    ge,
    gt,
    le,
    log,
    log1p,
    lt,
    max,
    mul,
    neg,
    select,
    sqrt,
    sub,
)
from calque_special.ops.gamma import digamma_formula, minus_log_gamma_after, stirling_series
from calque_special.ops.incomplete_methods import (
    UNIFORM,
    front_density,
    gamma_fraction,
    gamma_fraction_slope,
    gamma_series,
    gamma_series_slope,
    mu_over_eta,
    power_sum,
    temme,
    temme_slope,
)
from calque_special.ops.sums import where_any

Value = Any
Values = tuple[Value, ...]


def _gamma_regions(a: Value, x: Value) -> tuple[Value, Value]:
    """Tell where the uniform expansion and the power series hold; the continued fraction does elsewhere."""
    is_uniform = bitwise_and(gt(a, UNIFORM), lt(abs(sub(x, a)), mul(0.3, a)))
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
    eta, front, terms = temme(a, x)
    return mul(eta, sqrt(mul(0.5, a))), mul(front, power_sum(div(1.0, a), terms))


def _by_series(a: Value, x: Value) -> tuple[Value]:
    """Return P."""
    return (mul(front_density(a, x), gamma_series(a, x)),)


def _by_fraction(a: Value, x: Value) -> tuple[Value]:
    """Return Q."""
    return (mul(mul(front_density(a, x), a), gamma_fraction(a, x)),)


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
    large = [select(is_uniform, a, UNIFORM), select(is_uniform, x, UNIFORM)]
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
    """Return two factors of minus the derivative of P in a; the first one is that of `temme`."""
    eta, front, terms = temme(a, x)
    mu = div(sub(x, a), a)
    total, total_dot = power_sum(div(1.0, a), terms), temme_slope(a, mu, eta, terms)
    turn = sub(mu_over_eta(mu, eta), mul(0.5, eta))
    return front, add(turn, add(mul(total, sub(log1p(mu), div(0.5, a))), total_dot))


def _slope_by_series(a: Value, x: Value) -> tuple[Value]:
    """Return the derivative of P in a."""
    tail, tail_dot = gamma_series_slope(a, x)
    by_density = mul(add(1.0, tail), sub(log(x), digamma_formula(add(a, 1.0))))
    return (mul(front_density(a, x), add(by_density, tail_dot)),)


def _slope_by_fraction(a: Value, x: Value) -> tuple[Value]:
    """Return the derivative of Q in a."""
    fraction, fraction_dot = gamma_fraction_slope(a, x)
    turn = sub(mul(a, sub(log(x), digamma_formula(add(a, 1.0)))), -1.0)  # a (log(x) - digamma(a)), finite for tiny a
    return (mul(front_density(a, x), add(mul(fraction, turn), mul(a, fraction_dot))),)


def _lower_slope(a: Value, x: Value) -> Value:
    """Return the derivative of P in a."""
    is_uniform, is_series = _gamma_regions(a, x)
    is_fraction = bitwise_not(bitwise_or(is_uniform, is_series))
    large = [select(is_uniform, a, UNIFORM), select(is_uniform, x, UNIFORM)]
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
    tail, tail_dot = gamma_series_slope(a, x)
    mean = digamma_formula(add(a, 1.0))
    slope = div(sub(mul(add(1.0, tail), sub(mean, log_x)), tail_dot), a)
    scaled = sub(mul(add(1.0, tail), mean), add(mul(tail, max(log_x, _LEAST_LOG)), tail_dot))
    return slope, select(lt(a, 1.0), scaled, slope)


def _sample_by_fraction(a: Value, x: Value, log_x: Value) -> Values:
    fraction, fraction_dot = gamma_fraction_slope(a, x)
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
            (is_uniform, _sample_by_expansion, UNIFORM, UNIFORM),
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
    >>> from calque_special import igamma
    >>> igamma(1.0, np.array([0.0, 1.0, np.inf]))
    array([0.        , 0.63212056, 1.        ])
    """
    return igamma_p.bind(*real_operands("igamma", a, x))


def igammac(a: Value, x: Value) -> Value:
    """Return the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), elementwise.

    0 where a = 0 < x, and NaN where a < 0, x < 0 or both are 0.
    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.
    Accuracy: 32 ulp, times the exponent 1 - log(Q).
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_special import igammac
    >>> igammac(1.0, np.array([0.0, 1.0, 100.0]))
    array([1.00000000e+00, 3.67879441e-01, 3.72007598e-44])
    """
    return igammac_p.bind(*real_operands("igammac", a, x))


def igamma_grad_a(a: Value, x: Value) -> Value:
    """Return the derivative of igamma(a, x) in a, elementwise: NaN where a <= 0 or x < 0.

    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.
    Accuracy: 64 ulp, times the exponents of `igamma` and `igammac`.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_special import igamma_grad_a
    >>> igamma_grad_a(1.0, np.array([0.0, 1.0]))
    array([ 0.        , -0.43172971])
    """
    return igamma_grad_a_p.bind(*real_operands("igamma_grad_a", a, x))


def random_gamma_grad(a: Value, sample: Value) -> Value:
    """Return the derivative in a of a sample of the gamma distribution of order a, at a fixed quantile, elementwise.

    NaN where a <= 0 or the sample is negative.
    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.  Accuracy: as `igamma_grad_a`.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.
    Source: Figurnov, Mohamed & Mnih (2018), Implicit reparameterization gradients.

    >>> import numpy as np
    >>> from calque_special import random_gamma_grad
    >>> random_gamma_grad(1.0, np.array([0.5, 1.0]))
    array([0.80697912, 1.17356303])
    """
    return random_gamma_grad_p.bind(*real_operands("random_gamma_grad", a, sample))
