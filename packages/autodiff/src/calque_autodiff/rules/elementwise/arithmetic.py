"""The derivatives of arithmetic, whole powers, sizes and signs.

One idea: an elementwise primitive takes operands of equal shape or of rank 0; so the tangent of an operand of rank 0 is
`spread` over the result, and its cotangent is `summed_to` rank 0.

Conventions where a derivative does not exist: abs'(0) = 1 for real numbers and 0 for complex numbers, and max and min
share equally at a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_autodiff.passes.signs import defsigns
from calque_autodiff.verbs.checks import check_terms
from calque_core import Tracer, UndefinedPrimal, add_tangents, engine, typeof
from calque_core.engine import NUMPY_AVALS, spread
from calque_core.extend import check_known, defjvp, deflinear, deftranspose, not_linear, zero_tangent
from calque_core.lax import (
    abs_p,
    add_any_p,
    add_p,
    complex,
    conj,
    div,
    div_p,
    eq,
    imag,
    integer_pow,
    integer_pow_p,
    max_p,
    min_p,
    mul,
    mul_p,
    neg,
    neg_p,
    real,
    reduce_sum,
    rem_p,
    round,
    select,
    sign,
    sign_p,
    square_p,
    sub,
    sub_p,
)

Value = Any


def summed_to(ct: Value, operand: Value) -> Value:
    """Return the cotangent of the operand from the result's cotangent: its sum for an operand of rank 0.

    None if the operand is known.
    """
    if type(operand) is not UndefinedPrimal:
        return None
    if operand.aval.shape or type(ct) in NUMPY_AVALS:
        return ct
    return ct if not typeof(ct).shape else reduce_sum(ct)


# Arithmetic


def add_transpose(ct: Value, x: Value, y: Value) -> list[Value]:
    """Take the cotangent to each term."""
    if type(x) is not UndefinedPrimal or type(y) is not UndefinedPrimal:
        check_terms(add_p, (x, y))
    return [summed_to(ct, x), summed_to(ct, y)]


def sub_transpose_unsigned(ct: Value, x: Value, y: Value) -> list[Value]:
    """Take the cotangent to each term, the second without its sign."""
    if type(x) is not UndefinedPrimal or type(y) is not UndefinedPrimal:
        check_terms(sub_p, (x, y))
    return [summed_to(ct, x), summed_to(ct, y)]


def sub_transpose(ct: Value, x: Value, y: Value) -> list[Value]:
    """Negate the cotangent of y, after the sum."""
    x_bar, y_bar = sub_transpose_unsigned(ct, x, y)
    return [x_bar, None if y_bar is None else neg(y_bar)]


deflinear(neg_p, lambda ct, x: [neg(ct)])
defsigns(neg_p, lambda ct, x: [ct], [True])
defjvp(add_p, lambda x_dot, out, x, y: spread(x_dot, out), lambda y_dot, out, x, y: spread(y_dot, out))
deftranspose(add_p, add_transpose)
defjvp(add_any_p, lambda x_dot, out, x, y: x_dot, lambda y_dot, out, x, y: y_dot)
deftranspose(add_any_p, add_transpose)
defjvp(
    sub_p,
    lambda x_dot, out, x, y: spread(x_dot, out),
    lambda y_dot, out, x, y: spread(neg(y_dot), out),
    jointly=lambda tangents, out, x, y: sub(*tangents),
)
deftranspose(sub_p, sub_transpose)
defsigns(sub_p, sub_transpose_unsigned, [False, True])


def mul_jvp(tangents: Sequence[Value], out: Value, x: Value, y: Value) -> Value:
    """Return x_dot y + x y_dot, which is 2 x_dot x for the square of one value."""
    x_dot, y_dot = tangents
    if x is y and x_dot is y_dot:
        return mul(mul(2.0, x_dot), x)
    return add_tangents(mul(x_dot, y), mul(x, y_dot))


def mul_transpose(ct: Value, x: Value, y: Value) -> list[Value]:
    """Multiply by the known operand."""
    if type(x) is not UndefinedPrimal:
        return [None, summed_to(multiplied(ct, x), y)]
    check_known(mul_p, y)
    return [summed_to(multiplied(ct, y), x), None]


def multiplied(ct: Value, y: Value) -> Value:
    """Return `ct` y, which is y itself for the cotangent 1 with which a gradient begins."""
    is_one = type(ct) in NUMPY_AVALS and ct == 1
    return y if is_one and isinstance(y, Tracer) and typeof(y) == typeof(ct) else mul(ct, y)


def div_jvp(tangents: Sequence[Value], out: Value, x: Value, y: Value) -> Value:
    """Return (x_dot - out y_dot) / y: the result stands for x / y, and one division serves both tangents."""
    x_dot, y_dot = tangents
    return div(sub(x_dot, mul(out, y_dot)), y)


def div_transpose(ct: Value, x: Value, y: Value) -> list[Value]:
    """Division is linear in its numerator."""
    check_known(div_p, y)
    return [summed_to(div(ct, y), x), None]


defjvp(
    mul_p,
    lambda x_dot, out, x, y: mul(x_dot, y),
    lambda y_dot, out, x, y: mul(x, y_dot),
    jointly=mul_jvp,
)
deftranspose(mul_p, mul_transpose)
defjvp(
    div_p,
    lambda x_dot, out, x, y: div(x_dot, y),
    # The sign comes first: XLA makes (x / y) / y to x / (y * y), whose square over- or underflows.
    lambda y_dot, out, x, y: mul(y_dot, div(neg(out), y)),
    jointly=div_jvp,
)
deftranspose(div_p, div_transpose)
# x - rem(x, y) is a multiple of y, so rounding the quotient only repairs the last bits.
defjvp(
    rem_p,
    lambda x_dot, out, x, y: spread(x_dot, out),
    lambda y_dot, out, x, y: mul(y_dot, neg(round(div(sub(x, out), y)))),
)


def where_greater(x: Value, y: Value, out: Value) -> Value:
    """Return 1 where x > y, and a half where both are equal."""
    compare = engine.numpy_functions  # late imports: few programs choose
    return engine.share(compare.greater_equal(x, y), compare.greater(x, y), out)


def where_less(x: Value, y: Value, out: Value) -> Value:
    """Return 1 where x < y, and a half where both are equal."""
    compare = engine.numpy_functions
    return engine.share(compare.less_equal(x, y), compare.less(x, y), out)


defjvp(
    max_p,
    lambda x_dot, out, x, y: mul(x_dot, where_greater(x, y, out)),
    lambda y_dot, out, x, y: mul(y_dot, where_less(x, y, out)),
)
defjvp(
    min_p,
    lambda x_dot, out, x, y: mul(x_dot, where_less(x, y, out)),
    lambda y_dot, out, x, y: mul(y_dot, where_greater(x, y, out)),
)
not_linear(rem_p, max_p, min_p)

# Whole powers


def integer_pow_jvp(x_dot: Value, out: Value, x: Value, *, y: int) -> Value:
    """Multiply by y x**(y - 1); a constant has no derivative, and a line needs no multiplication."""
    if y == 0:
        return zero_tangent(out)
    return x_dot if y == 1 else mul(x_dot, mul(float(y), x if y == 2 else integer_pow(x, y - 1)))


defjvp(square_p, lambda x_dot, out, x: mul(x_dot, mul(2.0, x)))
defjvp(integer_pow_p, integer_pow_jvp)
not_linear(square_p, integer_pow_p)

# Size and sign


def is_complex(x: Value) -> bool:
    """Tell whether `x` holds complex numbers."""
    return bool(typeof(x).kind == "c")


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
