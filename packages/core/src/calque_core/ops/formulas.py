"""Evaluation of functions that NumPy lacks.

Each takes arrays or scalars of one dtype, keeps that dtype, and raises no floating-point warning where the result is
well defined.  They evaluate the primitives of `arithmetic.py`, `exponential.py`, `compare.py` and `rounding.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core.frames.source import where
from calque_core.ops.declare import undefined_message
from calque_core.ops.numpy_calls import on_floats
from calque_core.types.avals import typeof
from calque_core.types.dtypes import native_array
from calque_core.types.limits import bit_width, finfo, wide_dtype

Value = Any

_INT8 = np.dtype("int8")


def keeping_dtype(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function of NumPy's, with its result in the dtype of its operands.

    NumPy computes integers of 4 bits in int8, whose lowest bits are the result.
    """

    def impl(*args: Value) -> Value:
        out = function(*args)
        return out if out.dtype is not _INT8 else out.astype(args[0].dtype, copy=False)

    on_floats[impl] = function
    return impl


def divide(x: Value, y: Value) -> Value:
    """Return x / y; integers are truncated towards zero."""
    kind = typeof(x).kind
    if kind == "b":
        raise TypeError(undefined_message("div", typeof(x)))
    if kind not in "iu":
        return np.divide(x, y)
    return _floor_divide(np.subtract(x, remainder(x, y, "div")), y)


on_floats[divide] = np.divide


def remainder(x: Value, y: Value, name: str = "rem") -> Value:
    """Return the remainder of truncating division: it has the sign of x.

    Raises: ZeroDivisionError for integers divided by zero, unless the caller has NumPy ignore divisions by zero.
    """
    kind = typeof(x).kind
    if kind == "b":
        raise TypeError(undefined_message("rem", typeof(x)))
    if kind in "iu" and not np.all(y) and np.geterr()["divide"] != "ignore":
        raise ZeroDivisionError(f"{name}{where()}: an integer divisor is zero. Replace the zeros, or divide floats.")
    return _fmod(x, y)


_floor_divide, _fmod = keeping_dtype(np.floor_divide), keeping_dtype(np.fmod)


def reciprocal_sqrt(x: Value) -> Value:
    """Return 1 / sqrt(x); a short float is rounded once, at the end."""
    dtype = np.asarray(x).dtype
    root = np.sqrt(np.asarray(x, wide_dtype(dtype)))
    return reciprocal(root).astype(dtype, copy=False)[()]


def reciprocal(x: Value) -> Value:
    """Return 1 / x; of complex numbers it is 0 if a part is infinite, and has the signs of the conjugate.

    NumPy has NaN for the reciprocal of inf + inf j, and the quotient loses the signs of zeros.
    """
    if not np.iscomplexobj(x):
        return np.reciprocal(x)
    out = np.asarray(np.divide(1, x))
    out[np.isinf(x)] = 0.0
    out.real, out.imag = np.copysign(out.real, np.real(x)), np.copysign(out.imag, -np.imag(x))
    return out[()]


def log_one_plus(x: Value) -> Value:
    """Return log(1 + x); `np.log1p` loses the real part of complex numbers where |1 + x| is near 1.

    The real part is half of log1p(|1 + x|^2 - 1).
    """
    out = np.log1p(x)
    if out.dtype.kind != "c":
        return out
    a, b = np.real(x) * np.float64(1), np.imag(x) * np.float64(1)
    is_small = np.maximum(np.abs(a), np.abs(b)) < 4.0
    excess = _squared_modulus_less_one(np.where(is_small, a, 1.0), np.where(is_small, b, 1.0))
    is_near = np.abs(excess) < 0.5
    out = np.array(out)
    out.real = np.where(is_near, 0.5 * np.log1p(np.where(is_near, excess, 0.0)), out.real)
    return out[()]


on_floats[log_one_plus] = np.log1p


