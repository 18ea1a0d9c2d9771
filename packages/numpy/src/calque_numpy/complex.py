"""Angles of complex numbers, and tests for real numbers.

`real`, `imag` and `conj` are also methods of arrays, so core defines them.  `real_if_close` is missing: the dtype of
its result depends on values, which are unknown while tracing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core import implements, lax, typeof
from calque_core.engine.numpy_functions import binary, floating
from calque_numpy.elementwise import signbit

Value = Any


@implements(np.angle)
def angle(z: Value, deg: bool = False) -> Value:
    """Return the angle between the positive real axis and `z`: from -pi to pi; in degrees with `deg`.

    The angle of a zero is 0 or pi by the sign of its real part, with the sign of its imaginary part; its slope is 0.
    Dtype: the dtype of the real and imaginary parts; a float for integers.

    >>> import numpy as np
    >>> from calque_numpy import angle
    >>> angle(np.array([1.0, 1j]), deg=True)
    array([ 0., 90.])
    """
    z = floating(binary("angle", z, 0)[0])  # promoted with the integer 0, as in NumPy
    dtype = typeof(z).dtype
    if dtype.kind == "c":
        is_zero = lax.eq(z, 0)
        out = lax.imag(lax.log(lax.select(is_zero, dtype.type(1), z)))
        out = lax.select(is_zero, _angle_of_zero(z, typeof(out).dtype), out)
    else:
        out = lax.select(lax.ne(z, z), z, lax.select(signbit(z), dtype.type(math.pi), dtype.type(0)))
    return lax.mul(out, 180 / math.pi) if deg else out


def _angle_of_zero(z: Value, dtype: np.dtype[Any]) -> Value:
    """Return 0 or pi with a sign, by the signs of both parts."""
    half_turn = lax.select(signbit(lax.real(z)), dtype.type(math.pi), dtype.type(0))
    return lax.select(signbit(lax.imag(z)), lax.neg(half_turn), half_turn)


@implements(np.iscomplex)
def iscomplex(x: Value) -> Value:
    """Return whether each element has a nonzero imaginary part.

    >>> import numpy as np
    >>> from calque_numpy import iscomplex
    >>> iscomplex(np.array([1 + 1j, 1 + 0j]))
    array([ True, False])
    """
    return lax.ne(lax.imag(x), 0)


@implements(np.isreal)
def isreal(x: Value) -> Value:
    """Return whether each element has no imaginary part or a zero one.

    >>> import numpy as np
    >>> from calque_numpy import isreal
    >>> isreal(np.array([1 + 1j, 1 + 0j]))
    array([False,  True])
    """
    return lax.eq(lax.imag(x), 0)
