"""Smooth activations: sigmoids, and functions that follow `relu` far from 0.

One idea: far from 0 a product such as x sigmoid(x) is infinity times 0, or its formula overflows; there the function
is its limit, and its formula gets 0 as its operand.

Read next: `normalizers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from calque_core import ShapeError, lax, typeof
from calque_core.engine.numpy_functions import (
    as_dtype,
    as_result,
    canonical_axis,
    floating,
    hypot,
    logaddexp,
    promoted_dtype,
)
from calque_core.engine.numpy_functions import sign as sign_of
from calque_core.extend import by_types, integer, where
from calque_numpy.nn.piecewise import relu

Value = Any

_FAR = 1000.0  # from here on, e**-x is 0 in double precision
_FAR_CUBED = 25.0  # from here on, gelu's exponential is; the cube and its derivatives are finite in half precision
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def identity(x: Value) -> Value:
    """Return x, as an activation that changes nothing.

    >>> import numpy as np
    >>> from calque_numpy.nn import identity
    >>> identity(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return as_result(x)


# Sigmoids


def sigmoid(x: Value) -> Value:
    """Return 1 / (1 + exp(-x)), without overflow.

    Dtype: kept for floats; integers become floats.

    >>> import numpy as np
    >>> from calque_numpy.nn import sigmoid
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    return lax.logistic(x)


def tanh(x: Value) -> Value:
    """Return the hyperbolic tangent.

    Dtype: kept for floats; integers become floats.

    >>> import numpy as np
    >>> from calque_numpy.nn import tanh
    >>> tanh(np.array([0.0, 1000.0]))
    array([0., 1.])
    """
    return lax.tanh(x)


@by_types
def soft_sign(x: Value) -> Value:
    """Return x / (1 + |x|), which is -1 and 1 at the infinities.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import soft_sign
    >>> soft_sign(np.array([-1.0, 0.0, np.inf]))
    array([-0.5,  0. ,  1. ])
    """
    x = floating(x)
    is_near = lax.lt(lax.abs(x), 1)
    near, far = lax.select(is_near, x, 0), lax.select(is_near, 1, lax.abs(x))
    # Far from 0 the derivatives of the quotient cancel; those of the second form do not.
    from_one = lax.mul(sign_of(x), lax.sub(1, lax.div(1, lax.add(far, 1))))
    return lax.select(is_near, lax.div(near, lax.add(lax.abs(near), 1)), from_one)


# Functions that follow relu


@by_types
def softplus(x: Value) -> Value:
    """Return log(1 + exp(x)), without overflow.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import softplus
    >>> softplus(np.array([-1000.0, 1000.0]))
    array([   0., 1000.])
    """
    return logaddexp(x, 0)


@by_types
def log_sigmoid(x: Value) -> Value:
    """Return log(sigmoid(x)), without overflow.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import log_sigmoid
    >>> log_sigmoid(np.array([-1000.0, np.inf]))
    array([-1000.,    -0.])
    """
    return lax.neg(softplus(lax.neg(floating(x))))


def _like_relu(function: Callable[[Value], Value], x: Value, far: float = _FAR) -> Value:
    """Return `function(x)`, and x or 0 where |x| is so large, above `far`, that the function is that."""
    x = floating(x)
    is_far = lax.gt(lax.abs(x), far)
    return lax.select(is_far, relu(x), function(lax.select(is_far, 0, x)))


@by_types
def silu(x: Value) -> Value:
    """Return x sigmoid(x), which is 0 at -inf.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import silu
    >>> silu(np.array([-np.inf, 0.0, 1000.0]))
    array([   0.,    0., 1000.])
    """
    return _like_relu(lambda x: lax.mul(x, lax.logistic(x)), x)


swish = silu


@by_types
def mish(x: Value) -> Value:
    """Return x tanh(softplus(x)), which is 0 at -inf.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import mish
    >>> mish(np.array([-np.inf, 0.0, 1000.0]))
    array([   0.,    0., 1000.])
    """
    return _like_relu(lambda x: lax.mul(x, lax.tanh(softplus(x))), x)


@by_types
def gelu(x: Value, approximate: bool = True) -> Value:
    """Return x times the normal distribution function of x, or an approximation of it by tanh.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.
    Source: Hendrycks & Gimpel (2016), Gaussian error linear units.

    >>> import numpy as np
    >>> from calque_numpy.nn import gelu
    >>> np.round(gelu(np.array([-np.inf, 1.0]), approximate=False), 6)
    array([0.      , 0.841345])
    """
    return _like_relu(_gelu_by_tanh, x, _FAR_CUBED) if approximate else _like_relu(_gelu, x)


def _gelu(x: Value) -> Value:
    return lax.mul(lax.mul(x, 0.5), lax.erfc(lax.mul(x, -math.sqrt(0.5))))


def _gelu_by_tanh(x: Value) -> Value:
    """Return x (1 + tanh(u)) / 2 as x sigmoid(2u), which does not cancel for negative u."""
    twice = lax.mul(lax.add(x, lax.mul(lax.integer_pow(x, 3), 0.044715)), math.sqrt(8 / math.pi))
    return lax.mul(x, lax.logistic(twice))


@by_types
def squareplus(x: Value, b: Value = 4) -> Value:
    """Return (x + sqrt(x**2 + b)) / 2, without overflow and without cancellation for negative x.

    Shapes: broadcast.  Dtype: promoted; integers become floats.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.nn import squareplus
    >>> squareplus(np.array([-np.inf, 0.0, 1e300]))
    array([0.e+000, 1.e+000, 1.e+300])
    """
    x = floating(x)
    b = as_dtype(b, promoted_dtype("squareplus", x, b))
    is_right = lax.ge(x, 0)
    size = lax.select(is_right, x, lax.neg(x))
    is_far = lax.gt(size, lax.sqrt(b))
    near = _near_squareplus(is_right, lax.select(is_far, 0, size), lax.select(is_far, 1, b))
    far = _excess_of_squareplus(lax.select(is_far, size, 1), lax.select(is_far, b, 1))
    return lax.select(is_far, lax.add(lax.select(is_right, x, 0), far), near)


def _near_squareplus(is_right: Value, size: Value, b: Value) -> Value:
    half = lax.mul(lax.add(size, hypot(size, lax.sqrt(b))), 0.5)
    return lax.select(is_right, half, lax.div(lax.mul(b, 0.25), lax.select(is_right, 1, half)))


def _excess_of_squareplus(size: Value, b: Value) -> Value:
    """Return (sqrt(size**2 + b) - size) / 2 as b / size / 2 / (1 + sqrt(1 + b / size**2)): no derivative cancels."""
    quotient = lax.div(b, size)
    return lax.div(lax.mul(quotient, 0.5), lax.add(1, lax.sqrt(lax.add(1, lax.div(quotient, size)))))


# Functions with an exponential on the left


@by_types
def elu(x: Value, alpha: Value = 1.0) -> Value:
    """Return x where it is positive, and `alpha` (exp(x) - 1) elsewhere.

    Shapes: broadcast.  Dtype: promoted; integers become floats.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.nn import elu
    >>> elu(np.array([-np.inf, 0.0, 2.0]))
    array([-1.,  0.,  2.])
    """
    x = floating(x)
    is_right = lax.gt(x, 0)
    return lax.select(is_right, x, lax.mul(alpha, lax.expm1(lax.select(is_right, 0, x))))


@by_types
def celu(x: Value, alpha: Value = 1.0) -> Value:
    """Return x where it is positive, and `alpha` (exp(x / alpha) - 1) elsewhere; the derivative is continuous.

    Shapes: broadcast.  Dtype: promoted; integers become floats.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.nn import celu
    >>> celu(np.array([-np.inf, 0.0, 2.0]), alpha=3.0)
    array([-3.,  0.,  2.])
    """
    x = floating(x)
    is_right = lax.gt(x, 0)
    return lax.select(is_right, x, lax.mul(alpha, lax.expm1(lax.div(lax.select(is_right, 0, x), alpha))))


@by_types
def selu(x: Value) -> Value:
    """Return a multiple of `elu` that keeps the mean 0 and the variance 1 of its operands.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.
    Source: Klambauer et al. (2017), Self-normalizing neural networks.

    >>> import numpy as np
    >>> from calque_numpy.nn import selu
    >>> np.round(selu(np.array([-np.inf, 0.0, 1.0])), 4)
    array([-1.7581,  0.    ,  1.0507])
    """
    return lax.mul(elu(x, _SELU_ALPHA), _SELU_SCALE)


# Others


@by_types
def glu(x: Value, axis: int = -1) -> Value:
    """Return the first half of x along `axis`, times the sigmoid of the second half.

    Shapes: x [*s, 2n, *t] -> [*s, n, *t].  Dtype: kept for floats; integers become floats.
    Raises: ShapeError for an axis of odd size; ValueError for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy.nn import glu
    >>> glu(np.array([1.0, 2.0, 0.0, 1000.0]))
    array([0.5, 2. ])
    """
    x = floating(x)
    aval = typeof(x)
    d = canonical_axis("glu", integer("glu", "axis", axis), aval.ndim)
    size = aval.shape[d]
    if size % 2:
        raise ShapeError(f"glu of {aval}{where()}: axis {d} has the odd size {size}. Give two halves of one size.")
    value, gate = lax.split(x, (size // 2, size // 2), d)
    return lax.mul(value, lax.logistic(gate))


@by_types
def log1mexp(x: Value) -> Value:
    """Return log(1 - exp(-x)) for positive x, without cancellation.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.
    Source: Maechler (2012), Accurately computing log(1 - exp(-|a|)).

    >>> import numpy as np
    >>> from calque_numpy.nn import log1mexp
    >>> np.round(log1mexp(np.array([1e-300, np.inf])), 6)
    array([-690.775528,   -0.      ])
    """
    x = floating(x)
    is_near = lax.lt(x, math.log(2))
    near, far = lax.select(is_near, x, 1), lax.select(is_near, 1, x)
    from_near = lax.log(lax.neg(lax.expm1(lax.neg(near))))
    return lax.select(is_near, from_near, lax.log1p(lax.neg(lax.exp(lax.neg(far)))))
