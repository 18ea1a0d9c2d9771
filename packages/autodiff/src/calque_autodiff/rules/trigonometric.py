"""The derivatives of trigonometric functions.

The squares of large operands overflow, and differences from 1 cancel: the formulas avoid both.
"""

from __future__ import annotations

from typing import Any

from calque_core import finfo, typeof
from calque_core.extend import defjvp, not_linear
from calque_core.lax import (
    abs,
    acos_p,
    add,
    asin_p,
    atan2_p,
    atan_p,
    cos,
    cos_p,
    div,
    gt,
    lt,
    max,
    mul,
    neg,
    rsqrt,
    select,
    sin,
    sin_p,
    square,
    sub,
    tan_p,
)

Value = Any

# Circular functions

defjvp(sin_p, lambda x_dot, out, x: mul(x_dot, cos(x)))
defjvp(cos_p, lambda x_dot, out, x: mul(x_dot, neg(sin(x))))
defjvp(tan_p, lambda x_dot, out, x: mul(x_dot, add(1.0, square(out))))
not_linear(sin_p, cos_p, tan_p)

# Inverses of the circular functions


def one_minus_square(x: Value) -> Value:
    """Return 1 - x**2 with all digits near 1; near 0 as a square, since the derivatives of the factors cancel there."""
    factors = mul(sub(1.0, x), add(1.0, x))
    return factors if typeof(x).kind == "c" else select(lt(abs(x), 0.5), sub(1.0, square(x)), factors)


def atan_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    """Multiply by 1 / (1 + x**2); beyond 1 by v**2 / (1 + v**2), v = 1 / x, whose derivatives do not underflow."""
    if typeof(x).kind == "c":
        return div(x_dot, add(1.0, square(x)))
    is_far = gt(abs(x), 1.0)
    near, power = select(is_far, 0.0, x), square(div(1.0, select(is_far, x, 1.0)))
    return mul(x_dot, select(is_far, div(power, add(1.0, power)), div(1.0, add(1.0, square(near)))))


def turn(x: Value, y: Value) -> tuple[Value, Value]:
    """Return (y, x) / (x**2 + y**2): both are divided by the larger, so that no square overflows.

    Tiny operands are scaled by a power of two: a factor of the derivative would overflow where the derivative does not.
    """
    info, number = finfo(typeof(x).dtype), typeof(x).dtype.type
    is_tiny = lt(max(abs(x), abs(y)), float(info.tiny) ** 0.375)
    scale = select(is_tiny, number(2.0 ** (-int(info.minexp) // 2)), number(1.0))
    x, y = mul(x, scale), mul(y, scale)
    is_steep = gt(abs(x), abs(y))
    larger, smaller = select(is_steep, x, y), select(is_steep, y, x)
    ratio = div(smaller, larger)
    length = mul(larger, add(1.0, square(ratio)))
    long, short = div(1.0, length), neg(div(neg(ratio), length))  # XLA would join two quotients without the sign
    return mul(select(is_steep, short, long), scale), mul(select(is_steep, long, short), scale)


defjvp(asin_p, lambda x_dot, out, x: mul(x_dot, rsqrt(one_minus_square(x))))
defjvp(acos_p, lambda x_dot, out, x: mul(x_dot, neg(rsqrt(one_minus_square(x)))))
defjvp(atan_p, atan_jvp)
defjvp(
    atan2_p,
    lambda x_dot, out, x, y: mul(x_dot, turn(x, y)[0]),
    lambda y_dot, out, x, y: mul(y_dot, neg(turn(x, y)[1])),
)
not_linear(asin_p, acos_p, atan_p, atan2_p)
