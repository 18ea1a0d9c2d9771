"""Distributions that are a formula of one uniform number each: the inverse of their distribution function, mostly.

Read next: `from_normal.py`, `gammas.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import numpy as np

from calque_core import finfo, lax
from calque_core.extend import Shape, where
from calque_numpy.random.arguments import check_key, check_shape, float_argument, parameters
from calque_numpy.random.floats import between, unit_uniform
from calque_numpy.random.generators import random_bits

Value = Any
DType = Any


def _open_uniform(key: Value, shape: Shape, dtype: np.dtype[Any], low: Any) -> Value:
    """Return numbers in [low, 1), for functions that are infinite where the unit interval starts."""
    return between(dtype.type(low), dtype.type(1), unit_uniform(key, shape, dtype))


def exponential(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return numbers of the exponential distribution, whose density is exp(-x).

    Shapes: one key -> shape.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `dtype` is not a float dtype.

    >>> import numpy as np
    >>> from calque_numpy.random import exponential, key
    >>> np.round(exponential(key(42), (2,), np.float32), 4)
    array([0.6708, 1.1388], dtype=float32)
    """
    key, dtype = check_key("exponential", key), float_argument("exponential", dtype)
    return exponential_of(key, check_shape("exponential", shape), dtype)


def exponential_of(key: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """Return numbers of the exponential distribution; the arguments are checked already."""
    return lax.neg(lax.log1p(lax.neg(unit_uniform(key, shape, dtype))))


def cauchy(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return numbers of the Cauchy distribution, whose density is 1 / (pi (1 + x**2)).

    Shapes: one key -> shape.  Dtype: `dtype`, or the default float.
    Raises: as `exponential`.

    >>> import numpy as np
    >>> from calque_numpy.random import cauchy, key
    >>> np.round(cauchy(key(42), (2,), np.float32), 4)
    array([-0.0355,  0.6337], dtype=float32)
    """
    key, dtype = check_key("cauchy", key), float_argument("cauchy", dtype)
    u = _open_uniform(key, check_shape("cauchy", shape), dtype, finfo(dtype).eps)
    return lax.tan(lax.mul(dtype.type(pi), lax.sub(u, dtype.type(0.5))))


def laplace(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return numbers of the Laplace distribution, whose density is exp(-abs(x)) / 2.

    Shapes: one key -> shape.  Dtype: `dtype`, or the default float.
    Raises: as `exponential`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, laplace
    >>> np.round(laplace(key(42), (2,), np.float32), 4)
    array([ 0.0228, -0.4457], dtype=float32)
    """
    key, dtype = check_key("laplace", key), float_argument("laplace", dtype)
    u = _open_uniform(key, check_shape("laplace", shape), dtype, finfo(dtype).epsneg - 1)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


def logistic(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return numbers of the logistic distribution, whose distribution function is 1 / (1 + exp(-x)).

    Shapes: one key -> shape.  Dtype: `dtype`, or the default float.
    Raises: as `exponential`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, logistic
    >>> np.round(logistic(key(42), (2,), np.float32), 4)
    array([-0.0452,  0.7528], dtype=float32)
    """
    key, dtype = check_key("logistic", key), float_argument("logistic", dtype)
    u = _open_uniform(key, check_shape("logistic", shape), dtype, finfo(dtype).tiny)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


def gumbel(key: Value, shape: Sequence[int] = (), dtype: DType = None, mode: str | None = None) -> Value:
    """Return numbers of the Gumbel distribution, whose distribution function is exp(-exp(-x)).

    `mode="high"` draws twice as many random bits, for the greatest numbers, and "highest" also for the least, in
    float32; None is "low".
    Shapes: one key -> shape.  Dtype: `dtype`, or the default float.
    Raises: as `exponential`; ValueError for another mode.

    >>> import numpy as np
    >>> from calque_numpy.random import gumbel, key
    >>> np.round(gumbel(key(42), (2,), np.float32), 4)
    array([0.3341, 0.952 ], dtype=float32)
    """
    key, dtype = check_key("gumbel", key), float_argument("gumbel", dtype)
    return gumbel_of(key, check_shape("gumbel", shape), dtype, gumbel_mode("gumbel", mode))


def gumbel_mode(name: str, mode: Any) -> str:
    """Return the argument `mode` of the function `name`.  Raises: ValueError."""
    if mode not in (None, "low", "high", "highest"):
        raise ValueError(f"{name}{where()}: mode is {mode!r}. Use 'low', 'high' or 'highest'.")
    return mode or "low"


def gumbel_of(key: Value, shape: Shape, dtype: np.dtype[Any], mode: str) -> Value:
    """Return numbers of the Gumbel distribution; the arguments are checked already."""
    info = finfo(dtype)
    if mode == "low":
        u = _open_uniform(key, shape, dtype, info.tiny)
        return lax.neg(lax.log(lax.neg(lax.log(u))))
    if mode == "highest" and dtype == np.float32:
        return _highest_gumbel(key, shape)
    high, low = lax.unstack(unit_uniform(key, (2, *shape), dtype))
    finer = lax.add(lax.add(high, lax.mul(dtype.type(2.0**-info.nmant), low)), dtype.type(info.tiny))
    x = lax.select(lax.ge(high, dtype.type(0.5)), high, finer)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(x)))))


def _highest_gumbel(key: Value, shape: Shape) -> Value:
    """Return Gumbel numbers from 64 random bits each, the distance from the nearer end of the unit interval."""
    high, low = lax.unstack(random_bits(key, (2, *shape), np.dtype(np.uint32)))
    is_lower = lax.lt(high, np.uint32(1 << 31))
    is_carried = lax.convert_element_type(lax.eq(low, np.uint32(0)), np.uint32)
    with np.errstate(over="ignore"):  # the difference from 2**64
        other_high, other_low = lax.add(lax.bitwise_not(high), is_carried), lax.add(lax.bitwise_not(low), np.uint32(1))
    x = _fraction(lax.select(is_lower, high, other_high), lax.select(is_lower, low, other_low))
    with np.errstate(divide="ignore"):  # all bits may be 0
        first, last = lax.log(lax.neg(lax.log1p(lax.neg(x)))), lax.log(lax.neg(lax.log(x)))
    return lax.neg(lax.select(is_lower, first, last))


def _fraction(high: Value, low: Value) -> Value:
    """Return 64 bits as a float32 in [0, 1): the 24 bits from the first that is set, and the exponent by its place."""
    zeros, low_zeros = lax.clz(high), lax.clz(low)
    width = np.uint32(32)
    is_small = lax.eq(zeros, width)
    low_bits = lax.select(is_small, lax.shift_left(low, low_zeros), lax.shift_right_logical(low, lax.sub(width, zeros)))
    window = lax.bitwise_or(lax.shift_left(high, zeros), low_bits)
    place = lax.select(is_small, lax.add(low_zeros, width), zeros)
    exponent = lax.shift_left(lax.sub(np.uint32(127 - 24), place), np.uint32(23))
    mantissa = lax.convert_element_type(lax.shift_right_logical(window, np.uint32(8)), np.float32)
    return lax.mul(mantissa, lax.bitcast_convert_type(exponent, np.float32))


def pareto(key: Value, b: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers of the Pareto distribution, whose density is b / x**(b + 1) for x >= 1.

    Shapes: one key, b [*s] -> [*s], or `shape`; `b` broadcasts to it.  Dtype: `dtype`, or the default float.
    Raises: as `exponential`; TypeError if `b` is not real, ShapeError if it does not broadcast to `shape`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, pareto
    >>> np.round(pareto(key(42), 2.0, (2,), np.float32), 4)
    array([1.3985, 1.7672], dtype=float32)
    """
    key, dtype = check_key("pareto", key), float_argument("pareto", dtype)
    sizes, (b,) = parameters("pareto", shape, dtype, b=b)
    return lax.exp(lax.div(exponential_of(key, sizes, dtype), b))


def rayleigh(key: Value, scale: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return numbers of the Rayleigh distribution: the length of two normal numbers of deviation `scale`.

    Shapes: one key, scale [*s] -> [*s], or `shape`.  Dtype: `dtype`, or the default float.
    Raises: as `pareto`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, rayleigh
    >>> np.round(rayleigh(key(42), 2.0, (2,), np.float32), 4)
    array([2.3933, 1.7572], dtype=float32)
    """
    key, dtype = check_key("rayleigh", key), float_argument("rayleigh", dtype)
    sizes, (scale,) = parameters("rayleigh", shape, dtype, scale=scale)
    u = unit_uniform(key, sizes, dtype)
    u = lax.select(lax.eq(u, dtype.type(0)), lax.full_like(u, finfo(dtype).eps / 2), u)  # 0 stands for [0, eps)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(u), dtype.type(-2))))


def weibull_min(
    key: Value, scale: Value, concentration: Value, shape: Sequence[int] = (), dtype: DType = None
) -> Value:
    """Return numbers of the Weibull distribution: `scale` times the power 1 / `concentration` of exponential numbers.

    Shapes: one key -> the shape to which `shape` and those of the parameters broadcast.  Dtype: `dtype`, or the default
    float.
    Raises: as `exponential`; TypeError if a parameter is not real, ShapeError if the shapes do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.random import key, weibull_min
    >>> np.round(weibull_min(key(42), 2.0, 3.0, (2,), np.float32), 4)
    array([1.7508, 2.0886], dtype=float32)
    """
    key, dtype = check_key("weibull_min", key), float_argument("weibull_min", dtype)
    _, (scale, concentration) = parameters("weibull_min", None, dtype, scale=scale, concentration=concentration)
    e = exponential_of(key, check_shape("weibull_min", shape), dtype)
    return lax.mul(lax.pow(e, lax.div(dtype.type(1), concentration)), scale)


def triangular(
    key: Value, left: Value, mode: Value, right: Value, shape: Sequence[int] | None = None, dtype: DType = None
) -> Value:
    """Return numbers whose density rises linearly from `left` to `mode`, and falls linearly to `right`.

    Shapes: one key; the parameters broadcast -> their shape, or `shape`.  Dtype: `dtype`, or the default float.
    Raises: as `pareto`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, triangular
    >>> np.round(triangular(key(42), -1.0, 0.0, 2.0, (2,), np.float32), 4)
    array([0.2485, 0.6139], dtype=float32)
    """
    key, dtype = check_key("triangular", key), float_argument("triangular", dtype)
    sizes, (left, mode, right) = parameters("triangular", shape, dtype, left=left, mode=mode, right=right)
    u = unit_uniform(key, sizes, dtype)
    length = right - left
    is_point = lax.eq(length, dtype.type(0))
    share = (mode - left) / lax.select(is_point, lax.ones_like(length), length)
    is_rising = lax.lt(u, share)
    # Squares of small lengths would underflow; the other branch has no infinite slope where its square is 0.
    part = lax.select(is_rising, u * share, (dtype.type(1) - u) * (dtype.type(1) - share))
    distance = length * lax.sqrt(part)
    return lax.select(is_rising, left + distance, right - distance)
