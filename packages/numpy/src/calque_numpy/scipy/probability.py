"""The logistic function, the error functions, and the terms of entropies and divergences.

One idea: each is a formula in `lax` with operands that are safe in the branches that are not chosen, so its derivatives
are right everywhere, and it needs no rule of its own.

Read next: `normal.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_numpy.scipy.floats import elementwise

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


def _vanishing(x: Value, is_edge: Value) -> Value:
    """Return a function that is 0 at x = 0 with an infinite derivative, as x log(x) but for its sign."""
    return lax.sqrt(where_safe(is_edge, x, 1.0))


def _product(x: Value, y: Value, log: Callable[[Value], Value], zero: float) -> Value:
    """Return x log(y), where log is infinite at `zero` and undefined below."""
    is_zero = lax.eq(x, 0.0)
    is_edge = lax.bitwise_and(is_zero, lax.eq(y, zero))
    is_unsafe = lax.bitwise_and(is_zero, lax.bitwise_or(lax.le(y, zero), lax.eq(y, np.inf)))
    product = lax.mul(x, log(where_safe(lax.bitwise_not(is_unsafe), y, zero + 1.0)))
    return lax.select(is_edge, lax.sub(0.0, _vanishing(x, is_edge)), product)


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
    return _product(x, y, lax.log, 0.0)


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
    return _product(x, y, lax.log1p, -1.0)


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
    is_edge, is_negative = lax.eq(x, 0.0), lax.lt(x, 0.0)
    y = where_safe(lax.bitwise_not(lax.bitwise_or(is_edge, is_negative)), x, 1.0)
    return lax.select(
        is_edge, _vanishing(x, is_edge), lax.select(is_negative, -np.inf, lax.neg(lax.mul(y, lax.log(y))))
    )


def _divergence(x: Value, y: Value) -> tuple[Value, Value]:
    """Return x log(x / y), and where it is undefined and counts as infinite."""
    is_edge = lax.bitwise_and(lax.eq(x, 0.0), lax.ge(y, 0.0))
    is_inner = lax.bitwise_and(lax.gt(x, 0.0), lax.gt(y, 0.0))
    is_nan = lax.bitwise_or(lax.ne(x, x), lax.ne(y, y))
    is_used = lax.bitwise_or(is_inner, is_nan)
    p, q = where_safe(is_used, x, 1.0), where_safe(is_used, y, 1.0)
    edge = _vanishing(x, is_edge)
    edge = lax.select(lax.eq(y, 0.0), edge, lax.sub(0.0, edge))
    out = lax.select(is_edge, edge, lax.mul(p, _log_of_ratio(p, q)))
    return out, lax.bitwise_not(lax.bitwise_or(is_edge, is_used))


def _log_of_ratio(p: Value, q: Value) -> Value:
    """Return log(p / q), also where the ratio overflows or loses digits."""
    ratio, info = lax.stop_gradient(lax.div(p, q)), np.finfo(typeof(p).dtype)
    is_normal = lax.bitwise_and(lax.ge(ratio, float(info.tiny)), lax.le(ratio, float(info.max)))
    near = lax.div(where_safe(is_normal, p, 1.0), where_safe(is_normal, q, 1.0))
    return lax.select(is_normal, lax.log(near), lax.sub(lax.log(p), lax.log(q)))


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
    out, is_infinite = _divergence(x, y)
    return lax.select(is_infinite, np.inf, out)


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
    out, is_infinite = _divergence(x, y)
    return lax.select(is_infinite, np.inf, lax.add(lax.sub(out, x), y))
