"""NumPy's arithmetic, where it differs from `lax`: the operators `/ // % ** << >>` and the ufuncs of the same names.

One idea: `lax` has StableHLO's semantics and NumPy's promotion.  Where NumPy's semantics differ (true division of
integers, floor division, remainders with the sign of the divisor), this module has them, for operators and ufuncs.

Read next: `numpy_ufuncs.py`, the other ufuncs; `numpy_names.py`, the table of all ufuncs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.context import active
from calque_core.frames.source import where
from calque_core.ops.elementwise.declare import as_result, undefined_message
from calque_core.ops.elementwise.operands import (
    _convert,
    binary,
    check_operands,
    floating,
    promoted_dtype,
    promoted_type,
    result_type,
)
from calque_core.ops.shapes.broadcast import broadcast_to
from calque_core.traces.evaluators import plain_types
from calque_core.traces.tracer import is_tracer, own_array
from calque_core.types.avals import typeof
from calque_core.types.dtypes import REGISTERED, SHORT_DTYPES, kind_of, scalar_dtype
from calque_core.types.limits import wide_dtype
from calque_core.types.promotion import wide_float

Value = Any

_INT8 = np.dtype("int8")
_FEWEST_BITS = min(row.bits for row in SHORT_DTYPES.values() if row.kind == "i")
_SMALL = 2 ** (_FEWEST_BITS - 1) - 1  # every integer dtype holds it


def as_dtype(x: Value, dtype: np.dtype[Any]) -> Value:
    """Return `x` in `dtype`; a Python scalar becomes a NumPy scalar without an operation.

    As in NumPy, a complex number is True unless both parts are zero; `lax.convert_element_type` takes its real part.
    """
    aval = typeof(x)
    return lax.ne(x, 0) if dtype.kind == "b" and aval.kind == "c" else _convert(x, aval, dtype)


def kind(x: Value) -> str:
    return typeof(x).kind  # type: ignore[no-any-return]


def _numbers(name: str, x: Value, y: Value) -> tuple[Value, Value]:
    """Return promoted operands of a ufunc that computes with bools as int8."""
    if kind(x) == "b" and kind(y) == "b":
        return as_dtype(x, _INT8), as_dtype(y, _INT8)
    return binary(name, x, y)


def number(x: Value) -> Value:
    return as_dtype(x, _INT8) if kind(x) == "b" else x


def truth(x: Value) -> Value:
    """Return bools: whether each element is nonzero."""
    return as_result(x) if kind(x) == "b" else lax.ne(x, 0)


def real(name: str, x: Value) -> Value:
    """Return the operand of a function of real numbers, as a float."""
    if kind(x) == "c":
        raise TypeError(undefined_message(name, typeof(x)))
    return floating(x)


# Arithmetic


def positive(x: Value) -> Value:
    """Return x.  Raises: TypeError for bools, as NumPy does."""
    if kind(x) == "b":
        raise TypeError(undefined_message("positive", typeof(x)))
    return own_array(x, as_result(x))


def absolute(x: Value) -> Value:
    """Return |x|; an array that cannot be negative is returned unchanged."""
    return lax.abs(x)


def fabs(x: Value) -> Value:
    """Return |x| as a float.  Raises: TypeError for complex numbers."""
    return lax.abs(real("fabs", x))


def sign(x: Value) -> Value:
    """Return -1, 0 or 1; NaN for NaN.  Raises: TypeError for bools, as NumPy does."""
    return as_dtype(lax.ne(x, 0), typeof(x).dtype) if kind(x) == "u" else lax.sign(x)


def true_divide(x: Value, y: Value) -> Value:
    """Return x / y: a float, for integers, too.

    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([1, 2])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.true_divide(x, 2))(x))(x)
    [array([0.5, 1. ])]
    """
    check_operands("true_divide", x, y)
    x_aval, y_aval = typeof(x), typeof(y)
    if x_aval.kind in "biu" and y_aval.kind in "biu":
        is_weak = x_aval.weak_type and y_aval.weak_type
        dtype = scalar_dtype(float) if is_weak else wide_float(promoted_type([x_aval, y_aval]))
        x, y = _convert(x, x_aval, dtype), _convert(y, y_aval, dtype)
    return lax.div(x, y)


def _is_static(x: Value) -> bool:
    return isinstance(x, (int, float, np.generic))


def _sign_is_wrong(r: Value, y: Value) -> Value:
    """Tell where a truncated remainder is nonzero and lacks the sign of the divisor."""
    if _is_static(y):  # one comparison instead of five
        return lax.lt(r, 0) if y > 0 else lax.gt(r, 0)
    return lax.bitwise_and(lax.ne(r, 0), lax.ne(lax.lt(r, 0), lax.lt(y, 0)))


def _is_known(*operands: Value) -> bool:
    """Tell whether NumPy can compute with these integers now; it then warns of zero divisors and overflow."""
    if active or not all(type(x) in plain_types for x in operands) or kind(operands[0]) not in "iu":
        return False
    return bool(typeof(operands[0]).dtype.isbuiltin != REGISTERED)  # NumPy computes 4 bits in 8


def _divisor(y: Value) -> Value:
    """Return a divisor with 1 in place of the integer 0, so that the remainder is 0, as in NumPy."""
    if kind(y) not in "iu" or (_is_static(y) and y != 0):
        return y
    return lax.select(lax.eq(y, 0), typeof(y).dtype.type(1), y)


def remainder(x: Value, y: Value) -> Value:
    """Return the remainder that has the sign of `y`, as Python's `%`; 0 for an integer divisor of 0.

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([-7, 7])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.remainder(x, 3))(x))(x)
    [array([2, 1])]
    """
    x, y = _numbers("remainder", x, y)
    if _is_known(x, y):
        return np.remainder(x, y, dtype=typeof(x).dtype)
    y = _divisor(y)
    r = lax.rem(x, y)
    if kind(r) == "u":
        return r
    out = lax.select(_sign_is_wrong(r, y), lax.add(r, y), r)
    return lax.select(lax.eq(r, 0), _zero_like_divisor(r, y), out) if kind(r) == "f" else out


def _zero_like_divisor(r: Value, y: Value) -> Value:
    """Return the zeros `r` with the signs of `y` and the derivative of `r`: r - r is 0.0, and -(r - r) is -0.0."""
    value = lax.stop_gradient(r)
    if _is_static(y):
        return lax.sub(r, value) if y > 0 else lax.neg(lax.sub(value, r))
    return lax.select(lax.gt(y, 0), lax.sub(r, value), lax.neg(lax.sub(value, r)))


def floor_divide(x: Value, y: Value) -> Value:
    """Return the quotient rounded towards minus infinity, as Python's `//`; 0 for an integer divisor of 0.

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([-7, 7])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.floor_divide(x, 3))(x))(x)
    [array([-3,  2])]
    """
    x, y = _numbers("floor_divide", x, y)
    if _is_known(x, y):
        return np.floor_divide(x, y, dtype=typeof(x).dtype)
    if kind(x) in "iu":
        return _integer_quotient(x, y)
    r = lax.rem(x, y)
    # floor(x / y) would give 10 for 1.0 // 0.1; x - r is a multiple of y, so that this quotient is nearly an integer.
    q = lax.div(lax.sub(x, r), y)
    q = lax.select(_sign_is_wrong(r, y), lax.sub(q, 1), q)
    if not _is_static(y) or y == 0:
        q = lax.select(lax.eq(y, 0), lax.div(x, y), q)
    q = lax.round(q)
    return lax.select(lax.eq(q, 0), lax.floor(lax.min(lax.div(x, y), 0.5)), q)  # a zero has the sign of x / y


def _integer_quotient(x: Value, y: Value) -> Value:
    divisor = _divisor(y)
    if kind(x) == "u":
        q = lax.div(x, divisor)
    else:
        r, q = lax.rem(x, divisor), lax.div(x, divisor)
        q = lax.select(_sign_is_wrong(r, divisor), lax.sub(q, 1), q)
    return q if divisor is y else lax.select(lax.eq(y, 0), typeof(q).dtype.type(0), q)


def fmod(x: Value, y: Value) -> Value:
    """Return the remainder that has the sign of `x`, as C's fmod; 0 for an integer divisor of 0.

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.
    """
    x, y = _numbers("fmod", x, y)
    if _is_known(x, y):
        return np.fmod(x, y, dtype=typeof(x).dtype)
    return lax.rem(x, _divisor(y))


def divmod(x: Value, y: Value) -> tuple[Value, Value]:
    """Return (floor_divide(x, y), remainder(x, y)).

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.
    """
    check_operands("divmod", x, y)
    return floor_divide(x, y), remainder(x, y)


def power(x: Value, y: Value) -> Value:
    """Return x ** y; a Python or NumPy integer as exponent means repeated multiplication.

    A traced exponent that turns out to be negative gives 1 / x ** -y, truncated, for integers; 0 for x = 0.
    Raises: ValueError for an integer to a known negative integer power; OverflowError for a Python integer as exponent
    that does not fit the dtype of integers.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([1.0, 3.0])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.power(x, 2))(x))(x)
    [array([1., 9.])]
    """
    if isinstance(y, (int, np.integer)) and not isinstance(y, bool):
        return _integer_power(x, y)
    check_operands("power", x, y)
    dtype = result_type(x, y)
    if kind_of(dtype) in "biu":
        return _power_of_integers(x, y)
    return lax.pow(as_dtype(x, dtype), as_dtype(y, dtype))


def _power_of_integers(x: Value, y: Value) -> Value:
    """Return x ** y for an array of exponents: the product of the x ** 2**i for the bits i of y that are 1."""
    if not is_tracer(y) and (np.asarray(y) < 0).any():
        raise _negative_power(x, np.asarray(y).min())
    x, y = _numbers("power", x, y)
    if _is_known(x, y):
        return np.power(x, y)
    shape = lax.broadcast_shapes(typeof(x).shape, typeof(y).shape)
    inner = shape or (1,)  # NumPy warns where a square of a scalar overflows, though no bit asks for it
    base, exponent = (lax.reshape(broadcast_to(n, shape), inner) for n in (x, y))
    one, zero = (lax.full_like(base, n) for n in (1, 0))

    def multiply(carry: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        square, bits, out = carry
        is_factor = lax.eq(lax.bitwise_and(bits, one), one)
        return lax.mul(square, square), right_shift(bits, one), lax.select(is_factor, lax.mul(out, square), out)

    start = base, lax.max(exponent, zero), one
    _, _, out = lax.while_loop(lambda carry: lax.reduce_or(lax.gt(carry[1], zero)), multiply, start)
    if kind(x) == "i":
        is_odd = lax.eq(lax.bitwise_and(exponent, one), one)
        sign = lax.select(lax.eq(base, one), one, lax.select(is_odd, lax.neg(one), one))
        inverse = lax.select(lax.eq(lax.abs(base), one), sign, zero)
        out = lax.select(lax.lt(exponent, zero), inverse, out)
    return lax.reshape(out, shape)


def _negative_power(x: Value, y: Any) -> ValueError:
    return ValueError(
        f"power of {typeof(x)} and {y}{where()}: an integer to a negative power is no integer. Convert the array to "
        "float first."
    )


def _integer_power(x: Value, y: Any) -> Value:
    if type(y) is int and kind(x) in "fc":  # the usual case; saves 2 of 7 us
        return lax.integer_pow(x, y)
    dtype = promoted_dtype("power", x, y)
    if kind_of(dtype) in "iu" and y < 0:
        raise _negative_power(x, y)
    if kind_of(dtype) in "iu" and y > _SMALL:
        as_dtype(y, dtype)  # as an operand of any other operator it must fit
    return lax.integer_pow(as_dtype(x, dtype), int(y))


def float_power(x: Value, y: Value) -> Value:
    """Return x ** y in at least float64.

    Raises: ShapeError if the shapes do not broadcast.
    """
    check_operands("float_power", x, y)
    dtype = result_type(x, y, np.float64)
    return lax.pow(as_dtype(x, dtype), as_dtype(y, dtype))


def square(x: Value) -> Value:
    """Return x * x."""
    return lax.square(number(x))


def reciprocal(x: Value) -> Value:
    """Return 1 / x, truncated for integers; for the integer 0, infinity as NumPy converts it on this machine."""
    x = number(x)
    dtype = typeof(x).dtype
    if _is_known(x):
        return np.reciprocal(x, dtype=dtype)
    out = lax.div(dtype.type(1), _divisor(x))
    return out if kind_of(dtype) not in "iu" else lax.select(lax.eq(x, 0), _reciprocal_of_zero(dtype), out)


@cache
def _reciprocal_of_zero(dtype: np.dtype[Any]) -> Value:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.reciprocal(wide_dtype(dtype).type(0)).astype(dtype)


def left_shift(x: Value, y: Value) -> Value:
    """Return x << y."""
    return lax.shift_left(*_numbers("left_shift", x, y))


def right_shift(x: Value, y: Value) -> Value:
    """Return x >> y, keeping the sign of signed integers."""
    x, y = _numbers("right_shift", x, y)
    return lax.shift_right_logical(x, y) if kind(x) == "u" else lax.shift_right_arithmetic(x, y)
