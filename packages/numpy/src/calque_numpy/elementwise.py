"""Elementwise functions that core's operators and methods do not need.

One idea: each is a formula in `lax` whose derivatives are right everywhere, so it needs no rule of its own; parts of a
float, its sign and its exponent, are read from its bits.

Read next: `bits.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core import NumpyRuleError, implements, lax, result_type, typeof
from calque_core.engine import polynomial
from calque_core.engine.numpy_functions import (
    as_dtype,
    as_result,
    binary,
    broadcast_to,
    check_dtypes,
    float_operands,
    floating,
    isinf,
    logaddexp,
    refuse,
    trunc,
    wide_float,
)
from calque_core.extend import where as place
from calque_numpy.modified_bessel import i0_p

Value = Any
UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
BITS: dict[int, np.dtype[Any]] = {1: np.dtype("int8"), 2: np.dtype("int16"), 4: np.dtype("int32"), 8: np.dtype("int64")}


def _real(name: str, x: Value) -> Value:
    """Return `x` as a float; complex numbers are refused.

    Raises: TypeError for complex numbers.
    """
    if typeof(x).kind == "c":
        raise TypeError(f"{name} of {typeof(x)}{place()}: complex numbers have no order. Use numpy.real or numpy.abs.")
    return floating(x)


# Signs


@implements(np.signbit)
def signbit(x: Value) -> Value:
    """Return whether the sign of x is negative, of -0.0 and of NaN too.

    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import signbit
    >>> signbit(np.array([1.0, -0.0, -2.0]))
    array([False,  True,  True])
    """
    if typeof(x).kind in "iu":
        return lax.lt(x, 0)
    x = lax.stop_gradient(as_result(_real("signbit", x)))
    return lax.lt(lax.bitcast_convert_type(x, _bits_of("signbit", typeof(x).dtype)), 0)


def _bits_of(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the integer dtype that holds the bits of a float's.

    Raises: NumpyRuleError if there is none; NumPy's function computes known values.
    """
    if dtype.itemsize not in BITS:
        raise NumpyRuleError(f"{name}{place()}: no integer holds the bits of {dtype}. Convert x: x.astype('float64').")
    return BITS[dtype.itemsize]


@implements(np.copysign)
def copysign(x1: Value, x2: Value) -> Value:
    """Return the magnitude of x1 with the sign of x2; the derivative in x2 is zero.

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import copysign
    >>> copysign(np.array([1.0, -2.0]), -0.0)
    array([-1., -2.])
    """
    x1, x2 = _real_pair("copysign", x1, x2)
    return lax.select(lax.eq(signbit(x1), signbit(x2)), x1, lax.neg(x1))


def _real_pair(name: str, x1: Value, x2: Value) -> tuple[Value, Value]:
    x1, x2 = float_operands(name, x1, x2)
    return _real(name, x1), _real(name, x2)


@implements(np.fix)
def fix(x: Value, out: None = None) -> Value:
    """Return x without its fraction, as `trunc`; integers are returned unchanged.

    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import fix
    >>> fix(np.array([1.5, -1.5]))
    array([ 1., -1.])
    """
    refuse("fix", out=out)
    return trunc(x)


@implements(np.isneginf)
def isneginf(x: Value, out: None = None) -> Value:
    """Return whether x is minus infinity.

    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import isneginf
    >>> isneginf(np.array([np.inf, -np.inf]))
    array([False,  True])
    """
    refuse("isneginf", out=out)
    return lax.bitwise_and(isinf(_real("isneginf", x)), lax.lt(x, 0))


@implements(np.isposinf)
def isposinf(x: Value, out: None = None) -> Value:
    """Return whether x is plus infinity.

    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import isposinf
    >>> isposinf(np.array([np.inf, -np.inf]))
    array([ True, False])
    """
    refuse("isposinf", out=out)
    return lax.bitwise_and(isinf(_real("isposinf", x)), lax.gt(x, 0))


# Fractions and exponents


@implements(np.modf)
def modf(x: Value) -> tuple[Value, Value]:
    """Return the fraction of x and its whole part, both with the sign of x.

    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import modf
    >>> modf(np.array([2.5, -0.25]))
    (array([ 0.5 , -0.25]), array([ 2., -0.]))
    """
    x = as_result(_real("modf", x))
    whole = copysign(trunc(x), x)
    return copysign(lax.select(isinf(x), 0, lax.sub(x, whole)), x), whole


