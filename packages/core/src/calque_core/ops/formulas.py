"""NumPy evaluation of the functions that NumPy does not have.

Each takes arrays or scalars of one dtype, keeps that dtype, and raises no floating-point warning where the mathematics
is fine.  Nothing here is a primitive: `elementwise.py`, `compare.py` and `rounding.py` give these functions to theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.avals import typeof
from calque_core.ops.declare import undefined
from calque_core.source import where

Value = Any


def kind_of(x: Value) -> str:
    """Return the NumPy kind ('b', 'i', 'u', 'f', 'c', 'V') of an array or of a NumPy or Python scalar."""
    return np.asarray(x).dtype.kind


def divide(x: Value, y: Value) -> Value:
    """Return x / y; integers are truncated towards zero."""
    kind = kind_of(x)
    if kind == "b":
        raise TypeError(undefined("div", typeof(x)))
    if kind not in "iu":
        return np.divide(x, y)
    return np.floor_divide(np.subtract(x, remainder(x, y, "div")), y)


def remainder(x: Value, y: Value, name: str = "rem") -> Value:
    """Return the remainder of truncating division: it has the sign of x.

    Raises: ZeroDivisionError for integers divided by zero, unless the caller has NumPy ignore divisions by zero.
    """
    kind = kind_of(x)
    if kind == "b":
        raise TypeError(undefined("rem", typeof(x)))
    if kind in "iu" and not np.all(y) and np.geterr()["divide"] != "ignore":
        raise ZeroDivisionError(f"{name}{where()}: an integer divisor is zero. Replace the zeros, or divide floats.")
    return np.fmod(x, y)


def reciprocal_sqrt(x: Value) -> Value:
    """Return 1 / sqrt(x)."""
    return np.reciprocal(np.sqrt(x))


def integer_power(x: Value, y: int) -> Value:
    """Return x**y by repeated squaring, the order in which compiled programs multiply too."""
    if y < 0:
        if kind_of(x) in "iu":
            raise TypeError(integer_power_refusal(y))
        return np.reciprocal(integer_power(x, -y))
    if y == 0:
        return np.ones_like(x)[()]
    while not y & 1:
        x, y = np.multiply(x, x), y >> 1
    out = x
    while y := y >> 1:
        x = np.multiply(x, x)
        out = np.multiply(out, x) if y & 1 else out
    return np.positive(out)


def integer_power_refusal(y: int) -> str:
    """Return the message for integers raised to a negative power."""
    return f"integer_pow{where()}: integers cannot be raised to the negative power {y}. Convert them to floats first."


def round_half_away(x: Value) -> Value:
    """Return the nearest whole number; halves go away from zero."""
    fraction, whole = np.modf(x)
    return np.where(np.abs(fraction) >= 0.5, whole + np.sign(fraction), whole)[()]


def shift_right(x: Value, y: Value, *, signed: bool) -> Value:
    """Return the bits of x moved right by y places; the sign bit fills in if `signed`, zeros otherwise."""
    dtype = np.result_type(x, y)
    bits, size = np.dtype(f"{'i' if signed else 'u'}{dtype.itemsize}"), np.dtype(f"u{dtype.itemsize}")
    places = np.minimum(np.asarray(y, dtype).view(size), size.type(8 * dtype.itemsize)).astype(bits)
    return np.right_shift(np.asarray(x, dtype).view(bits), places).view(dtype)
