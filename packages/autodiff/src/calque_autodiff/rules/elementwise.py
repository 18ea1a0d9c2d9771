"""The derivatives of arithmetic, signs, powers, exponentials and trigonometry.

One idea: an elementwise primitive takes operands of equal shape or of rank 0; so the tangent of an operand of rank 0 is
`spread` over the result, and its cotangent is `summed_to` rank 0.

Conventions where a derivative does not exist: abs'(0) = 1 for real numbers and 0 for complex ones, and max and min
share equally at a tie.
"""

from __future__ import annotations

from typing import Any

from calque_autodiff.define import check_known, defbilinear, defjvp, deflinear, deftranspose, not_linear
from calque_core import UndefinedPrimal, typeof
from calque_core.lax import (
    abs,
    abs_p,
    add,
    add_any_p,
    add_p,
    bitwise_and,
    complex,
    conj,
    cos,
    cos_p,
    div,
    div_p,
    eq,
    exp,
    exp_p,
    expm1_p,
    ge,
    gt,
    imag,
    integer_pow,
    integer_pow_p,
    le,
    log,
    log1p_p,
    log_p,
    lt,
    max_p,
    min_p,
    mul,
    mul_p,
    neg,
    neg_p,
    pow,
    pow_p,
    real,
    reduce_sum,
    rem_p,
    round,
    rsqrt_p,
    select,
    sign,
    sign_p,
    sin,
    sin_p,
    sqrt_p,
    square,
    square_p,
    sub,
    sub_p,
    tan_p,
    tanh_p,
)
from calque_core.ops.broadcast import spread
from calque_core.ops.linear import zero_tangent
from calque_core.ops.selection import share
from calque_core.types.avals import NUMPY_AVALS
from calque_core.types.dtypes import greatest

Value = Any


def summed_to(ct: Value, operand: Value) -> Value:
    """Return the cotangent of the operand from that of the result: the sum for an operand of rank 0.

    None if the operand is known.
    """
    if type(operand) is not UndefinedPrimal:
        return None
    if operand.aval.shape or type(ct) in NUMPY_AVALS:
        return ct
    return ct if not typeof(ct).shape else reduce_sum(ct)


# Arithmetic

deflinear(neg_p, lambda ct, x: [neg(ct)])
defjvp(add_p, lambda x_dot, out, x, y: spread(x_dot, out), lambda y_dot, out, x, y: spread(y_dot, out))
deftranspose(add_p, lambda ct, x, y: [summed_to(ct, x), summed_to(ct, y)])
defjvp(add_any_p, lambda x_dot, out, x, y: x_dot, lambda y_dot, out, x, y: y_dot)
deftranspose(add_any_p, lambda ct, x, y: [summed_to(ct, x), summed_to(ct, y)])
defjvp(sub_p, lambda x_dot, out, x, y: spread(x_dot, out), lambda y_dot, out, x, y: spread(neg(y_dot), out))
deftranspose(sub_p, lambda ct, x, y: [summed_to(ct, x), summed_to(neg(ct), y)])
defbilinear(mul_p, lambda ct, x, y: summed_to(mul(ct, y), x), lambda ct, x, y: summed_to(mul(ct, x), y))
defjvp(
    div_p,
    lambda x_dot, out, x, y: div(x_dot, y),
    lambda y_dot, out, x, y: mul(y_dot, neg(div(out, y))),
)


def div_transpose(ct: Value, x: Value, y: Value) -> list[Value]:
    """Division is linear in its numerator."""
    check_known(div_p, y)
    return [summed_to(div(ct, y), x), None]


deftranspose(div_p, div_transpose)
# x - rem(x, y) is a multiple of y, so rounding the quotient only repairs the last bits.
defjvp(
    rem_p,
    lambda x_dot, out, x, y: spread(x_dot, out),
    lambda y_dot, out, x, y: mul(y_dot, neg(round(div(sub(x, out), y)))),
)


