"""The normal distribution: its distribution function, with the logarithm and the inverse of it, and in two variables.

Read next: `slopes.py`; `coefficients.py`, and the script that derives them.
"""

from __future__ import annotations

import math
from typing import Any

from calque_core import Primitive, lax, typeof
from calque_core.engine import normal_quantile, polynomial
from calque_numpy.scipy import coefficients as tables
from calque_numpy.scipy.faddeeva import erfcx_p
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.probability import where_safe
from calque_numpy.scipy.slopes import declare

Value = Any

_ROOT_HALF = math.sqrt(0.5)


@elementwise()
def ndtr(x: Value, /) -> Value:
    """Return the area under the normal density from minus infinity to x.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.  Accuracy: 8 + 2 x**2 ulp, as the density's.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import ndtr
    >>> ndtr(np.array([-np.inf, 0.0, 1.0]))
    array([0.        , 0.5       , 0.84134475])
    """
    return lax.mul(0.5, lax.erfc(lax.mul(x, -_ROOT_HALF)))


_TAIL = {4: -10.0, 8: -20.0}  # by the size of the dtype: below, ten terms of the asymptotic series have all digits
_TAIL_SERIES = [float((-1) ** n * math.prod(range(1, 2 * n, 2))) for n in range(11)]


def _log_ndtr_formula(x: Value) -> Value:
    is_tail, is_upper = lax.lt(x, _TAIL[typeof(x).dtype.itemsize]), lax.gt(x, -1.0)
    is_middle = lax.bitwise_not(lax.bitwise_or(is_tail, is_upper))
    size = lax.neg(where_safe(is_tail, x, -30.0))
    series = polynomial(lax.reciprocal(lax.mul(size, size)), _TAIL_SERIES)  # DLMF 7.12.1
    factor_log = lax.add(lax.log(lax.mul(size, math.sqrt(2 * math.pi))), lax.neg(lax.log(series)))
    tail = lax.neg(lax.add(lax.mul(lax.mul(0.5, size), size), factor_log))
    middle = lax.log(lax.mul(0.5, lax.erfc(lax.mul(where_safe(is_middle, x, -1.0), -_ROOT_HALF))))
    upper = lax.log1p(lax.mul(-0.5, lax.erfc(lax.mul(where_safe(is_upper, x, 0.0), _ROOT_HALF))))
    return lax.select(is_tail, tail, lax.select(is_upper, upper, middle))


def _log_ndtr_slope(out: Value, x: Value) -> Value:
    """Return the density over ndtr; for negative x both have the factor exp(-x**2 / 2), which `erfcx` lacks."""
    is_lower, is_far = x < 0.0, x < _FARTHEST
    low = math.sqrt(2 / math.pi) / erfcx_p.bind(lax.select(is_lower & ~is_far, x, 0.0) * -_ROOT_HALF)
    high = lax.select(is_lower, 0.0, lax.min(x, -_FARTHEST))
    density = lax.exp(-0.5 * high * high) / math.sqrt(2 * math.pi)
    high = density / (1.0 - 0.5 * lax.erfc(high * _ROOT_HALF))
    out = lax.select(is_far, -x, lax.select(is_lower, low, high))
    return lax.select(lax.ne(x, x), x, out)


_FARTHEST = -1e9  # below, the quotient is -x to rounding
log_ndtr_p = declare("log_ndtr", _log_ndtr_formula, _log_ndtr_slope)


@elementwise()
def log_ndtr(x: Value, /) -> Value:
    """Return log(ndtr(x)), also in the tail, where ndtr underflows.  Accuracy: 16 ulp below 0.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import log_ndtr
    >>> log_ndtr(np.array([-1000.0, 0.0, 10.0]))
    array([-5.00007827e+05, -6.93147181e-01, -7.61985302e-24])
    """
    return log_ndtr_p.bind(x)


def _ndtri_formula(p: Value) -> Value:
    """Return the quantile by Wichura's algorithm AS 241, Applied Statistics 37 (1988)."""
    is_inside = (p > 0.0) & (p < 1.0)
    tail = lax.select(is_inside, lax.min(p, 1.0 - p), 0.5)
    inside = normal_quantile(lax.select(is_inside, p, 0.5) - 0.5, tail)
    edge = lax.select(p == 0.0, -math.inf, lax.select(p == 1.0, math.inf, lax.full_like(p, math.nan)))
    return lax.select(is_inside, inside, edge)


