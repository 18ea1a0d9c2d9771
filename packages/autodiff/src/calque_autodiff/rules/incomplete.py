"""The derivatives of the incomplete gamma functions: in the limit of the integral, the density."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_autodiff.define import defjvp, not_linear
from calque_autodiff.rules.gamma import underivable
from calque_core.lax import (
    bitwise_and,
    digamma,
    eq,
    exp,
    full_like,
    igamma_grad_a,
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    lgamma,
    log,
    mul,
    ne,
    neg,
    random_gamma_grad_p,
    select,
    sub,
    zeros_like,
)

Value = Any


def power_logarithm(exponent: Value, x: Value) -> Value:
    """Return exponent * log(x), which is 0 for the exponent 0 also where x = 0."""
    return mul(exponent, log(select(bitwise_and(eq(exponent, 0.0), eq(x, 0.0)), 1.0, x)))


def gamma_density(a: Value, x: Value) -> Value:
    """Return x**(a - 1) exp(-x) / gamma(a), which is 0 if one of the two is infinite."""
    is_far = one_is_infinite(a, x)
    a, x = (select(is_far, full_like(y, 1.0), y) for y in (a, x))  # no nan for the derivative to meet
    density = exp(sub(sub(power_logarithm(sub(a, 1.0), x), x), lgamma(a)))
    return select(is_far, zeros_like(density), density)


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
