"""Sums of exponentials in the logarithm, and exponentials over their sum.

One idea: the largest element is subtracted first, as a constant, so that no exponential overflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_core.extend.numpy_functions import Axes, array_of, as_dtype, as_result, broadcast_to, canonical_axes
from calque_core.extend.numpy_functions import max as greatest
from calque_core.extend.numpy_functions import sum as total_of
from calque_numpy.scipy.floats import float_dtype

Value = Any


def _shifted(name: str, x: Value, axis: Axes) -> tuple[Value, Value, tuple[int, ...]]:
    """Return x minus its largest element along the axes, that element, and the axes."""
    x = array_of(x) if isinstance(x, (list, tuple)) else x
    x = as_result(as_dtype(x, float_dtype(name, x)))
    axes = canonical_axes(name, axis, typeof(x).ndim)
    largest = lax.stop_gradient(greatest(x, axis=axes, keepdims=True, initial=-np.inf))
    largest = lax.select(lax.is_finite(largest), largest, lax.zeros_like(largest))
    return lax.sub(x, broadcast_to(largest, typeof(x).shape)), largest, axes


def logsumexp(a: Value, axis: Axes = None, b: Value = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """Return log(sum(b * exp(a))) along the axes, without an overflow; -inf for an empty sum.

    With `return_sign`, the pair of the logarithm of the size and the sign of the sum; without, a negative sum is NaN.
    Shapes: a [*s], b broadcast with a -> [*s] without the axes, or with axes of size 1 for `keepdims`.  Dtype:
    promoted; float64 for integers.
    Raises: TypeError for complex numbers; ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import logsumexp
    >>> logsumexp(np.array([1000.0, 1000.0]), b=np.array([1.0, 0.0]))
    np.float64(1000.0)
    """
    a = array_of(a) if isinstance(a, (list, tuple)) else a
    if b is not None:
        b = array_of(b) if isinstance(b, (list, tuple)) else b
        dtype = float_dtype("logsumexp", a, b)
        shape = lax.broadcast_shapes(typeof(a).shape, typeof(b).shape)
        a, b = (broadcast_to(as_dtype(x, dtype), shape) for x in (a, b))
        a = lax.select(lax.eq(b, 0.0), -np.inf, a)
    shifted, largest, axes = _shifted("logsumexp", a, axis)
    terms = lax.exp(shifted) if b is None else lax.mul(b, lax.exp(shifted))
    total = total_of(terms, axis=axes, keepdims=True)
    sign = lax.sign(total)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = lax.add(lax.log(lax.abs(total) if return_sign else total), largest)
    out, sign = (x if keepdims else lax.squeeze(x, axes) for x in (out, sign))
    return (out, sign) if return_sign else out


def softmax(x: Value, axis: Axes = None) -> Value:
    """Return exp(x) divided by its sum along the axes.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers; ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import softmax
    >>> softmax(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    shifted, _, axes = _shifted("softmax", x, axis)
    terms = lax.exp(shifted)
    return lax.div(terms, broadcast_to(total_of(terms, axis=axes, keepdims=True), typeof(terms).shape))


def log_softmax(x: Value, axis: Axes = None) -> Value:
    """Return the logarithm of softmax(x), also where softmax underflows.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers; ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import log_softmax
    >>> log_softmax(np.array([1000.0, 0.0]))
    array([    0., -1000.])
    """
    shifted, _, axes = _shifted("log_softmax", x, axis)
    total = lax.log(total_of(lax.exp(shifted), axis=axes, keepdims=True))
    return lax.sub(shifted, broadcast_to(total, typeof(shifted).shape))
