"""Distributions that are a formula of normal numbers.

Read next: `gammas.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.extend.numpy_functions import broadcast_to
from calque_core.lax import broadcast_shapes
from calque_numpy.random.arguments import check_key, check_shape, float_argument, parameters
from calque_numpy.random.floats import between, rademacher, unit_uniform
from calque_numpy.random.gaussian import normal_of, real_normal
from calque_numpy.random.keys import split_words
from calque_numpy.random.threefry import Shape

Value = Any
DType = Any


def truncated_normal(
    key: Value, lower: Value, upper: Value, shape: Sequence[int] | None = None, dtype: DType = None
) -> Value:
    """Return numbers of the standard normal distribution between `lower` and `upper`, neither included.

    Shapes: key [2]; the bounds broadcast -> their shape, or `shape`.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or a bound is not
    real; ShapeError if a bound does not broadcast to `shape`.

    >>> import numpy as np
    >>> from calque_numpy.random import truncated_normal
    >>> np.round(truncated_normal(np.array([0, 42], np.uint32), 0.0, 1.0, (2,), np.float32), 4)
    array([0.4311, 0.619 ], dtype=float32)
    """
    words, dtype = check_key("truncated_normal", key), float_argument("truncated_normal", dtype)
    sizes, (lower, upper) = parameters("truncated_normal", shape, dtype, lower=lower, upper=upper)
    root = dtype.type(sqrt(2))
    low, high = (lax.erf(lax.div(bound, root)) for bound in (lower, upper))
    out = normal_of(between(low, high, unit_uniform(words, sizes, dtype)), dtype)
    least = lax.nextafter(lax.stop_gradient(lower), dtype.type(inf))
    greatest = lax.nextafter(lax.stop_gradient(upper), dtype.type(-inf))
    return lax.min(lax.max(out, least), greatest)


def lognormal(key: Value, sigma: Value = 1.0, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers whose logarithm is normal, of mean 0 and deviation `sigma`.

    Shapes: key [2], sigma [*s] -> [*s], or `shape`.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or `sigma` is not
    real; ShapeError if `sigma` does not broadcast to `shape`.

    >>> import numpy as np
    >>> from calque_numpy.random import lognormal
    >>> np.round(lognormal(np.array([0, 42], np.uint32), 0.5, (2,), np.float32), 4)
    array([0.9859, 1.2631], dtype=float32)
    """
    words, dtype = check_key("lognormal", key), float_argument("lognormal", dtype)
    sizes, (sigma,) = parameters("lognormal", shape, dtype, sigma=sigma)
    return lax.exp(lax.mul(real_normal(words, sizes, dtype), sigma))


def maxwell(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return numbers of the Maxwell distribution: the length of three normal numbers.

    Shapes: key [2] -> shape.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `dtype` is not a float dtype.

    >>> import numpy as np
    >>> from calque_numpy.random import maxwell
    >>> np.round(maxwell(np.array([0, 42], np.uint32), (2,), np.float32), 4)
    array([0.5536, 0.2933], dtype=float32)
    """
    words, dtype = check_key("maxwell", key), float_argument("maxwell", dtype)
    return _maxwells(words, check_shape("maxwell", shape), dtype)


def _maxwells(key: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    parts = real_normal(key, (*shape, 3), dtype)
    return lax.sqrt(lax.reduce_sum(lax.square(parts), (len(shape),)))


def double_sided_maxwell(key: Value, loc: Value, scale: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return `loc` plus `scale` times numbers of the Maxwell distribution with random signs.

    Shapes: key [2]; loc and scale broadcast to [*s] -> [*shape, *s]; [*s, *s] without `shape`, as in jax.
    Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or a parameter is
    not real; ShapeError if the parameters do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.random import double_sided_maxwell
    >>> np.round(double_sided_maxwell(np.array([0, 42], np.uint32), 0.0, 2.0, (2,), np.float32), 4)
    array([-2.762 , -1.3514], dtype=float32)
    """
    words, dtype = check_key("double_sided_maxwell", key), float_argument("double_sided_maxwell", dtype)
    inner, (loc, scale) = parameters("double_sided_maxwell", None, dtype, loc=loc, scale=scale)
    sizes = (check_shape("double_sided_maxwell", shape) or inner) + inner
    keys = split_words(words, (2,))
    loc, scale = (broadcast_to(x, broadcast_shapes(inner, sizes)) for x in (loc, scale))
    return rademacher(keys[1], sizes, dtype) * _maxwells(keys[0], sizes, dtype) * scale + loc


def wald(key: Value, mean: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers of the Wald distribution: when a Brownian motion of drift 1 / `mean` first reaches 1.

    Shapes: key [2], mean [*s] -> [*s], or `shape`.  Dtype: `dtype`, or the default float.
    Raises: as `lognormal`.
    Source: Michael, Schucany and Haas (1976), Generating random variates using transformations with multiple roots.

    >>> import numpy as np
    >>> from calque_numpy.random import wald
    >>> np.round(wald(np.array([0, 42], np.uint32), 2.0, (2,), np.float32), 4)
    array([2.2266, 3.9277], dtype=float32)
    """
    words, dtype = check_key("wald", key), float_argument("wald", dtype)
    sizes, (mean,) = parameters("wald", shape, dtype, mean=mean)
    keys = split_words(words, (2,))
    y = lax.square(real_normal(keys[0], sizes, dtype))
    two, four = dtype.type(2), dtype.type(4)  # NumPy 2.0 computes bfloat16 beside a Python int in float32
    root = lax.sqrt(four * mean * y + lax.square(mean) * lax.square(y))
    smaller = mean + lax.square(mean) * y / two - mean / two * root
    is_smaller = unit_uniform(keys[1], sizes, dtype) <= mean / (mean + smaller)
    return lax.select(is_smaller, smaller, lax.square(mean) / smaller)
