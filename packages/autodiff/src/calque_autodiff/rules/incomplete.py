"""The derivatives of the incomplete gamma functions: in the limit of the integral, the density."""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import defjvp, not_linear
from calque_autodiff.rules.gamma import underivable
from calque_core.lax import (
    bitwise_and,
    digamma,
    eq,
    exp,
    igamma_grad_a,
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    lgamma,
    log,
    mul,
    neg,
    random_gamma_grad_p,
    select,
    sub,
)

Value = Any


def power_logarithm(exponent: Value, x: Value) -> Value:
    """Return exponent * log(x), which is 0 for the exponent 0 also where x = 0."""
    return mul(exponent, log(select(bitwise_and(eq(exponent, 0.0), eq(x, 0.0)), 1.0, x)))


def gamma_density(a: Value, x: Value) -> Value:
    """Return x**(a - 1) exp(-x) / gamma(a)."""
    return exp(sub(sub(power_logarithm(sub(a, 1.0), x), x), lgamma(a)))


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