def _ndtri_slope_formula(p: Value) -> Value:
    """Return one over the density at the quantile: the tail over `erfcx`, as a square in an exponent loses digits."""
    tail, size = lax.min(p, 1.0 - p), abs(ndtri_p.bind(p))
    slope = math.sqrt(math.pi / 2) * erfcx_p.bind(size * _ROOT_HALF) / lax.select(tail > 0.0, tail, 1.0)
    return lax.select(tail == 0.0, math.inf, lax.select(tail > 0.0, slope, math.nan))


ndtri_slope_p = declare("ndtri_slope", _ndtri_slope_formula, lambda out, p: (ndtri_p.bind(p) * out) * out)
ndtri_p: Primitive = declare("ndtri", _ndtri_formula, lambda out, p: ndtri_slope_p.bind(p))


@elementwise()
def ndtri(y: Value, /) -> Value:
    """Return the inverse of ndtr: infinite at 0 and 1, NaN outside.  Accuracy: 8 ulp.

    Shapes: y [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import ndtri
    >>> ndtri(np.array([0.0, 0.5, 0.975]))
    array([      -inf, 0.        , 1.95996398])
    """
    return ndtri_p.bind(y)


# Owen's function

_ENDS = 8.5  # exp(-x**2 / 2) is no longer counted beside exp(0)
_SWITCH = 0.67
_LARGEST = 1e3  # exp(-h**2 / 2) is 0 long before


def _near_owens_t(h: Value, a: Value) -> Value:
    """Return T(h, a) for h >= 0 and 0 <= a <= 1 by the rule of Gauss and Legendre: an even, positive integrand."""
    h = lax.min(h, _LARGEST)
    end = lax.min(a, _ENDS / lax.max(h, _ENDS))
    total = 0.0
    for node, weight in zip(tables.GAUSS_NODES, tables.GAUSS_WEIGHTS, strict=True):
        t = end * node
        total = total + weight * lax.exp(-0.5 * (h * t) * (h * t)) / (1.0 + t * t)
    return end * total * lax.exp(-0.5 * h * h) * (0.5 / math.pi)


def _owens_t_formula(h: Value, a: Value) -> Value:
    """Return T(h, a); for a > 1 from T(a h, 1 / a), without a cancellation for small or large h.

    Source: Patefield & Tandy (2000), Fast and accurate calculation of Owen's T function, section 2.
    """
    h, size = abs(h), abs(a)
    is_near = size <= 1.0
    product = lax.select(h == 0.0, 0.0, h * size)
    inner = _near_owens_t(lax.select(is_near, h, product), lax.select(is_near, size, 1.0 / lax.max(size, 1.0)))
    low = 0.25 - 0.25 * lax.erf(h * _ROOT_HALF) * lax.erf(product * _ROOT_HALF)
    first, second = lax.erfc(h * _ROOT_HALF), lax.erfc(product * _ROOT_HALF)
    high = 0.25 * (first + second) - 0.25 * first * second
    out = lax.select(is_near, inner, lax.select(h < _SWITCH, low, high) - inner)
    return lax.select(a < 0.0, -out, out)


def _owens_t_slope_h(out: Value, h: Value, a: Value) -> Value:
    return lax.exp(-0.5 * h * h) * lax.erf(a * h * _ROOT_HALF) * (-0.5 / math.sqrt(2 * math.pi))


def _owens_t_slope_a(out: Value, h: Value, a: Value) -> Value:
    return lax.exp(-0.5 * (h * h + (a * h) * (a * h))) / (1.0 + a * a) * (0.5 / math.pi)


owens_t_p = declare("owens_t", _owens_t_formula, _owens_t_slope_h, _owens_t_slope_a)


@elementwise()
def owens_t(h: Value, a: Value, /) -> Value:
    """Return Owen's function T: the probability of X > h and 0 < Y < a X for independent standard normal X and Y.

    Shapes: broadcast.  Dtype: promoted; float64 for integers.  Accuracy: 16 + h**2 ulp, as the density's.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> from calque_numpy.scipy.special import owens_t
    >>> round(float(owens_t(0.0, 1.0)), 12)
    0.125
    """
    return owens_t_p.bind(h, a)
