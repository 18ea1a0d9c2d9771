"""Derivatives of the logarithm of the gamma function, and the zeta function, which those of higher order are made of.

One idea: the functions of `calque_special` serve; a difference of two values of `digamma` has a series of its own.

Read next: `combinatorics.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import calque_special
from calque_core import lax, typeof
from calque_core.engine.numpy_functions import check_dtypes
from calque_numpy.scipy.floats import elementwise

Value = Any


@elementwise("psi")
def digamma(x: Value, /) -> Value:
    """Return the derivative of gammaln; psi is its second name.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 8 ulp for positive x.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import digamma
    >>> round(float(digamma(1.0)), 12)
    -0.577215664902
    """
    return calque_special.digamma(x)


psi = digamma


@elementwise()
def polygamma(n: Value, x: Value, /) -> Value:
    """Return the derivative of order n of digamma; only x has a derivative.

    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 16 + n ulp.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import polygamma
    >>> polygamma(np.array([0, 1]), 1.0)
    array([-0.57721566,  1.64493407])
    """
    return calque_special.polygamma(n, x)


def zeta(x: Value, q: Value = 1.0) -> Value:
    """Return Hurwitz' zeta function, the sum of (k + q)**-x over k = 0, 1, ...: Riemann's for q = 1.

    Only q has a derivative.  Riemann's function has all arguments; otherwise NaN where x < 1 or q < 0.  Infinite where
    x = 1 or q = 0.
    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 8 + |x| ulp.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> from calque_numpy.scipy.special import zeta
    >>> round(float(zeta(2.0)), 12)
    1.644934066848
    """
    q = 1.0 if q is None else q
    check_dtypes("zeta", (typeof(x), typeof(q)))
    return _zeta(x, q)


@elementwise()
def _zeta(x: Value, q: Value) -> Value:
    return calque_special.zeta(x, q)


@elementwise()
def _riemann_zeta(x: Value) -> Value:
    """Implement the ufunc that SciPy's `zeta` calls without q."""
    return calque_special.zeta(x, lax.full_like(x, 1.0))


_DIGAMMA = [float(b) for b in (-1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12)]  # -B_2k / (2k), DLMF 5.11.2
_DIGAMMA = [-1 / 12, 691 / 32760, *_DIGAMMA]


def digamma_step(x: Value, step: Value, total: Value) -> Value:
    """Return digamma(total) - digamma(x), from 8 on without cancellation: also in its derivatives.

    `total` is x + step; a sum of two would lose its digits, or those of the step.  The series in 1 / x**2 has a divided
    difference by Horner's rule.
    """
    are_large = (x >= 8.0) & (total >= 8.0) & (total < np.inf)
    small, small_total = lax.select(are_large, 1.0, x), lax.select(are_large, 1.0, total)
    u, v = 1.0 / lax.select(are_large, x, 8.0), 1.0 / lax.select(are_large, total, 8.0)
    ratio = lax.select(are_large, step, 0.0) * u
    first, second = u * u, v * v
    value, slope = lax.full_like(u, _DIGAMMA[0]), lax.full_like(u, 0.0)
    for coefficient in _DIGAMMA[1:]:
        value, slope = value * first + coefficient, slope * second + value
    slope = slope * second + value
    difference = ratio * v  # u - v
    large = lax.log1p(ratio) + 0.5 * difference - difference * (u + v) * slope
    return lax.select(are_large, large, calque_special.digamma(small_total) - calque_special.digamma(small))
