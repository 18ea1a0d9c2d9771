"""The logistic function, the error functions, and the terms of entropies and divergences.

One idea: each is a formula in `lax` with operands that are safe in the branches that are not chosen; the terms have
derivatives of their own, which neither overflow nor cancel.

Read next: `slopes.py`, `normal.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import Primitive, lax, typeof
from calque_numpy.scipy.floats import elementwise
from calque_numpy.scipy.slopes import declare
from calque_special.kit import deviance

Value = Any


def where_safe(mask: Value, x: Value, otherwise: float) -> Value:
    """Return x where the mask holds; elsewhere a number at which the branch is finite."""
    return lax.select(mask, x, typeof(x).dtype.type(otherwise))


# The logistic function


@elementwise()
def expit(x: Value, /) -> Value:
    """Return the logistic function 1 / (1 + exp(-x)).

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import expit
    >>> expit(0.0)
    np.float64(0.5)
    """
    return lax.logistic(x)


@elementwise()
def logit(x: Value, /) -> Value:
    """Return log(x / (1 - x)), the inverse of expit: infinite at 0 and 1, NaN outside.  Accuracy: 8 ulp.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import logit
    >>> logit(np.array([0.0, 0.5, 0.75]))
    array([      -inf, 0.        , 1.09861229])
    """
    excess = lax.sub(x, 0.5)  # exact near 0.5, where the two logarithms cancel
    is_near = lax.lt(lax.abs(excess), 0.25)
    near = lax.mul(2.0, lax.atanh(lax.mul(2.0, where_safe(is_near, excess, 0.0))))
    far = where_safe(lax.bitwise_not(is_near), x, 0.25)
    return lax.select(is_near, near, lax.sub(lax.log(far), lax.log1p(lax.neg(far))))


# The error functions


@elementwise()
def erf(x: Value, /) -> Value:
    """Return the error function: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.  Accuracy: 4 ulp.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import erf
    >>> erf(0.5)
    np.float64(0.5204998778130465)
    """
    return lax.erf(x)


@elementwise()
def erfc(x: Value, /) -> Value:
    """Return 1 - erf(x) without cancellation for large x.  Accuracy: 16 ulp.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import erfc
    >>> bool(1e-45 < erfc(10.0) < 1e-44)
    True
    """
    return lax.erfc(x)


@elementwise()
def erfinv(y: Value, /) -> Value:
    """Return the inverse of erf: infinite at -1 and 1, NaN outside.

    Shapes: y [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> from calque_numpy.scipy.special import erfinv
    >>> erfinv(0.5)
    np.float64(0.4769362762044699)
    """
    return lax.erf_inv(y)


# Terms of entropies and divergences


def _product(name: str, log: Callable[[Value], Value], zero: float) -> Primitive:
    """Return x log(y), where log is infinite at `zero` and undefined below; 0 for x = 0 and every y."""

    def formula(x: Value, y: Value) -> Value:
        is_zero = (x == 0.0) & (y == y)  # noqa: PLR0124  NaN is no number
        return lax.select(is_zero, 0.0, x * log(lax.select(is_zero, zero + 1.0, y)))

    def slope_x(out: Value, x: Value, y: Value) -> Value:
        return log(lax.select((x == 0.0) & (y < zero), zero + 1.0, y))

    def slope_y(out: Value, x: Value, y: Value) -> Value:
        is_edge = (x == 0.0) & (y <= zero)
        return lax.select(is_edge, 0.0, x / (lax.select(is_edge, zero + 1.0, y) - zero))

    return declare(name, formula, slope_x, slope_y)


xlogy_p, xlog1py_p = _product("xlogy", lax.log, 0.0), _product("xlog1py", lax.log1p, -1.0)


@elementwise()
def xlogy(x: Value, y: Value, /) -> Value:
    """Return x log(y), which is 0 where x is 0 and y is no NaN.

    Where both are 0, the derivative is -inf in x and 0 in y.
    Shapes: broadcast.  Dtype: promoted; float64 for integers.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import xlogy
    >>> xlogy(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    array([0., 0.])
    """
    return xlogy_p.bind(x, y)


@elementwise()
def xlog1py(x: Value, y: Value, /) -> Value:
    """Return x log(1 + y), which is 0 where x is 0 and y is no NaN.

    Where x is 0 and y is -1, the derivative is -inf in x and 0 in y.
    Shapes: broadcast.  Dtype: promoted; float64 for integers.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> from calque_numpy.scipy.special import xlog1py
    >>> xlog1py(0.0, -1.0)
    np.float64(0.0)
    """
    return xlog1py_p.bind(x, y)


def _entr_formula(x: Value) -> Value:
    is_inner = ~(x <= 0.0)
    y = lax.select(is_inner, x, 1.0)
    return lax.select(is_inner, -(y * lax.log(y)), lax.select(x < 0.0, -np.inf, lax.full_like(x, 0.0)))


def _entr_slope(out: Value, x: Value) -> Value:
    """Return -log(x) - 1; 0 for negative x, where the function is constant."""
    is_negative = x < 0.0
    return lax.select(is_negative, 0.0, -lax.log(lax.select(is_negative, 1.0, x)) - 1.0)


entr_p = declare("entr", _entr_formula, _entr_slope)


@elementwise()
def entr(x: Value, /) -> Value:
    """Return -x log(x): 0 at 0, with an infinite derivative, and -inf for negative x.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import entr
    >>> entr(np.array([-1.0, 0.0, 1.0]))
    array([-inf,   0.,  -0.])
    """
    return entr_p.bind(x)


def _is_outside(x: Value, y: Value) -> Value:
    """Tell where a divergence is infinite: x or y is negative, or y alone is 0."""
    is_inside = ((x == 0.0) & (y >= 0.0)) | ((x > 0.0) & (y > 0.0)) | (x != x) | (y != y)  # noqa: PLR0124
    return ~is_inside


def _log_of_ratio_formula(x: Value, y: Value) -> Value:
    """Return log(x / y), also where the ratio overflows or loses digits; -inf for x = 0, and inf for two zeros."""
    ratio, info = x / y, np.finfo(typeof(x).dtype)
    is_normal = (ratio >= float(info.tiny)) & (ratio <= float(info.max))
    near = lax.select(is_normal, x, 1.0) / lax.select(is_normal, y, 1.0)
    out = lax.select(is_normal, lax.log(near), lax.log(x) - lax.log(y))
    return lax.select(x == 0.0, lax.select(y == 0.0, np.inf, lax.full_like(x, -np.inf)), out)


log_of_ratio_p = declare("log_of_ratio", _log_of_ratio_formula, lambda out, x, y: 1.0 / x, lambda out, x, y: -1.0 / y)


def _log_of_ratio(x: Value, y: Value) -> Value:
    return log_of_ratio_p.bind(x, y)


def _relative_entropy(x: Value, y: Value) -> Value:
    is_zero = x == 0.0
    product = x * _log_of_ratio(lax.select(is_zero, 1.0, x), lax.select(is_zero, 1.0, y))
    return lax.select(is_zero & (y == y), 0.0, product)  # noqa: PLR0124


def _rel_entr_formula(x: Value, y: Value) -> Value:
    return lax.select(_is_outside(x, y), np.inf, _relative_entropy(x, y))


def _kl_div_formula(x: Value, y: Value) -> Value:
    """Return x log(x / y) - x + y; where the terms cancel, x (t - log(1 + t)) with t = (y - x) / x."""
    is_close = (x > 0.0) & (y > 0.6 * x) & (y < 1.4 * x)
    p, q = lax.select(is_close, x, 1.0), lax.select(is_close, y, 1.0)
    close = p * deviance((q - p) / p, q / p)
    out = lax.select(is_close, close, _relative_entropy(x, y) + (y - x))
    out = lax.select(lax.ne(x == np.inf, y == np.inf), np.inf, out)
    return lax.select(_is_outside(x, y), np.inf, out)


def _inside(slope: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    """Return a slope that is 0 where the divergence is infinite."""

    def inside(out: Value, x: Value, y: Value) -> Value:
        is_outside = _is_outside(x, y)
        x, y = lax.select(is_outside, 1.0, x), lax.select(is_outside, 1.0, y)
        return lax.select(is_outside, 0.0, slope(x, y))

    return inside


def _over(x: Value, y: Value) -> Value:
    return x / lax.select(y == 0.0, 1.0, y)


rel_entr_p = declare(
    "rel_entr",
    _rel_entr_formula,
    _inside(lambda x, y: _log_of_ratio(x, y) + 1.0),
    _inside(lambda x, y: -_over(x, y)),
)
excess_p = declare(
    "excess",
    lambda x, y: lax.select(y == 0.0, 1.0, _over(y - x, y)),
    lambda out, x, y: -1.0 / y,
    lambda out, x, y: x / y / y,
)
kl_div_p = declare(
    "kl_div",
    _kl_div_formula,
    _inside(_log_of_ratio),
    _inside(excess_p.bind),
)


@elementwise()
def rel_entr(x: Value, y: Value, /) -> Value:
    """Return x log(x / y): 0 for x = 0, infinite where x or y is negative, or y alone is 0.

    Shapes: broadcast.  Dtype: promoted; float64 for integers.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import rel_entr
    >>> rel_entr(np.array([0.0, 1.0, 1.0]), np.array([2.0, 1.0, 0.0]))
    array([ 0.,  0., inf])
    """
    return rel_entr_p.bind(x, y)


@elementwise()
def kl_div(x: Value, y: Value, /) -> Value:
    """Return x log(x / y) - x + y: y for x = 0, infinite where x or y is negative, or y alone is 0.

    Shapes: broadcast.  Dtype: promoted; float64 for integers.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import kl_div
    >>> kl_div(np.array([0.0, 1.0, 1.0]), np.array([2.0, 1.0, 0.0]))
    array([ 2.,  0., inf])
    """
    return kl_div_p.bind(x, y)
