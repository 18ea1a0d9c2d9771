"""Powers and roots, exponentials and logarithms.

They are elementwise primitives as in `arithmetic.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.ops import formulas, scalars
from calque_core.ops.arithmetic import add, div, neg, square, sub
from calque_core.ops.compare import bitwise_or, ge, ne, select
from calque_core.ops.complex import real
from calque_core.ops.create import full_like, zeros_like
from calque_core.ops.declare import FLOAT, REAL_OR_COMPLEX, declare, insist
from calque_core.ops.operands import floating, floating_pair
from calque_core.ops.rounding import is_finite

Value = Any

# Powers and roots

sqrt_p = declare("sqrt", REAL_OR_COMPLEX, np.sqrt)
rsqrt_p = declare("rsqrt", REAL_OR_COMPLEX, formulas.reciprocal_sqrt)
cbrt_p = declare("cbrt", FLOAT, np.cbrt)
pow_p = declare("pow", REAL_OR_COMPLEX, scalars.power, weak_kinds="fc")


def sqrt(x: Value) -> Value:
    """Return the square root of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import sqrt
    >>> sqrt(4.0)
    np.float64(2.0)
    """
    return sqrt_p.bind(floating(x))


def rsqrt(x: Value) -> Value:
    """Return 1 / sqrt(x), elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import rsqrt
    >>> rsqrt(4.0)
    np.float64(0.5)
    """
    return rsqrt_p.bind(floating(x))


def cbrt(x: Value) -> Value:
    """Return the cube root of x, elementwise; it has the sign of x.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.
    Raises: TypeError for complex numbers.

    >>> from calque_core.lax import cbrt
    >>> cbrt(-8.0)
    np.float64(-2.0)
    """
    return cbrt_p.bind(*insist("cbrt", FLOAT, floating(x)))


def pow(x: Value, y: Value) -> Value:
    """Return x to the power of y, elementwise.

    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.
    Raises: ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_core.lax import pow
    >>> pow(np.array([2.0, 4.0]), 0.5)
    array([1.41421356, 2.        ])
    """
    return pow_p.bind(*floating_pair("pow", x, y))


# Exponentials and logarithms

exp_p = declare("exp", REAL_OR_COMPLEX, np.exp)
exp2_p = declare("exp2", REAL_OR_COMPLEX, np.exp2)
expm1_p = declare("expm1", REAL_OR_COMPLEX, np.expm1)
log_p = declare("log", REAL_OR_COMPLEX, np.log)
log1p_p = declare("log1p", REAL_OR_COMPLEX, formulas.log_one_plus)


def exp(x: Value) -> Value:
    """Return e to the power of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import exp
    >>> exp(0.0)
    np.float64(1.0)
    """
    return exp_p.bind(floating(x))


def exp2(x: Value) -> Value:
    """Return 2 to the power of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import exp2
    >>> exp2(3.0)
    np.float64(8.0)
    """
    return exp2_p.bind(floating(x))


def expm1(x: Value) -> Value:
    """Return exp(x) - 1 without cancellation near 0, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import expm1
    >>> expm1(1e-20)
    np.float64(1e-20)
    """
    return expm1_p.bind(floating(x))


def log(x: Value) -> Value:
    """Return the natural logarithm of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import log
    >>> log(1.0)
    np.float64(0.0)
    """
    return log_p.bind(floating(x))


def log1p(x: Value) -> Value:
    """Return log(1 + x) without cancellation near 0, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import log1p
    >>> log1p(1e-20)
    np.float64(1e-20)
    """
    return log1p_p.bind(floating(x))


def log_add_exp(x: Value, y: Value) -> Value:
    """Return log(exp(x) + exp(y)); of two equal infinities, this infinity, without the difference of the two."""
    is_first = ge(x, y)  # unlike max and min, it leaves all derivatives at a tie
    high, low = select(is_first, x, y), select(is_first, y, x)
    is_apart = bitwise_or(ne(low, high), is_finite(high))
    nothing = full_like(high, -np.inf)
    difference = sub(select(is_apart, low, nothing), select(is_apart, high, zeros_like(high)))
    return add(high, log1p(exp(difference)))


def complex_logistic_slope(x: Value) -> Value:
    """Return exp(x) / (1 + exp(x))**2 of complex numbers: an even function, so of -x where exp(x) may overflow."""
    z = exp(select(ge(real(x), 0.0), neg(x), x))
    return div(z, square(add(1.0, z)))
