"""Trigonometric functions.

They are elementwise primitives as in `arithmetic.py`.

Read next: `hyperbolic.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.ops.declare import FLOAT, REAL_OR_COMPLEX, declare, insist
from calque_core.ops.operands import floating, floating_pair

Value = Any

# Circular functions

sin_p = declare("sin", REAL_OR_COMPLEX, np.sin)
cos_p = declare("cos", REAL_OR_COMPLEX, np.cos)
tan_p = declare("tan", REAL_OR_COMPLEX, np.tan)


def sin(x: Value) -> Value:
    """Return the sine of x radians, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import sin
    >>> sin(0.0)
    np.float64(0.0)
    """
    return sin_p.bind(floating(x))


def cos(x: Value) -> Value:
    """Return the cosine of x radians, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import cos
    >>> cos(0.0)
    np.float64(1.0)
    """
    return cos_p.bind(floating(x))


def tan(x: Value) -> Value:
    """Return the tangent of x radians, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import tan
    >>> tan(0.0)
    np.float64(0.0)
    """
    return tan_p.bind(floating(x))


# Inverses of the circular functions

asin_p = declare("asin", REAL_OR_COMPLEX, np.arcsin)
acos_p = declare("acos", REAL_OR_COMPLEX, np.arccos)
atan_p = declare("atan", REAL_OR_COMPLEX, np.arctan)
atan2_p = declare("atan2", FLOAT, np.arctan2)


def asin(x: Value) -> Value:
    """Return the angle in radians, from -pi/2 to pi/2, whose sine is x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.
    NaN where a real x is outside [-1, 1].

    >>> from calque_core.lax import asin
    >>> asin(1.0)
    np.float64(1.5707963267948966)
    """
    return asin_p.bind(floating(x))


def acos(x: Value) -> Value:
    """Return the angle in radians, from 0 to pi, whose cosine is x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.
    NaN where a real x is outside [-1, 1].

    >>> from calque_core.lax import acos
    >>> acos(-1.0)
    np.float64(3.141592653589793)
    """
    return acos_p.bind(floating(x))


def atan(x: Value) -> Value:
    """Return the angle in radians, from -pi/2 to pi/2, whose tangent is x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import atan
    >>> atan(1.0)
    np.float64(0.7853981633974483)
    """
    return atan_p.bind(floating(x))


def atan2(x: Value, y: Value) -> Value:
    """Return the angle in radians, from -pi to pi, of the point with ordinate x and abscissa y, elementwise.

    Where y > 0 it is atan(x / y).  Zeros have signs: the angle of (0.0, -0.0) is pi.
    Shapes: broadcast.  Dtype: promoted; integers and bools become floats.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_core.lax import atan2
    >>> atan2(np.array([1.0, 1.0, -1.0]), np.array([1.0, -1.0, 0.0]))
    array([ 0.78539816,  2.35619449, -1.57079633])
    """
    return atan2_p.bind(*insist("atan2", FLOAT, *floating_pair("atan2", x, y)))
