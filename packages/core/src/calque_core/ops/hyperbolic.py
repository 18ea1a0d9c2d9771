"""Hyperbolic functions.

They are elementwise primitives as in `arithmetic.py`.  A network that has a tanh and no sine loads this module and its
rules alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.ops import formulas
from calque_core.ops.arithmetic import abs, add, mul, square
from calque_core.ops.declare import REAL_OR_COMPLEX, declare
from calque_core.ops.exponential import complex_logistic_slope, exp
from calque_core.ops.operands import floating
from calque_core.types.avals import typeof

Value = Any

# Hyperbolic functions

sinh_p = declare("sinh", REAL_OR_COMPLEX, np.sinh)
cosh_p = declare("cosh", REAL_OR_COMPLEX, np.cosh)
tanh_p = declare("tanh", REAL_OR_COMPLEX, np.tanh)


def sinh(x: Value) -> Value:
    """Return the hyperbolic sine of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import sinh
    >>> sinh(1.0)
    np.float64(1.1752011936438014)
    """
    return sinh_p.bind(floating(x))


def cosh(x: Value) -> Value:
    """Return the hyperbolic cosine of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import cosh
    >>> cosh(0.0)
    np.float64(1.0)
    """
    return cosh_p.bind(floating(x))


def tanh(x: Value) -> Value:
    """Return the hyperbolic tangent of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import tanh
    >>> tanh(0.0)
    np.float64(0.0)
    """
    return tanh_p.bind(floating(x))


def tanh_slope_impl(x: Value) -> Value:
    """Return 1 / cosh(x)**2 by an exponential that cannot overflow.

    In place, since each new array of 32,000 numbers takes as long as all the arithmetic.
    """
    if np.iscomplexobj(x):
        return np.multiply(4, formulas.complex_logistic_slope(np.add(x, x)))
    z = np.abs(x)
    place = z if z.ndim else None
    z = np.exp(np.negative(z, out=place), out=place)
    denominator = z * z
    denominator += denominator.dtype.type(1)
    z += z
    z /= denominator
    z *= z
    return z


def tanh_slope_decomposition(x: Value) -> Value:
    """Return exp(-2 |x|) (1 + |tanh(x)|)**2: no term cancels, and a compiled program has computed tanh(x) already."""
    if typeof(x).kind == "c":
        return mul(4.0, complex_logistic_slope(add(x, x)))
    return mul(exp(mul(-2.0, abs(x))), square(add(1.0, abs(tanh(x)))))


tanh_slope_p = declare("tanh_slope", REAL_OR_COMPLEX, tanh_slope_impl)
tanh_slope_p.def_rule("decomposition", tanh_slope_decomposition)


def tanh_slope(x: Value) -> Value:
    """Return the derivative of the hyperbolic tangent, 1 / cosh(x)**2, elementwise.

    It has all digits where tanh(x) is rounded to 1, and so have its derivatives.
    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import tanh_slope
    >>> tanh_slope(0.0)
    np.float64(1.0)
    """
    return tanh_slope_p.bind(floating(x))


# Inverses of the hyperbolic functions

asinh_p = declare("asinh", REAL_OR_COMPLEX, np.arcsinh)
acosh_p = declare("acosh", REAL_OR_COMPLEX, np.arccosh)
atanh_p = declare("atanh", REAL_OR_COMPLEX, np.arctanh)


def asinh(x: Value) -> Value:
    """Return the number whose hyperbolic sine is x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import asinh
    >>> asinh(0.0)
    np.float64(0.0)
    """
    return asinh_p.bind(floating(x))


def acosh(x: Value) -> Value:
    """Return the number, at least 0, whose hyperbolic cosine is x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.
    NaN where a real x is below 1.

    >>> from calque_core.lax import acosh
    >>> acosh(1.0)
    np.float64(0.0)
    """
    return acosh_p.bind(floating(x))


def atanh(x: Value) -> Value:
    """Return the number whose hyperbolic tangent is x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.
    Infinite for -1 and 1, NaN where a real x is outside [-1, 1].

    >>> from calque_core.lax import atanh
    >>> atanh(0.0)
    np.float64(0.0)
    """
    return atanh_p.bind(floating(x))