@implements(np.ldexp)
def ldexp(x1: Value, x2: Value) -> Value:
    """Return x1 * 2**x2, rounded once; the integers x2 may exceed the range of exponents.

    Raises: TypeError if x2 is no integer.

    >>> import numpy as np
    >>> from calque_numpy import ldexp
    >>> ldexp(np.array([0.75, 3.0]), np.array([2, -1]))
    array([3. , 1.5])
    """
    if typeof(x2).kind not in "biu":
        raise TypeError(f"ldexp{place()}: the exponents are {typeof(x2)}. Give integers.")
    x = as_result(_real("ldexp", x1))
    if typeof(x).dtype.itemsize < 4:  # exact in 32 bits, and rounded by the conversion
        return as_dtype(ldexp(as_dtype(x, np.dtype("float32")), x2), typeof(x).dtype)
    dtype, info = typeof(x).dtype, np.finfo(typeof(x).dtype)
    # Three factors reach every exponent. Before the last, x is a normal number, so that only the last one rounds.
    low, high = int(info.minexp) + int(info.nmant) + 1, int(info.maxexp) - 1
    n = lax.clamp(3 * low, as_dtype(x2, np.dtype("int32")), 3 * high)
    for _ in range(2):
        step = lax.select(lax.lt(n, int(info.minexp)), low, lax.select(lax.gt(n, high), high, 0))
        x, n = _times_power_of_two(x, step, dtype), lax.sub(n, step)
    return _times_power_of_two(x, lax.clamp(int(info.minexp), n, high), dtype)


def _times_power_of_two(x: Value, n: Value, dtype: np.dtype[Any]) -> Value:
    """Return x * 2**n; XLA does not see the value of the factor: it would multiply two known factors first."""
    return lax.mul(*binary("ldexp", x, lax.optimization_barrier(_power_of_two(n, dtype))))


def _power_of_two(n: Value, dtype: np.dtype[Any]) -> Value:
    """Return 2**n for the exponents of normal numbers, made from bits."""
    bits, info = _bits_of("ldexp", dtype), np.finfo(dtype)
    biased = as_dtype(lax.add(n, int(info.maxexp) - 1), bits)
    return lax.bitcast_convert_type(lax.shift_left(biased, bits.type(info.nmant)), dtype)


@implements(np.frexp)
def frexp(x: Value) -> tuple[Value, Value]:
    """Return the mantissas m and int32 exponents e with x = m * 2**e and 0.5 <= |m| < 1; both are 0 for 0.

    The exponent of NaN and of infinities is 0, in compiled programs that of subnormal numbers, too: they are 0 there.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import frexp
    >>> frexp(np.array([3.0, 0.125]))
    (array([0.75, 0.5 ]), array([ 2, -2], dtype=int32))
    """
    x = as_result(_real("frexp", x))
    if typeof(x).dtype.itemsize < 4:
        mantissa, exponent = frexp(as_dtype(x, np.dtype("float32")))
        return as_dtype(mantissa, typeof(x).dtype), exponent
    exponent = _exponent(lax.stop_gradient(x))
    return ldexp(x, lax.neg(exponent)), exponent


def _exponent(x: Value) -> Value:
    dtype, info = typeof(x).dtype, np.finfo(typeof(x).dtype)
    bits, mask = _bits_of("frexp", dtype), 2 ** int(info.bits - 1 - info.nmant) - 1
    is_small = lax.lt(lax.abs(x), info.smallest_normal)  # subnormal numbers are made normal first
    shift = int(info.nmant) + 1
    scaled = lax.select(is_small, lax.mul(x, dtype.type(2.0**shift)), x)
    biased = lax.shift_right_logical(lax.bitcast_convert_type(scaled, bits), bits.type(info.nmant))
    biased = as_dtype(lax.bitwise_and(biased, bits.type(mask)), np.dtype("int32"))
    bias = np.int32(info.maxexp - 2)
    exponent = lax.sub(biased, lax.select(is_small, bias + np.int32(shift), bias))
    # The bits of a number that a compiled program takes as zero are not zero; those of its product are.
    return lax.select(lax.bitwise_or(lax.eq(biased, 0), lax.bitwise_not(lax.is_finite(x))), 0, exponent)


@implements(np.spacing)
def spacing(x: Value) -> Value:
    """Return the distance from x to the next float away from zero, with the sign of x.

    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import spacing
    >>> spacing(1.0)
    np.float64(2.220446049250313e-16)
    """
    x = lax.stop_gradient(as_result(_real("spacing", x)))
    if typeof(x).dtype == np.float16:  # NumPy gives the distance to the next greater float
        return lax.select(isinf(x), np.nan, lax.sub(lax.nextafter(x, np.inf), x))
    away = lax.select(lax.lt(x, 0), -np.inf, lax.full_like(x, np.inf))
    return lax.select(isinf(x), np.nan, lax.sub(lax.nextafter(x, away), x))


# Integers


@implements(np.gcd)
def gcd(x1: Value, x2: Value) -> Value:
    """Return the greatest common divisor of integers, by Euclid's algorithm; that of 0 and 0 is 0.

    Raises: TypeError for other numbers.

    >>> import numpy as np
    >>> from calque_numpy import gcd
    >>> gcd(np.array([12, 18, 0]), 8)
    array([4, 2, 8])
    """
    dtype = _dtype_of_integers("gcd", x1, x2)
    return as_dtype(_divisor(*_integers("gcd", x1, x2)), dtype)


def _dtype_of_integers(name: str, x1: Value, x2: Value) -> np.dtype[Any]:
    check_dtypes(name, (typeof(x1), typeof(x2)))
    return result_type(x1, x2)


