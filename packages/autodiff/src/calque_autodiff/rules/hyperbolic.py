"""The derivatives of hyperbolic functions.

The squares of large operands overflow, and differences from 1 cancel: the formulas avoid both.
"""

from __future__ import annotations

from typing import Any

from calque_core import finfo, typeof
from calque_core.extend import defjvp, late_function, not_linear
from calque_core.lax import (
    abs,
    acosh_p,
    add,
    asinh_p,
    atanh_p,
    clamp,
    cosh,
    cosh_p,
    div,
    mul,
    rsqrt,
    sinh,
    sinh_p,
    sqrt,
    square,
    sub,
    tanh,
    tanh_p,
    tanh_slope,
    tanh_slope_p,
)

Value = Any

# Hyperbolic functions

defjvp(sinh_p, lambda x_dot, out, x: mul(x_dot, cosh(x)))
defjvp(cosh_p, lambda x_dot, out, x: mul(x_dot, sinh(x)))
defjvp(tanh_p, lambda x_dot, out, x: mul(x_dot, tanh_slope(x)))
defjvp(tanh_slope_p, lambda x_dot, out, x: mul(x_dot, mul(-2.0, mul(tanh(x), out))))
not_linear(sinh_p, cosh_p, tanh_p, tanh_slope_p)

# Inverses of the hyperbolic functions


def asinh_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    """Divide by sqrt(1 + x**2), whose square would overflow for large real x: 1 is divided by the size first.

    The size is finite, since an infinity divided by another is NaN.
    """
    if typeof(x).kind == "c":
        return mul(x_dot, rsqrt(add(1.0, square(x))))
    size = clamp(1.0, abs(x), float(finfo(typeof(x).dtype).max))
    return div(x_dot, mul(size, sqrt(add(square(div(1.0, size)), square(div(x, size))))))


one_minus_square = late_function("calque_autodiff.rules.trigonometric", "one_minus_square")

defjvp(asinh_p, asinh_jvp)
defjvp(acosh_p, lambda x_dot, out, x: mul(x_dot, mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0)))))
defjvp(atanh_p, lambda x_dot, out, x: div(x_dot, one_minus_square(x)))
not_linear(asinh_p, acosh_p, atanh_p)
