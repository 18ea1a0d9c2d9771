"""Functions of one element, by their first two derivatives: a page of a table of derivatives.

Each entry returns f'(x) and f''(x) from x and y = f(x).  The formulas hold for complex numbers, too.
"""

from __future__ import annotations

from math import log as log_of_number
from math import pi
from math import sqrt as sqrt_of_number

from calque_core import lax
from calque_core.lax import add, cos, cosh, div, exp, integer_pow, mul, neg, rsqrt, sin, sinh, square, sub, tanh
from calque_laplacian.triple import Part, Value, defelementwise

Pair = tuple[Value, Part]

# Powers and roots


def whole_power(x: Value, out: Value, *, y: int) -> Pair:
    """Return n x**(n - 1) and n (n - 1) x**(n - 2), for n = 0 and n = 1 without a division by zero."""
    if y in (0, 1):
        return (lax.ones_like(x) if y else lax.zeros_like(x)), None
    return mul(float(y), integer_pow(x, y - 1)), mul(float(y * (y - 1)), integer_pow(x, y - 2))


defelementwise(lax.square_p, lambda x, y: (mul(2.0, x), lax.full_like(x, 2.0)))
defelementwise(lax.integer_pow_p, whole_power)
defelementwise(lax.sqrt_p, lambda x, y: (div(0.5, y), div(-0.25, mul(x, y))))
defelementwise(lax.rsqrt_p, lambda x, y: (div(mul(-0.5, y), x), div(div(mul(0.75, y), x), x)))
defelementwise(lax.cbrt_p, lambda x, y: (div(1 / 3, square(y)), div(-2 / 9, mul(x, square(y)))))

# Exponentials and logarithms

LOG2 = log_of_number(2)


def of_logarithm(r: Value) -> Pair:
    """Return the derivatives of log, for r = 1 / x."""
    return r, neg(square(r))


defelementwise(lax.exp_p, lambda x, y: (y, y))
defelementwise(lax.exp2_p, lambda x, y: (mul(LOG2, y), mul(LOG2 * LOG2, y)))
defelementwise(lax.expm1_p, lambda x, y: (exp(x), exp(x)))
defelementwise(lax.log_p, lambda x, y: of_logarithm(lax.reciprocal(x)))
defelementwise(lax.log1p_p, lambda x, y: of_logarithm(lax.reciprocal(add(x, 1.0))))

# Circular functions and their inverses


def of_slope(x: Value, slope: Value, factor: float, power: int) -> Pair:
    """Return a derivative r and the next one, factor x r**power."""
    return slope, mul(mul(factor, x), integer_pow(slope, power))


def root_of_one_minus_square(x: Value) -> Value:
    """Return (1 - x**2)**(-1/2), with all digits near 1."""
    return rsqrt(mul(sub(1.0, x), add(1.0, x)))


defelementwise(lax.sin_p, lambda x, y: (cos(x), neg(y)))
defelementwise(lax.cos_p, lambda x, y: (neg(sin(x)), neg(y)))
defelementwise(lax.tan_p, lambda x, y: of_slope(y, add(1.0, square(y)), 2.0, 1))
defelementwise(lax.asin_p, lambda x, y: of_slope(x, root_of_one_minus_square(x), 1.0, 3))
defelementwise(lax.acos_p, lambda x, y: of_slope(x, neg(root_of_one_minus_square(x)), 1.0, 3))
defelementwise(lax.atan_p, lambda x, y: of_slope(x, lax.reciprocal(add(1.0, square(x))), -2.0, 2))

# Hyperbolic functions and their inverses


def of_tanh_slope(x: Value, y: Value) -> Pair:
    """Return -2 t y and (4 t**2 - 2 y) y, for t = tanh(x)."""
    t = tanh(x)
    return mul(mul(-2.0, t), y), mul(sub(mul(4.0, square(t)), mul(2.0, y)), y)


defelementwise(lax.sinh_p, lambda x, y: (cosh(x), y))
defelementwise(lax.cosh_p, lambda x, y: (sinh(x), y))
defelementwise(lax.tanh_p, lambda x, y: of_slope(y, lax.tanh_slope(x), -2.0, 1))
defelementwise(lax.tanh_slope_p, of_tanh_slope)
defelementwise(lax.asinh_p, lambda x, y: of_slope(x, rsqrt(add(1.0, square(x))), -1.0, 3))
defelementwise(lax.acosh_p, lambda x, y: of_slope(x, mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0))), -1.0, 3))
defelementwise(lax.atanh_p, lambda x, y: of_slope(x, lax.reciprocal(mul(sub(1.0, x), add(1.0, x))), 2.0, 2))

# Logistic and error functions


def of_logistic_slope(x: Value, y: Value) -> Pair:
    """Return -t y and (t**2 - 2 y) y, for t = tanh(x / 2)."""
    t = tanh(mul(0.5, x))
    return neg(mul(t, y)), mul(sub(square(t), mul(2.0, y)), y)


def of_gaussian(x: Value, factor: float) -> Pair:
    """Return g = factor exp(-x**2) and -2 x g; of larger numbers those of 100, which are 0, at infinity too."""
    x = lax.clamp(-100.0, x, 100.0)
    return of_slope(x, mul(factor, exp(neg(square(x)))), -2.0, 1)


defelementwise(lax.logistic_p, lambda x, y: of_slope(tanh(mul(0.5, x)), lax.logistic_slope(x), -1.0, 1))
defelementwise(lax.logistic_slope_p, of_logistic_slope)
defelementwise(lax.erf_p, lambda x, y: of_gaussian(x, 2 / sqrt_of_number(pi)))
defelementwise(lax.erfc_p, lambda x, y: of_gaussian(x, -2 / sqrt_of_number(pi)))
defelementwise(lax.erf_inv_p, lambda x, y: of_slope(y, mul(sqrt_of_number(pi) / 2, exp(square(y))), 2.0, 2))
