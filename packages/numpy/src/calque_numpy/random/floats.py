"""Uniform floats, and bools and signs that compare them with a probability.

One idea: random fraction bits with the exponent of 1 are a number in [1, 2); minus 1, it is in [0, 1).

Read next: `gaussian.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import finfo, lax, typeof
from calque_core.engine import kind_of
from calque_core.engine.numpy_functions import dtype_argument
from calque_core.extend import where
from calque_numpy.random.arguments import (
    check_key,
    check_shape,
    float_argument,
    is_random_float,
    parameters,
)
from calque_numpy.random.generators import random_bits
from calque_numpy.random.known_values import check_finite, check_probabilities
from calque_numpy.random.threefry import Shape

Value = Any
DType = Any


def uniform(
    key: Value, shape: Sequence[int] = (), dtype: DType = None, minval: Value = 0.0, maxval: Value = 1.0
) -> Value:
    """Return floats distributed uniformly over [minval, maxval).

    Shapes: one key -> shape; the bounds broadcast to it.  Dtype: `dtype`, or the default float.
    For other bounds than 0 and 1, the last bit may differ in a compiled program, which fuses x * range + minval.
    A number that rounding would move to `maxval` is the float before it; `minval` where the interval is empty.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or a bound is
    complex; ShapeError if a bound does not broadcast to `shape`; ValueError if a known bound is not finite in `dtype`.

    >>> import numpy as np
    >>> from calque_numpy.random import key, uniform
    >>> uniform(key(42), (2,), np.float32)
    array([0.48870957, 0.6797972 ], dtype=float32)
    """
    key, dtype = check_key("uniform", key), float_argument("uniform", dtype)
    with np.errstate(over="ignore"):  # of a bound beyond the dtype
        sizes, (low, high) = parameters("uniform", shape, dtype, minval=minval, maxval=maxval)
    check_finite("uniform", minval=low, maxval=high)
    out = _between_far(low, high, unit_uniform(key, sizes, dtype))
    last = lax.select(lax.lt(low, high), lax.nextafter(high, dtype.type(-np.inf)), low)
    return lax.select(lax.lt(out, high), out, last)


def _between_far(low: Value, high: Value, floats: Value) -> Value:
    """Return numbers in [0, 1) as numbers in [low, high], half as large while the length of the interval overflows."""
    dtype = typeof(floats).dtype
    half, two, one = dtype.type(0.5), dtype.type(2), dtype.type(1)
    half_length = lax.stop_gradient(lax.sub(lax.mul(high, half), lax.mul(low, half)))
    is_far = lax.gt(half_length, dtype.type(finfo(dtype).max) * half)
    if isinstance(is_far, (np.ndarray, np.generic)) and not is_far.any():
        return between(low, high, floats)
    factor = lax.select(is_far, half, one)
    return lax.mul(between(lax.mul(low, factor), lax.mul(high, factor), floats), lax.select(is_far, two, one))


def between(low: Value, high: Value, floats: Value) -> Value:
    """Return numbers in [0, 1) as numbers in [low, high), or, by rounding, in [low, high]."""
    numbers = lax.add(lax.mul(floats, lax.sub(high, low)), low)
    return lax.select(lax.lt(numbers, low), low, numbers)


def unit_uniform(key: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """Return floats distributed uniformly over [0, 1); the arguments are checked already."""
    return unit_floats(random_bits(key, shape, dtype_of_bits(dtype)), dtype)


def dtype_of_bits(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the random bits of one float: of its width, or of 8 bits if the fraction has fewer."""
    return np.dtype(f"uint{8 * (1 if finfo(dtype).nmant < 8 else dtype.itemsize)}")


def unit_floats(bits: Value, dtype: np.dtype[Any]) -> Value:
    """Return random bits of the dtype `dtype_of_bits(dtype)` as floats in [0, 1)."""
    unsigned, one = np.dtype(f"uint{8 * dtype.itemsize}"), dtype.type(1)
    n_other_bits = 8 * typeof(bits).dtype.itemsize - finfo(dtype).nmant
    fraction = lax.shift_right_logical(lax.convert_element_type(bits, unsigned), unsigned.type(n_other_bits))
    return lax.sub(lax.bitcast_convert_type(lax.bitwise_or(fraction, one.view(unsigned)), dtype), one)


def bernoulli(key: Value, p: Value = 0.5, shape: Sequence[int] | None = None, mode: str = "low") -> Value:
    """Return bools that are true with probability `p`.

    `mode="high"` compares with twice as many random bits, for probabilities near 0.
    Shapes: one key, p [*s] -> [*s], or `shape`; `p` broadcasts to it.  Dtype: bool.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `p` is not a float; ShapeError if `p` does
    not broadcast to `shape`; ValueError for another mode, or if a known `p` is not in [0, 1].

    >>> from calque_numpy.random import bernoulli, key
    >>> bernoulli(key(42), 0.4, (3,))
    array([False,  True, False])
    """
    key, dtype = check_key("bernoulli", key), typeof(p).dtype
    if not is_random_float(dtype):
        raise TypeError(f"bernoulli{where()}: p has type {typeof(p)}. Give a probability as a float.")
    check_probabilities("bernoulli", "p", p)
    sizes, (p,) = parameters("bernoulli", shape, dtype, p=p)
    if mode == "low":
        return lax.lt(unit_uniform(key, sizes, dtype), p)
    if mode != "high":
        raise ValueError(f"bernoulli{where()}: mode is {mode!r}. Use 'low' or 'high'.")
    high, low = lax.unstack(unit_uniform(key, (2, *sizes), dtype))
    return lax.lt(lax.mul(low, dtype.type(2.0 ** -finfo(dtype).nmant)), lax.sub(p, high))


def rademacher(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return -1 or 1, each with probability 1/2.

    Shapes: one key -> shape.  Dtype: `dtype`, or the default integer.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `dtype` is no dtype of numbers.

    >>> from calque_numpy.random import key, rademacher
    >>> rademacher(key(42), (4,))
    array([ 1,  1, -1, -1])
    """
    key, dtype = check_key("rademacher", key), dtype_argument(int if dtype is None else dtype)
    if kind_of(dtype) not in "iufc":
        raise TypeError(f"rademacher{where()}: dtype is {dtype}. Use a dtype of numbers.")
    is_one = bernoulli(key, 0.5, check_shape("rademacher", shape))
    return lax.select(is_one, dtype.type(1), lax.neg(lax.full_like(is_one, 1, dtype)))
