"""Activations that are polynomials between kinks: `relu`, the "hard" and the "sparse" functions.

One idea: a mask chooses the polynomial, so that a kink has the derivative of one side: `relu` has 0 at 0.  A branch
that overflows far away gets an operand from its own interval.

Read next: `activations.py`.
"""

from __future__ import annotations

from typing import Any

from calque_core import lax
from calque_core.engine.numpy_functions import floating
from calque_core.extend import by_types

Value = Any


@by_types
def relu(x: Value) -> Value:
    """Return x where it is positive, and 0 elsewhere; NaN stays NaN.  The derivative at 0 is 0.

    Dtype: kept.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import relu
    >>> relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """
    return lax.select(lax.le(x, 0), 0, x)


@by_types
def relu6(x: Value) -> Value:
    """Return x, limited to [0, 6].  The derivative at both ends is 0.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import relu6
    >>> relu6(np.array([-1.0, 2.0, 8.0]))
    array([0., 2., 6.])
    """
    x = floating(x)
    return lax.select(lax.ge(x, 6), 6, relu(x))


@by_types
def leaky_relu(x: Value, negative_slope: Value = 1e-2) -> Value:
    """Return x where it is positive or 0, and `negative_slope` x elsewhere.  The derivative at 0 is 1.

    Shapes: broadcast.  Dtype: promoted.
    Raises: TypeError for complex numbers; ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.nn import leaky_relu
    >>> leaky_relu(np.array([-1.0, 2.0]))
    array([-0.01,  2.  ])
    """
    x = floating(x)
    is_right = lax.ge(x, 0)
    return lax.select(is_right, x, lax.mul(negative_slope, lax.select(is_right, 0, x)))


@by_types
def hard_sigmoid(x: Value) -> Value:
    """Return `relu6(x + 3) / 6`, the line from 0 at -3 to 1 at 3.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import hard_sigmoid
    >>> hard_sigmoid(np.array([-4.0, 0.0, 4.0]))
    array([0. , 0.5, 1. ])
    """
    x = floating(x)  # compared itself: x + 3 is 6 for the number below 3, too
    line = lax.div(lax.add(x, 3), 6)
    return lax.select(lax.ge(x, 3), 1, lax.select(lax.le(x, -3), 0, line))


@by_types
def hard_silu(x: Value) -> Value:
    """Return `x * hard_sigmoid(x)`: 0 up to -3, x from 3 on, a parabola between; 0 at -inf, too.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import hard_silu
    >>> hard_silu(np.array([-4.0, 1.5, 4.0]))
    array([0.   , 1.125, 4.   ])
    """
    x = floating(x)
    is_near = lax.lt(lax.abs(x), 3)
    near = lax.select(is_near, x, 0)
    return lax.select(is_near, lax.div(lax.mul(near, lax.add(near, 3)), 6), relu(x))


hard_swish = hard_silu


@by_types
def hard_tanh(x: Value) -> Value:
    """Return x, limited to [-1, 1].  The derivative at both ends is 1.

    Dtype: kept.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import hard_tanh
    >>> hard_tanh(np.array([-4.0, 0.5, 4.0]))
    array([-1. ,  0.5,  1. ])
    """
    return lax.select(lax.gt(x, 1), 1, lax.select(lax.lt(x, -1), -1, x))


@by_types
def sparse_plus(x: Value) -> Value:
    """Return 0 up to -1, x from 1 on, and (x + 1)**2 / 4 between: a `softplus` with exact ends.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import sparse_plus
    >>> sparse_plus(np.array([-2.0, 0.0, 2.0]))
    array([0.  , 0.25, 2.  ])
    """
    x = floating(x)
    is_near = lax.lt(lax.abs(x), 1)
    near = lax.select(is_near, x, 0)
    return lax.select(is_near, lax.div(lax.square(lax.add(near, 1)), 4), relu(x))


@by_types
def sparse_sigmoid(x: Value) -> Value:
    """Return the derivative of `sparse_plus`: 0 up to -1, 1 from 1 on, a line between.

    Dtype: kept for floats; integers become floats.
    Raises: TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.nn import sparse_sigmoid
    >>> sparse_sigmoid(np.array([-2.0, 0.0, 2.0]))
    array([0. , 0.5, 1. ])
    """
    return lax.div(lax.add(hard_tanh(floating(x)), 1), 2)
