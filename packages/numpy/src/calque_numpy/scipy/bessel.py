"""Modified Bessel functions of the first kind, of order 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import lax
from calque_numpy.scipy.floats import elementwise

Value = Any


def _times_exp(scaled: Value, x: Value, at_infinity: Value) -> Value:
    """Return scaled * exp(|x|); half of the exponent at a time, since exp(|x|) overflows first."""
    half = lax.exp(lax.mul(0.5, lax.abs(x)))
    return lax.select(lax.eq(lax.abs(x), np.inf), at_infinity, lax.mul(lax.mul(scaled, half), half))


@elementwise()
def i0(x: Value, /) -> Value:
    """Return the modified Bessel function of order 0.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 16 + |x| ulp.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import i0
    >>> i0(0.0)
    np.float64(1.0)
    """
    return _times_exp(lax.bessel_i0e(x), x, lax.abs(x))


@elementwise()
def i0e(x: Value, /) -> Value:
    """Return exp(-|x|) i0(x).  Accuracy: 16 ulp.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import i0e
    >>> i0e(0.0)
    np.float64(1.0)
    """
    return lax.bessel_i0e(x)


@elementwise()
def i1(x: Value, /) -> Value:
    """Return the modified Bessel function of order 1.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 16 + |x| ulp.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import i1
    >>> i1(0.0)
    np.float64(0.0)
    """
    return _times_exp(lax.bessel_i1e(x), x, x)


@elementwise()
def i1e(x: Value, /) -> Value:
    """Return exp(-|x|) i1(x).  Accuracy: 16 ulp.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import i1e
    >>> i1e(0.0)
    np.float64(0.0)
    """
    return lax.bessel_i1e(x)