defjvp(
    max_p,
    lambda x_dot, out, x, y: mul(x_dot, share(ge(x, y), gt(x, y), out)),
    lambda y_dot, out, x, y: mul(y_dot, share(le(x, y), lt(x, y), out)),
)
defjvp(
    min_p,
    lambda x_dot, out, x, y: mul(x_dot, share(le(x, y), lt(x, y), out)),
    lambda y_dot, out, x, y: mul(y_dot, share(ge(x, y), gt(x, y), out)),
)
not_linear(rem_p, max_p, min_p)

# Size and sign


def is_complex(x: Value) -> bool:
    """Tell whether `x` holds complex numbers."""
    return bool(typeof(x).dtype.kind == "c")


def abs_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    """Take the part of the tangent along x: its real part, once x is turned to the real axis."""
    if is_complex(x):
        return real(mul(x_dot, conj(sign(x))))
    return mul(x_dot, select(eq(x, 0.0), 1.0, sign(x)))  # the sign of NaN is NaN


def sign_jvp(x_dot: Value, out: Value, x: Value) -> Value:
    """Turn by the part of the tangent across x, not at all at 0; a real sign is piecewise constant."""
    if not is_complex(x):
        return zero_tangent(out)
    turn = imag(div(x_dot, select(eq(x, 0.0), 1.0, x)))
    return mul(out, complex(typeof(turn).dtype.type(0), turn))


defjvp(abs_p, abs_jvp)
defjvp(sign_p, sign_jvp)
not_linear(abs_p, sign_p)

# Powers and roots


def pow_jvp_base(x_dot: Value, out: Value, x: Value, y: Value) -> Value:
    """Multiply by y x**(y - 1), which is 0 for y = 0 also where x is so small that x**(y - 1) is not finite."""
    size = abs(x)
    is_tiny = le(size, 1.0 / float(greatest(typeof(size).dtype)))
    is_zero = bitwise_and(is_tiny, eq(y, 0.0))
    return mul(x_dot, mul(y, pow(x, select(is_zero, 0.0, sub(y, 1.0)))))


def pow_jvp_exponent(y_dot: Value, out: Value, x: Value, y: Value) -> Value:
    """Multiply by log(x) x**y, which is 0 where x = 0."""
    return mul(y_dot, mul(log(select(eq(x, 0.0), 1.0, x)), out))


def integer_pow_jvp(x_dot: Value, out: Value, x: Value, *, y: int) -> Value:
    """Multiply by y x**(y - 1); a constant has no derivative, and a line needs no multiplication."""
    if y == 0:
        return zero_tangent(out)
    return x_dot if y == 1 else mul(x_dot, mul(float(y), x if y == 2 else integer_pow(x, y - 1)))


defjvp(square_p, lambda x_dot, out, x: mul(x_dot, mul(2.0, x)))
defjvp(sqrt_p, lambda x_dot, out, x: mul(x_dot, div(0.5, out)))
defjvp(rsqrt_p, lambda x_dot, out, x: mul(x_dot, mul(-0.5, div(out, x))))
defjvp(pow_p, pow_jvp_base, pow_jvp_exponent)
defjvp(integer_pow_p, integer_pow_jvp)
not_linear(square_p, sqrt_p, rsqrt_p, pow_p, integer_pow_p)

# Exponentials and logarithms

defjvp(exp_p, lambda x_dot, out, x: mul(x_dot, out))
defjvp(expm1_p, lambda x_dot, out, x: mul(x_dot, exp(x)))
defjvp(log_p, lambda x_dot, out, x: div(x_dot, x))
defjvp(log1p_p, lambda x_dot, out, x: div(x_dot, add(x, 1.0)))
not_linear(exp_p, expm1_p, log_p, log1p_p)

# Trigonometry

defjvp(sin_p, lambda x_dot, out, x: mul(x_dot, cos(x)))
defjvp(cos_p, lambda x_dot, out, x: mul(x_dot, neg(sin(x))))
defjvp(tan_p, lambda x_dot, out, x: mul(x_dot, add(1.0, square(out))))
defjvp(tanh_p, lambda x_dot, out, x: mul(x_dot, sub(1.0, square(out))))
not_linear(sin_p, cos_p, tan_p, tanh_p)
