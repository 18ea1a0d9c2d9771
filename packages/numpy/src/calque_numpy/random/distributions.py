"""Numbers of other distributions, made of uniform ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from calque_core import lax, typeof
from calque_core.ops.create import dtype_argument
from calque_core.source import where

from calque_numpy.random.bits import check_fits, float_argument, uniform
from calque_numpy.random.keys import check_key, check_shape

Value = Any
DType = Any


def normal(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return numbers of the standard normal distribution.

    Shapes: key [2] -> shape.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `dtype` is not a float dtype.

    >>> normal(np.zeros(2, np.uint32), (2,), np.float32)
    array([1.6226422, 2.0252647], dtype=float32)
    """
    check_key("normal", key)
    dtype = float_argument("normal", dtype)
    one = dtype.type(1)
    u = uniform(key, shape, dtype, np.nextafter(-one, one), one)  # -1 itself would give -inf
    return lax.mul(lax.erf_inv(u), dtype.type(sqrt(2)))


def bernoulli(key: Value, p: Value = 0.5, shape: Sequence[int] | None = None) -> Value:
    """Return bools that are true with probability `p`.

    Shapes: key [2], p [*s] -> [*s], or shape, to which `p` broadcasts.  Dtype: bool.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `p` is not a float; ShapeError if `p` does not
    broadcast to `shape`.

    >>> bernoulli(np.zeros(2, np.uint32), 0.97, (2,))
    array([ True, False])
    """
    check_key("bernoulli", key)
    aval = typeof(p)
    if aval.dtype.kind != "f":
        raise TypeError(f"bernoulli{where()}: p has type {aval.str_short()}. Give a probability as a float.")
    shape = aval.shape if shape is None else check_shape("bernoulli", shape)
    check_fits("bernoulli", "p", p, shape)
    return lax.lt(uniform(key, shape, dtype_argument(aval.dtype)), p)
