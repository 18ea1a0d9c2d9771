"""Sums of exponentials in the logarithm, and exponentials over their sum, by SciPy's names and dtypes.

One idea: `calque_numpy.nn` has these functions; SciPy's take lists, compute integers in float64, and sum over all axes
by default.

Read next: `nn/normalizers.py`.
"""

from __future__ import annotations

from typing import Any

from calque_core.engine.numpy_functions import Axes, array_of, as_dtype
from calque_numpy.nn import normalizers
from calque_numpy.scipy.floats import float_dtype

Value = Any


def _floats(name: str, *operands: Value, takes_complex: bool = False) -> list[Value]:
    """Return the operands as floats of one dtype, lists as arrays."""
    arrays = [array_of(x) if isinstance(x, (list, tuple)) else x for x in operands]
    dtype = float_dtype(name, *arrays, takes_complex=takes_complex)
    return [as_dtype(x, dtype) for x in arrays]


def logsumexp(
    a: Value,
    axis: Axes = None,
    b: Value = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Value = None,
) -> Any:
    """Return log(sum(b * exp(a))) along the axes, without an overflow; -inf for an empty sum.

    With `return_sign`, the pair of the logarithm of the size and the sign of the sum; without, a negative sum is NaN,
    and a sum of complex numbers has its principal value.
    Elements outside of the mask `where`, which JAX adds to SciPy's arguments, are not counted.
    Shapes: a [*s], b broadcast with a -> [*s] without the axes, or with axes of size 1 for `keepdims`.  Dtype:
    promoted; float64 for integers.
    Raises: ValueError if an axis is out of range; ShapeError if a and b do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import logsumexp
    >>> logsumexp(np.array([1000.0, 1000.0]), b=np.array([1.0, 0.0]))
    np.float64(1000.0)
    """
    a, *weights = _floats("logsumexp", a, *([] if b is None else [b]), takes_complex=True)
    return normalizers.logsumexp(a, axis, weights[0] if weights else None, keepdims, return_sign, where)


def softmax(x: Value, axis: Axes = None) -> Value:
    """Return exp(x) divided by its sum along the axes.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers; ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import softmax
    >>> softmax(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    (x,) = _floats("softmax", x)
    return normalizers.softmax(x, axis)


def log_softmax(x: Value, axis: Axes = None) -> Value:
    """Return the logarithm of softmax(x), also where softmax underflows.

    Shapes: x [*s] -> [*s].  Dtype: kept; float64 for integers.
    Raises: TypeError for complex numbers; ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy.scipy.special import log_softmax
    >>> log_softmax(np.array([1000.0, 0.0]))
    array([    0., -1000.])
    """
    (x,) = _floats("log_softmax", x)
    return normalizers.log_softmax(x, axis)
