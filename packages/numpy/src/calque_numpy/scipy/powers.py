"""Transformations by powers, which are a logarithm for the power 0.

One idea: with the logarithm L of the operand, the function is (exp(p L) - 1) / p; its derivatives have formulas of
their own, whose digits do not cancel for small p L.

Read next: `slopes.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import Primitive, lax, typeof
from calque_core.engine import polynomial
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.slopes import declare

Value = Any

_FLAT = 1e-19  # a smaller power counts as 0
_SLOPE = [(k + 1) / math.factorial(k + 2) for k in range(16)]


def _transformed(logarithm: Value, p: Value) -> Value:
    """Return (exp(p L) - 1) / p; a power that overflows is divided in the exponent."""
    product, is_flat = p * logarithm, abs(p) < _FLAT
    divisor = lax.select(is_flat, 1.0, p)
    is_large = product > math.log(float(np.finfo(typeof(p).dtype).max)) - 1.0
    size = lax.exp(product - lax.log(abs(divisor)))
    large = lax.select(p < 0.0, -size, size) - 1.0 / divisor
    return lax.select(is_flat, logarithm, lax.select(is_large, large, lax.expm1(product) / divisor))


def _slope_of_power(logarithm: Value, p: Value) -> Value:
    """Return the derivative of `_transformed` in p: a power series in p L where this is small."""
    product = p * logarithm
    is_small = abs(product) < 0.5
    is_near = is_small | (p == 0.0)
    near = logarithm * logarithm * polynomial(lax.select(is_small, product, 0.0), _SLOPE)
    power = lax.select(product == -math.inf, 0.0, lax.exp(product) * (product - 1.0))
    divisor = lax.select(is_near, 1.0, p)
    return lax.select(is_near, near, (power + 1.0) / divisor / divisor)


def _power_transform(name: str, log: Callable[[Value], Value], shift: float) -> Primitive:
    return declare(
        name,
        lambda x, p: _transformed(log(x), p),
        lambda out, x, p: lax.select(p == 1.0, 1.0, lax.pow(x + shift if shift else x, p - 1.0)),
        lambda out, x, p: _slope_of_power(log(x), p),
    )


boxcox_p = _power_transform("boxcox", lax.log, 0.0)
boxcox1p_p = _power_transform("boxcox1p", lax.log1p, 1.0)


@elementwise()
def boxcox(x: Value, lmbda: Value, /) -> Value:
    """Return (x**lmbda - 1) / lmbda, and log(x) for lmbda = 0: NaN for negative x.

    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 8 ulp and 2 |lmbda log(x)| ulp more.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import boxcox
    >>> boxcox(4.0, np.array([0.5, 1.0]))
    array([2., 3.])
    """
    return boxcox_p.bind(x, lmbda)


@elementwise()
def boxcox1p(x: Value, lmbda: Value, /) -> Value:
    """Return ((1 + x)**lmbda - 1) / lmbda, and log(1 + x) for lmbda = 0, without a rounding of 1 + x.

    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 8 ulp and 2 |lmbda log(1 + x)| ulp more.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> from calque_numpy.scipy.special import boxcox1p
    >>> boxcox1p(1e-300, 2.0)
    np.float64(1e-300)
    """
    return boxcox1p_p.bind(x, lmbda)