def _squared_modulus_less_one(a: Value, b: Value) -> Value:
    """Return 2a + a^2 + b^2, which is |1 + a + bi|^2 - 1, with the rounding errors of its steps: the terms may cancel.

    Source: Dekker (1971), A floating-point technique for extending the available precision.
    """
    (a_square, a_error), (b_square, b_error) = _exact_square(a), _exact_square(b)
    first, first_error = _exact_sum(2 * a, b_square)
    total, total_error = _exact_sum(first, a_square)
    return total + (((a_error + b_error) + first_error) + total_error)


def _exact_square(x: Value) -> tuple[Value, Value]:
    """Return the square of doubles and its rounding error."""
    shifted = (2.0**27 + 1) * x
    high = shifted - (shifted - x)
    low, square = x - high, x * x
    return square, ((high * high - square) + 2 * high * low) + low * low


def _exact_sum(x: Value, y: Value) -> tuple[Value, Value]:
    """Return the sum of doubles and its rounding error."""
    total = x + y
    from_y = total - x
    return total, (x - (total - from_y)) + (y - from_y)


def complex_logistic_slope(x: Value) -> Value:
    """Return exp(x) / (1 + exp(x))**2: an even function, so of -x where exp(x) may overflow."""
    z = np.exp(np.where(np.real(x) >= 0, np.negative(x), x))
    return z / np.square(np.ones_like(z) + z)


def integer_power(x: Value, y: int) -> Value:
    """Return x**y by repeated squaring, the order in which compiled programs multiply too."""
    if y < 0:
        if typeof(x).kind in "iu":
            raise TypeError(integer_power_refusal(y))
        if np.iscomplexobj(x):
            return reciprocal(integer_power(x, -y))
        try:
            return np.reciprocal(x) if y == -1 else _reciprocal_power(x, -y)
        except FloatingPointError:
            return _small_reciprocal_power(x, -y)
    if y == 0:
        return np.ones_like(x)[()]
    power = x
    while not y & 1:
        power, y = np.multiply(power, power), y >> 1
    out = power
    while y := y >> 1:
        power = np.multiply(power, power)
        out = np.multiply(out, power) if y & 1 else out
    return _positive(x) if out is x else out


_positive = keeping_dtype(np.positive)


@np.errstate(over="raise")  # NumPy tells of an overflow: no pass over the array searches one
def _reciprocal_power(x: Value, y: int) -> Value:
    return np.reciprocal(integer_power(x, y))


