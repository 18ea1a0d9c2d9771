"""The derivatives of powers, roots, exponentials and logarithms."""

from __future__ import annotations

import math
from builtins import abs as abs_of_number
from typing import Any

from calque_core import finfo, typeof
from calque_core.engine import SCALAR_TYPES
from calque_core.extend import defjvp, not_linear, zero_tangent
from calque_core.lax import (
    abs,
    add,
    bitwise_and,
    cbrt_p,
    div,
    eq,
    exp,
    exp2,
    exp2_p,
    exp_p,
    expm1_p,
    le,
    log,
    log1p_p,
    log_p,
    lt,
    mul,
    ne,
    pow,
    pow_p,
    rsqrt_p,
    select,
    sqrt_p,
    square,
    sub,
)

Value = Any

# Powers and roots


def pow_jvp_base(x_dot: Value, out: Value, x: Value, y: Value) -> Value:
    """Multiply by y x**(y - 1), which is 0 for y = 0 also where x is so small that x**(y - 1) is not finite."""
    if type(y) in SCALAR_TYPES:
        if y == 0.0:
            return zero_tangent(out)
        kind = typeof(out).dtype.type
        if abs_of_number(y) >= 1.0 or typeof(out).kind == "c":
            return mul(x_dot, mul(y, pow(x, kind(y - 1.0))))
        half = pow(x, kind(0.5 * (y - 1.0)))  # the power itself overflows where y times it is finite
        return mul(x_dot, mul(mul(y, half), half))
    size = abs(x)
    is_tiny = le(size, 1.0 / float(finfo(typeof(size).dtype).max))
    is_zero = bitwise_and(is_tiny, eq(y, 0.0))
    power = select(is_zero, 0.0, sub(y, 1.0))
    is_root = bitwise_and(lt(abs(y), 1.0), ne(y, 0.0))  # as above, its power is the square of a half
    factor = pow(x, select(is_root, mul(0.5, power), power))
    return mul(x_dot, mul(mul(y, factor), select(is_root, factor, 1.0)))


def pow_jvp_exponent(y_dot: Value, out: Value, x: Value, y: Value) -> Value:
    """Multiply by log(x) x**y, which is 0 where x = 0."""
    return mul(y_dot, mul(log(select(eq(x, 0.0), 1.0, x)), out))


defjvp(sqrt_p, lambda x_dot, out, x: mul(x_dot, div(0.5, out)))
defjvp(rsqrt_p, lambda x_dot, out, x: mul(x_dot, div(mul(-0.5, out), x)))
defjvp(cbrt_p, lambda x_dot, out, x: div(x_dot, mul(3.0, square(out))))
defjvp(pow_p, pow_jvp_base, pow_jvp_exponent)
not_linear(sqrt_p, rsqrt_p, cbrt_p, pow_p)

# Exponentials and logarithms

LOG2 = math.log(2)

defjvp(exp_p, lambda x_dot, out, x: mul(x_dot, out))
# The power below is finite where the derivative is and 2**x is not.
defjvp(exp2_p, lambda x_dot, out, x: mul(x_dot, mul(2.0 * LOG2, exp2(sub(x, 1.0)))))
defjvp(expm1_p, lambda x_dot, out, x: mul(x_dot, exp(x)))
defjvp(log_p, lambda x_dot, out, x: div(x_dot, x))
defjvp(log1p_p, lambda x_dot, out, x: div(x_dot, add(x, 1.0)))
not_linear(exp_p, exp2_p, expm1_p, log_p, log1p_p)