def _divisor(x1: Value, x2: Value) -> Value:
    """Return the greatest common divisor of unsigned integers."""

    def step(pair: tuple[Value, Value]) -> tuple[Value, Value]:
        x, y = pair
        is_zero = lax.eq(y, 0)
        return lax.select(is_zero, x, y), lax.select(is_zero, 0, lax.rem(x, lax.select(is_zero, 1, y)))

    return lax.while_loop(lambda pair: lax.reduce_or(lax.ne(pair[1], 0)), step, (x1, x2))[0]


def _integers(name: str, x1: Value, x2: Value) -> tuple[Value, Value]:
    """Return the absolute values of two integers as unsigned integers of one shape, which hold that of the least."""
    check_dtypes(name, (typeof(x1), typeof(x2)))
    x1, x2 = binary(name, x1, x2)
    if typeof(x1).kind not in "iu":
        raise TypeError(f"{name} of {typeof(x1)} and {typeof(x2)}{place()}. Give integers.")
    shape = lax.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    x1, x2 = (broadcast_to(as_result(x), shape) for x in (x1, x2))
    unsigned = UNSIGNED[typeof(x1).dtype.itemsize]
    return (x1, x2) if typeof(x1).kind == "u" else tuple(as_dtype(lax.abs(x), unsigned) for x in (x1, x2))


@implements(np.lcm)
def lcm(x1: Value, x2: Value) -> Value:
    """Return the least common multiple of integers, which is 0 if one is 0.

    Raises: TypeError for other numbers.

    >>> import numpy as np
    >>> from calque_numpy import lcm
    >>> lcm(4, np.array([6, 0]))
    array([12,  0])
    """
    dtype = _dtype_of_integers("lcm", x1, x2)
    x1, x2 = _integers("lcm", x1, x2)
    divisor = _divisor(x1, x2)
    return as_dtype(lax.mul(x1, lax.div(x2, lax.select(lax.eq(divisor, 0), 1, divisor))), dtype)


# Functions of analysis


@implements(np.logaddexp2)
def logaddexp2(x1: Value, x2: Value) -> Value:
    """Return log2(2**x1 + 2**x2), without an overflow.

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import logaddexp2
    >>> logaddexp2(3.0, 3.0)
    np.float64(4.0)
    """
    x1, x2 = _real_pair("logaddexp2", x1, x2)
    return lax.div(logaddexp(lax.mul(x1, math.log(2)), lax.mul(x2, math.log(2))), math.log(2))


@implements(np.sinc)
def sinc(x: Value) -> Value:
    """Return sin(pi x) / (pi x), which is 1 at 0; near 0 by its Taylor series, so that all derivatives are right.

    >>> import numpy as np
    >>> from calque_numpy import sinc
    >>> sinc(np.array([0.0, 0.5]))
    array([1.        , 0.63661977])
    """
    x = _double_of_integers(x)
    is_near = lax.lt(lax.abs(x), 0.5)  # the terms of the derivatives of the quotient would cancel
    far, near = lax.select(is_near, 1, x), lax.mul(lax.select(is_near, x, 0), math.pi)
    series = as_dtype(polynomial(lax.mul(near, near), _SINC_COEFFICIENTS), typeof(x).dtype)  # which widens short floats
    sine = lax.sin(lax.mul(far, math.pi)) if typeof(far).kind == "c" else _sine_of_turns(far)
    return lax.select(is_near, series, lax.div(lax.mul(sine, 1 / math.pi), far))


def _sine_of_turns(x: Value) -> Value:
    """Return sin(pi x) from the distance of x to a whole number, which is exact: so are the roots.

    The product of pi and a large number is rounded, or overflows.
    """
    turn = lax.rem(x, 2)
    whole = lax.stop_gradient(lax.round(turn, lax.RoundingMethod.TO_NEAREST_EVEN))
    sine = lax.sin(lax.mul(lax.sub(turn, whole), math.pi))
    return lax.select(lax.eq(lax.abs(whole), 1), lax.neg(sine), sine)


_SINC_COEFFICIENTS = [(-1.0) ** n / math.factorial(2 * n + 1) for n in range(14)]  # the next term is below 1e-25


@implements(np.i0)
def i0(x: Value) -> Value:
    """Return the modified Bessel function of order 0.

    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy import i0
    >>> i0(np.array([0.0, 1.0]))
    array([1.        , 1.26606588])
    """
    x = _real("i0", _double_of_integers(x))
    return i0_p.bind(x)


def flat_abs(x: Value) -> Value:
    """Return |x| with the derivative 0 at 0, where the rules of the scaled Bessel functions take it as 0, too.

    >>> flat_abs(-2.0)
    np.float64(2.0)
    """
    return lax.mul(lax.sign(x), x)


def _double_of_integers(x: Value) -> Value:
    """Return integers and bools as float64: a function that NumPy writes in Python computes with Python's floats."""
    return as_dtype(x, wide_float(typeof(x).dtype)) if typeof(x).kind in "biu" else floating(x)