def _small_reciprocal_power(x: Value, y: int) -> Value:
    """Return 1 / x**y; where x**y overflows, the product of reciprocals of lower powers, which may be subnormal."""
    with np.errstate(over="ignore"):
        power = integer_power(x, y)
    product = np.multiply(*(np.reciprocal(integer_power(x, part)) for part in (y // 2, y - y // 2)))
    return np.where(np.isinf(power), product, np.reciprocal(power))[()]


def integer_power_refusal(y: int) -> str:
    """Return the message for integers raised to a negative power."""
    return f"integer_pow{where()}: integers cannot be raised to the negative power {y}. Convert them to floats first."


def round_half_away(x: Value) -> Value:
    """Return the nearest whole number; halves go away from zero."""
    dtype = np.asarray(x).dtype
    fraction, whole = np.modf(np.asarray(x, wide_dtype(dtype)))
    return np.where(np.abs(fraction) >= 0.5, whole + np.sign(fraction), whole).astype(dtype, copy=False)[()]


def _bits(x: Value, *, signed: bool) -> Value:
    """Return the bits of integers in whole bytes: the sign bit fills in if `signed`, zeros otherwise."""
    x = native_array(x)
    size, unused = x.dtype.itemsize, 8 * x.dtype.itemsize - bit_width(x.dtype)
    unsigned, dtype = np.dtype(f"u{size}"), np.dtype(f"{'i' if signed else 'u'}{size}")
    bits = x.view(unsigned)
    return (bits << unsigned.type(unused)).view(dtype) >> dtype.type(unused) if unused else bits.view(dtype)


def shift_right(x: Value, y: Value, *, signed: bool) -> Value:
    """Return the bits of x moved right by y places; the sign bit fills in if `signed`, zeros otherwise."""
    bits, dtype = _bits(x, signed=signed), np.asarray(x).dtype
    places = np.minimum(_bits(y, signed=False), bit_width(dtype)).astype(bits.dtype)
    return np.right_shift(bits, places).astype(dtype)[()]


def count_ones(x: Value) -> Value:
    """Return how many bits of x are 1; NumPy's `bitwise_count` takes the absolute value."""
    return np.bitwise_count(_bits(x, signed=False)).astype(np.asarray(x).dtype)[()]


def count_leading_zeros(x: Value) -> Value:
    """Return how many bits of x are 0 before the first 1: copies of the first 1 fill all lower places."""
    bits, dtype = _bits(x, signed=False), np.asarray(x).dtype
    width, places = bit_width(dtype), 1
    while places < width:
        bits, places = bits | bits >> bits.dtype.type(places), 2 * places
    return (width - np.bitwise_count(bits).astype(np.int64)).astype(dtype)[()]


def choose(which: Value, on_false: Value, on_true: Value) -> Value:
    """Return `on_true` where the bools `which` are true, else `on_false`."""
    return np.where(which, on_true, on_false)


def choice_beside_zero(
    dtype: np.dtype[Any], size: int, *, is_true_full: bool
) -> Callable[[Value, Value, Value], Value]:
    """Return `choose` for an array of `size` elements beside a number, which mostly is zero, on_true or on_false.

    Where bools alternate at random, `numpy.where` takes five times as long as to clear the bits of the other elements.
    """
    word = _WORDS.get(dtype)
    if word is None or size < _MANY:
        return choose

    def choose_bits(which: Value, on_false: Value, on_true: Value) -> Value:
        x, number = (on_true, on_false) if is_true_full else (on_false, on_true)
        if number or np.signbit(number) or not x.dtype.isnative:
            return np.where(which, on_true, on_false)
        mask = which.astype(word)
        if is_true_full:
            np.negative(mask, mask)  # all bits where true
        else:
            np.subtract(mask, 1, mask)
        return np.bitwise_and(mask, x.view(word), mask).view(dtype)

    return choose_bits


_WORDS = {np.dtype(np.float64): np.dtype(np.int64), np.dtype(np.float32): np.dtype(np.int32)}
_MANY = 4096  # below, three calls of NumPy take longer than one


def reduce_precision(x: Value, *, exponent_bits: int, mantissa_bits: int) -> Value:
    """Return x rounded to the nearest float of fewer bits, halves to even; without its subnormal numbers.

    Floats of 8 bits are rounded as half precision, as in compiled programs.
    """
    x = native_array(x)
    size = x.dtype.itemsize
    if size == 1:
        half = reduce_precision(x.astype(np.float16), exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)
        return np.asarray(half).astype(x.dtype)[()]
    info = finfo(x.dtype)
    exponent_size, mantissa_size = int(info.nexp), int(info.nmant)
    word = np.dtype(f"u{size}").type
    bits = x.view(word)
    infinity = word(((1 << exponent_size) - 1) << mantissa_size)
    is_nan = (bits & ~_sign_bit(word)) > infinity  # `np.isnan` warns of some NaNs of short floats
    if mantissa_bits < mantissa_size:
        dropped = mantissa_size - mantissa_bits
        is_odd = (bits >> word(dropped)) & word(1)
        # Half a unit rounds up to even; the carry of a full mantissa goes on into the exponent.
        bits = (bits + word((1 << (dropped - 1)) - 1) + is_odd) & ~word((1 << dropped) - 1)
    if exponent_bits < exponent_size:
        sign, exponent = bits & _sign_bit(word), (bits & infinity) >> word(mantissa_size)
        bias, reach = (1 << (exponent_size - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        finite = np.where(exponent > word(bias + reach), sign | infinity, bits)
        bits = np.where(exponent <= word(bias - reach), sign, finite)
    return np.where(is_nan, x, bits.view(x.dtype))[()]


def _sign_bit(word: type[np.unsignedinteger[Any]]) -> Value:
    return word(1 << (8 * word().itemsize - 1))
