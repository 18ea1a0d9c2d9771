"""Trigonometric and hyperbolic functions.

They are elementwise primitives as in `arithmetic.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.ops.declare import REAL_OR_COMPLEX, declare
from calque_core.ops.operands import floating

Value = Any

# Trigonometry

sin_p = declare("sin", REAL_OR_COMPLEX, np.sin)
cos_p = declare("cos", REAL_OR_COMPLEX, np.cos)
tan_p = declare("tan", REAL_OR_COMPLEX, np.tan)
tanh_p = declare("tanh", REAL_OR_COMPLEX, np.tanh)


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


def tanh(x: Value) -> Value:
    """Return the hyperbolic tangent of x, elementwise.

    Shapes: x [*s] -> [*s].  Dtype: kept; integers and bools become floats.

    >>> from calque_core.lax import tanh
    >>> tanh(0.0)
    np.float64(0.0)
    """
    return tanh_p.bind(floating(x))
