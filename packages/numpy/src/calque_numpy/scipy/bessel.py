"""Bessel functions of the first kind: modified ones of order 0 and 1, and those of whole orders.

Read next: `modified_bessel.py` beside this folder, `slopes.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import calque_special
from calque_core import lax, result_type, typeof
from calque_core.engine.numpy_functions import array_of, as_dtype
from calque_core.extend import integer
from calque_core.extend import where as place
from calque_numpy.modified_bessel import i0_p, i1_p
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.slopes import declare
from calque_special.kit import gamma_of

Value = Any


@elementwise()
def i0(x: Value, /) -> Value:
    """Return the modified Bessel function of order 0.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 16 + |x| ulp.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import i0
    >>> i0(0.0)
    np.float64(1.0)
    """
    return i0_p.bind(x)


@elementwise()
def i0e(x: Value, /) -> Value:
    """Return exp(-|x|) i0(x).  Accuracy: 16 ulp.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import i0e
    >>> i0e(0.0)
    np.float64(1.0)
    """
    return calque_special.bessel_i0e(x)


@elementwise()
def i1(x: Value, /) -> Value:
    """Return the modified Bessel function of order 1.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 16 + |x| ulp.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import i1
    >>> i1(0.0)
    np.float64(0.0)
    """
    return i1_p.bind(x)


@elementwise()
def i1e(x: Value, /) -> Value:
    """Return exp(-|x|) i1(x).  Accuracy: 16 ulp.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import i1e
    >>> i1e(0.0)
    np.float64(0.0)
    """
    return calque_special.bessel_i1e(x)


# Bessel functions of whole orders

_TINY = 1e-8  # below, one term of the power series has all digits
_HANKEL = 25.0  # from here on, its expansion has all digits for small orders
_TERMS = 26


def _hankel(order: Value, x: Value) -> Value:
    """Return J for large x by Hankel's expansion (DLMF 10.17.3); whole orders turn the phase by quarters."""
    square, term = 4.0 * order * order, lax.full_like(x, 1.0)
    even, odd = term, lax.full_like(x, 0.0)
    for k in range(1, _TERMS):
        term = term * ((square - float(2 * k - 1) ** 2) / (x * (8.0 * k)))
        sign = 1.0 if k % 4 < 2 else -1.0
        even, odd = (even, odd + sign * term) if k % 2 else (even + sign * term, odd)
    cosine, sine = lax.cos(x), lax.sin(x)
    quarter = order - 4.0 * lax.floor(order / 4.0)
    c, s = cosine + sine, sine - cosine
    is_odd, is_low = (quarter == 1.0) | (quarter == 3.0), quarter < 2.0
    c, s = lax.select(is_odd, s, c), lax.select(is_odd, -c, s)
    out = (even * c - odd * s) * lax.rsqrt(x * math.pi)
    return lax.select(is_low, out, -out)


def _miller(order: Value, x: Value) -> Value:
    """Return J by the recurrence from above, scaled so that J_0 + 2 J_2 + 2 J_4 + ... = 1 (DLMF 10.12.4).

    Source: Olver, in DLMF 3.6(iii), after J. C. P. Miller.
    """
    start = lax.max(order + 8.0 * lax.sqrt(order), x + 8.0 * lax.cbrt(x)) + 24.0
    first = 2.0 * lax.ceil(0.5 * lax.reduce_max(start))
    zero = lax.full_like(x, 0.0)

    def is_open(carry: Value) -> Value:
        return carry[0] >= 1.0

    def step(carry: Value) -> Value:
        n, above, here, at_order, total = carry
        below = (2.0 * n / x) * here - above
        scale = lax.select(abs(below) > 1e10, 1.0 / abs(below), 1.0)
        at_order = lax.select(n == order, here, at_order) * scale
        is_even = lax.floor(0.5 * n) * 2.0 == n
        total = (total + lax.select(is_even, 2.0 * here, 0.0)) * scale
        return n - 1.0, here * scale, below * scale, at_order, total

    carry = (first, zero, lax.full_like(x, 1e-10), zero, zero)
    _, _, last, at_order, total = lax.while_loop(is_open, step, carry)
    return lax.select(order == 0.0, last, at_order) / (total + last)


def _bessel_j_formula(order: Value, x: Value) -> Value:
    size = abs(x)
    is_number = (size < math.inf) & (order < 1e6)
    is_large = is_number & (size > _HANKEL + 0.5 * order * order)
    is_tiny = size < _TINY
    is_other = is_number & ~is_large & ~is_tiny
    large = _hankel(lax.select(is_large, order, 0.0), lax.select(is_large, size, _HANKEL))
    near = _miller(lax.select(is_other, order, 0.0), lax.select(is_other, size, 1.0))
    tiny = lax.pow(0.5 * lax.select(is_tiny, size, 0.0), order) / gamma_of(lax.select(is_tiny, order, 0.0) + 1.0)
    out = lax.select(is_large, large, lax.select(is_tiny, tiny, near))
    is_odd = lax.floor(0.5 * order) * 2.0 != order
    out = lax.select(size == math.inf, 0.0, lax.select((x < 0.0) & is_odd, -out, out))
    return lax.select(lax.ne(x, x), x, out)


def _bessel_j_slope(out: Value, order: Value, x: Value) -> Value:
    """Return (J_(n-1) - J_(n+1)) / 2, where J_(-1) is -J_1 (DLMF 10.6.1)."""
    is_zero = order == 0.0
    below = bessel_j_p.bind(lax.select(is_zero, 1.0, order - 1.0), x)
    above = bessel_j_p.bind(order + 1.0, x)
    return lax.select(is_zero, -above, 0.5 * (below - above))


bessel_j_p = declare("bessel_j", _bessel_j_formula, "the order", _bessel_j_slope)


def bessel_jn(z: Value, *, v: int, n_iter: int = 50) -> Value:
    """Return the Bessel functions of the first kind of the orders 0 to v.

    `n_iter`, jax's number of steps, is not needed: the steps follow from z.
    Shapes: z [*s] -> [v + 1, *s].  Dtype: kept; float64 for integers.  Accuracy: 32 ulp of the largest of the function
    and, beyond its first zero, 1 / sqrt(z).
    Raises: TypeError for complex numbers, and if `v` is no integer; ValueError if it is negative.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import bessel_jn
    >>> bessel_jn(np.array([0.0, 1.0]), v=1)
    array([[1.        , 0.76519769],
           [0.        , 0.44005059]])
    """
    count = integer("bessel_jn", "v", v)
    integer("bessel_jn", "n_iter", n_iter)
    if count < 0:
        raise ValueError(f"bessel_jn{place()}: v is {count}. Give the greatest order, 0 or more.")
    z = array_of(z) if isinstance(z, (list, tuple)) else z
    orders = np.arange(count + 1, dtype=np.int8 if count < 128 else np.int32).reshape(-1, *[1] * len(typeof(z).shape))
    dtype = result_type(z, orders)
    return _bessel_jn(as_dtype(z, dtype), as_dtype(orders, dtype))


@elementwise()
def _bessel_jn(z: Value, orders: Value) -> Value:
    return bessel_j_p.bind(orders, z)
