"""The derivatives of the incomplete gamma functions: in the limit of the integral, the density."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core import finfo, typeof
from calque_core.extend import defbroadcasting, defjvp, not_linear
from calque_core.lax import (
    add,
    bitwise_and,
    div,
    eq,
    exp,
    full_like,
    log,
    lt,
    min,
    mul,
    ne,
    neg,
    pow,
    select,
    sqrt,
    sub,
    zeros_like,
)
from calque_special.ops.deviances import damping
from calque_special.ops.gamma import digamma, gamma_of, stirling_series
from calque_special.ops.incomplete import igamma_grad_a, igamma_grad_a_p, igamma_p, igammac_p, random_gamma_grad_p
from calque_special.rules.gamma import underivable

Value = Any


def power_logarithm(exponent: Value, x: Value) -> Value:
    """Return exponent * log(x), which is 0 for the exponent 0 also where x = 0."""
    return mul(exponent, log(select(bitwise_and(eq(exponent, 0.0), eq(x, 0.0)), 1.0, x)))


def gamma_density(a: Value, x: Value) -> Value:
    """Return x**(a - 1) exp(-x) / gamma(a), which is 0 if one of the two is infinite."""
    is_far = one_is_infinite(a, x)
    a, x = (select(is_far, full_like(y, 1.0), y) for y in (a, x))  # no nan for the derivative to meet
    is_small = lt(a, LARGE)
    small = density_of_small(select(is_small, a, 1.0), select(is_small, x, 1.0))
    large = density_of_large(select(is_small, LARGE, a), select(is_small, LARGE, x))
    density = select(is_small, small, large)
    return select(is_far, zeros_like(density), density)


LARGE = 8.0  # from here on Stirling's series has all digits


def density_of_small(a: Value, x: Value) -> Value:
    """Return the density as the square of a half: its power is finite where the density is."""
    x = min(x, 1000.0)  # exp(-x) is 0 long before
    half = mul(pow(x, mul(0.5, sub(a, 1.0))), exp(mul(-0.5, x)))
    return mul(mul(half, div(a, gamma_of(add(a, 1.0)))), half)


def density_of_large(a: Value, x: Value) -> Value:
    """Return the density from the deviance of x from a: no large terms of an exponent cancel."""
    least = 0.5 * float(finfo(typeof(x).dtype).tiny) ** (1 / (LARGE - 1.0))
    is_tiny = lt(x, least)  # the power underflows
    x = select(is_tiny, least, x)
    peak = mul(sqrt(mul(a, 0.5 / math.pi)), exp(neg(stirling_series(a))))
    return select(is_tiny, 0.0, mul(div(damping(a, div(sub(x, a), a), div(x, a)), x), peak))


def one_is_infinite(x: Value, y: Value) -> Value:
    """Tell whether one of two numbers that are not negative is infinite, and the other one is not."""
    return ne(eq(x, np.inf), eq(y, np.inf))


defjvp(
    igamma_p,
    lambda a_dot, out, a, x: mul(a_dot, igamma_grad_a(a, x)),
    lambda x_dot, out, a, x: mul(x_dot, gamma_density(a, x)),
)
defjvp(
    igammac_p,
    lambda a_dot, out, a, x: mul(a_dot, neg(igamma_grad_a(a, x))),
    lambda x_dot, out, a, x: mul(x_dot, neg(gamma_density(a, x))),
)
defjvp(
    igamma_grad_a_p,
    underivable(igamma_grad_a_p, "the order a"),
    lambda x_dot, out, a, x: mul(x_dot, mul(gamma_density(a, x), sub(log(x), digamma(a)))),
)
defjvp(
    random_gamma_grad_p,
    underivable(random_gamma_grad_p, "the order a"),
    underivable(random_gamma_grad_p, "the sample"),
)
not_linear(igamma_p, igammac_p, igamma_grad_a_p, random_gamma_grad_p)

# The batch axis is one more axis.
defbroadcasting(igamma_p, igammac_p, igamma_grad_a_p, random_gamma_grad_p)
