"""The ufuncs of NumPy that are neither arithmetic nor one operation of `lax`: `np.hypot(x, y)` of a tracer.

One idea: a ufunc has a function only if its values, its dtypes and its derivatives are right everywhere: at ties, at
zero, at infinity, for NaN.  So a mask chooses the larger of two where `max` would halve the derivative.

Read next: `numpy_names.py`, the table of all ufuncs; `numpy_protocol.py`, which calls its functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.numpy_arithmetic import (
    as_dtype,
    kind,
    number,
    real,
    truth,
)
from calque_core.ops.elementwise.declare import as_result
from calque_core.ops.elementwise.exponential import log_add_exp
from calque_core.ops.elementwise.operands import binary, check_dtypes, check_operands, floating
from calque_core.types.avals import typeof
from calque_core.types.dtypes import REGISTERED, canonicalize_dtype
from calque_core.types.promotion import is_by_kind

Value = Any

_SINGLE, _DOUBLE = np.dtype("float32"), np.dtype("float64")

# Of `hypot`: (n, k) for sizes below 2**n, which are multiplied by 2**k; at last the k of all larger sizes.
_SINGLE_SCALES = ((-83, 86), (-45, 41), (45, 0), (83, -41)), -66
_DOUBLE_SCALES = ((-665, 600), (-400, 335), (400, 0), (665, -335)), -520

# Rounding


def trunc(x: Value) -> Value:
    """Return x without its fraction; integers are returned unchanged.

    Raises: TypeError for complex numbers.
    """
    return as_result(x) if kind(x) in "biu" else lax.select(lax.lt(x, 0), lax.ceil(x), lax.floor(x))


def rint(x: Value) -> Value:
    """Return the nearest integer as a float, ties to even; both components of a complex number are rounded."""
    x = floating(x)
    if kind(x) == "c":
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def nextafter(x: Value, y: Value) -> Value:
    """Return the float next to x on the side of y.

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.
    """
    return lax.nextafter(*float_operands("nextafter", x, y))


def bitwise_count(x: Value) -> Value:
    """Return how many bits of |x| are 1, in uint8; True has one."""
    count = np.dtype("uint8")
    x = as_dtype(x, count) if kind(x) == "b" else lax.abs(x)
    return as_dtype(lax.population_count(x), count)


# Exponentials, logarithms, lengths, angles


def log2(x: Value) -> Value:
    """Return the logarithm to base 2."""
    return _over(lax.log(x), math.log(2))


def log10(x: Value) -> Value:
    """Return the logarithm to base 10."""
    return _over(lax.log(x), math.log(10))


def _over(x: Value, size: float) -> Value:
    """Return x / size; of a complex number, by parts, since an infinity divided by a complex number is NaN."""
    if kind(x) == "c":
        return lax.complex(lax.div(lax.real(x), size), lax.div(lax.imag(x), size))
    return lax.div(x, size)


def deg2rad(x: Value) -> Value:
    """Return degrees in radians.

    Raises: TypeError for complex numbers.
    """
    return lax.mul(real("deg2rad", x), math.pi / 180)


def rad2deg(x: Value) -> Value:
    """Return radians in degrees.

    Raises: TypeError for complex numbers.
    """
    return lax.mul(real("rad2deg", x), 180 / math.pi)


def arctan2(x: Value, y: Value) -> Value:
    """Return the angle, from -pi to pi, of the point with ordinate x and abscissa y.

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.
    """
    return lax.atan2(*float_operands("arctan2", x, y))


def float_operands(name: str, x: Value, y: Value) -> tuple[Value, Value]:
    """Return two promoted operands as floats: NumPy converts each alone, unless one is a Python scalar.

    NumPy converts 8 bits to float16, which would widen a short float; so short floats are promoted first, as in jax.
    """
    x_aval, y_aval = typeof(x), typeof(y)
    all_builtin = REGISTERED not in (x_aval.dtype.isbuiltin, y_aval.dtype.isbuiltin)
    if all_builtin and not x_aval.weak_type and not y_aval.weak_type and not is_by_kind():
        if x_aval.dtype is not y_aval.dtype:
            check_dtypes(name, (x_aval, y_aval))
        return binary(name, floating(x), floating(y))
    x, y = binary(name, x, y)
    return floating(x), floating(y)


def logaddexp(x: Value, y: Value) -> Value:
    """Return log(exp(x) + exp(y)) without overflow.

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([0.0, 1000.0])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.logaddexp(x, 0.0))(x))(x)
    [array([6.93147181e-01, 1.00000000e+03])]
    """
    return log_add_exp(*float_operands("logaddexp", x, y))


def hypot(x: Value, y: Value) -> Value:
    """Return sqrt(x**2 + y**2) without overflow.

    Both are multiplied by the same power of two, so that their squares and the derivatives neither overflow nor
    underflow; if a side is infinite, so is the result, even beside NaN.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.
    """
    x, y = (real("hypot", side) for side in float_operands("hypot", x, y))
    dtype = canonicalize_dtype(typeof(x).dtype)  # a value of 64 bits is narrowed in a block of 32 bits
    if dtype.itemsize < _SINGLE.itemsize:
        return as_dtype(hypot(as_dtype(x, _SINGLE), as_dtype(y, _SINGLE)), dtype)
    x_size, y_size = lax.abs(x), lax.abs(y)
    size = lax.max(x_size, y_size)
    is_infinite = lax.bitwise_or(lax.eq(x_size, math.inf), lax.eq(y_size, math.inf))
    is_ordinary = lax.bitwise_not(lax.bitwise_or(is_infinite, lax.eq(size, 0)))
    scale = _moderating(size, dtype)
    x_side, y_side = (lax.select(is_ordinary, lax.mul(side, scale), 1.0) for side in (x, y))
    root = lax.div(lax.sqrt(lax.add(lax.square(x_side), lax.square(y_side))), scale)
    is_larger = lax.bitwise_or(lax.ge(x_size, y_size), isnan(y))
    return lax.select(is_ordinary, root, lax.abs(lax.select(is_larger, x, y)))


def _moderating(size: Value, dtype: np.dtype[Any]) -> Value:
    """Return a power of two 2**k that scales numbers of a size, 2**n, so that their squares keep all digits.

    Derivatives multiply numbers near 2**k by their scaled root, 2**(n + k), or divide by it, and second derivatives
    by its square.  So not the squares alone have to be moderate, but also 2**(n + 2 * k) and 2**(n - k).
    """
    steps, last = _DOUBLE_SCALES if dtype == _DOUBLE else _SINGLE_SCALES
    scale: Value = dtype.type(2.0**last)
    for bound, exponent in reversed(steps):
        scale = lax.select(lax.lt(size, 2.0**bound), dtype.type(2.0**exponent), scale)
    return scale


# Comparisons and logic


def heaviside(x: Value, y: Value) -> Value:
    """Return 0 where x < 0, y where x == 0, 1 where x > 0, and NaN for NaN.

    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.
    """
    x, y = float_operands("heaviside", x, y)
    step = as_dtype(lax.gt(x, 0), typeof(x).dtype)
    return lax.select(lax.eq(x, 0), y, lax.select(lax.ne(x, x), x, step))


def isnan(x: Value) -> Value:
    """Tell where x is NaN; integers never are."""
    return lax.ne(x, x)


def isfinite(x: Value) -> Value:
    """Tell where x is neither infinite nor NaN: always for integers, for complex numbers if both parts are finite."""
    if kind(x) == "c":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.eq(x, x) if kind(x) in "biu" else lax.is_finite(x)


def isinf(x: Value) -> Value:
    """Tell where x is plus or minus infinity; integers never are; complex numbers are if one part is."""
    if kind(x) == "c":
        return lax.bitwise_or(isinf(lax.real(x)), isinf(lax.imag(x)))
    return lax.ne(x, x) if kind(x) in "biu" else lax.eq(lax.abs(x), math.inf)


def logical_and(x: Value, y: Value) -> Value:
    """Tell where both are true.

    Raises: ShapeError if the shapes do not broadcast.
    """
    x, y = truth(x), truth(y)
    check_operands("logical_and", x, y)
    return lax.bitwise_and(x, y)


def logical_or(x: Value, y: Value) -> Value:
    """Tell where at least one is true.

    Raises: ShapeError if the shapes do not broadcast.
    """
    x, y = truth(x), truth(y)
    check_operands("logical_or", x, y)
    return lax.bitwise_or(x, y)


def logical_xor(x: Value, y: Value) -> Value:
    """Tell where exactly one is true.

    Raises: ShapeError if the shapes do not broadcast.
    """
    x, y = truth(x), truth(y)
    check_operands("logical_xor", x, y)
    return lax.bitwise_xor(x, y)


def logical_not(x: Value) -> Value:
    """Tell where x is false."""
    return lax.bitwise_not(truth(x))


def fmax(x: Value, y: Value) -> Value:
    """Return the larger; where one operand is NaN, the other operand.

    Raises: ShapeError if the shapes do not broadcast.
    """
    return lax.max(*_without_nan(*binary("fmax", x, y)))


def fmin(x: Value, y: Value) -> Value:
    """Return the smaller; where one operand is NaN, the other operand.

    Raises: ShapeError if the shapes do not broadcast.
    """
    return lax.min(*_without_nan(*binary("fmin", x, y)))


def _without_nan(x: Value, y: Value) -> tuple[Value, Value]:
    """Return both operands; the other one replaces a NaN, so that no derivative is NaN.  Two NaNs give the first."""
    if kind(x) in "biu":
        return x, y
    is_replaced = isnan(x)
    if kind(x) == "c":  # one NaN differs from another
        is_replaced = lax.bitwise_and(is_replaced, lax.bitwise_not(isnan(y)))
    return lax.select(is_replaced, y, x), lax.select(isnan(y), x, y)


def conjugate(x: Value) -> Value:
    """Return the complex conjugate; a real number is returned unchanged."""
    return lax.conj(x) if kind(x) == "c" else as_result(number(x))
