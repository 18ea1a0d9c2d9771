"""The derivative of the incomplete beta function: in the limit of the integral, the density."""

from __future__ import annotations

from typing import Any

from calque_core.extend import defbroadcasting, defjvp, not_linear
from calque_core.lax import add, bitwise_and, eq, exp, full_like, gt, log1p, lt, mul, neg, pow, select, sub, zeros_like
from calque_special.ops.gamma import lgamma
from calque_special.ops.incomplete_beta import regularized_incomplete_beta_p
from calque_special.rules.gamma import underivable
from calque_special.rules.incomplete import one_is_infinite, power_logarithm

Value = Any


def beta_density(a: Value, b: Value, x: Value) -> Value:
    """Return x**(a - 1) (1 - x)**(b - 1) / beta(a, b), which is 0 inside if one of a and b is infinite."""
    is_far = bitwise_and(one_is_infinite(a, b), gt(mul(x, sub(1.0, x)), 0.0))
    a, b = (select(is_far, full_like(y, 1.0), y) for y in (a, b))  # no nan for the derivative to meet
    is_end = bitwise_and(eq(b, 1.0), eq(x, 1.0))
    log_power = mul(sub(b, 1.0), log1p(neg(select(is_end, 0.0, x))))
    log_factor = sub(log_power, sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b))))
    is_power = lt(a, 8.0)  # the square of a half, whose power is finite; a logarithm would lose digits in the exponent
    power = pow(select(is_power, x, 1.0), mul(0.5, sub(select(is_power, a, 1.0), 1.0)))
    exponent = select(is_power, 0.0, power_logarithm(sub(a, 1.0), x))
    half = mul(power, exp(mul(0.5, add(log_factor, exponent))))
    density = mul(half, half)
    return select(is_far, zeros_like(density), density)


defjvp(
    regularized_incomplete_beta_p,
    underivable(regularized_incomplete_beta_p, "the parameter a"),
    underivable(regularized_incomplete_beta_p, "the parameter b"),
    lambda x_dot, out, a, b, x: mul(x_dot, beta_density(a, b, x)),
)
not_linear(regularized_incomplete_beta_p)

# The batch axis is one more axis.
defbroadcasting(regularized_incomplete_beta_p)
