"""Uniform floats, and bools that compare them with a probability.

One idea: random fraction bits with the exponent of 1 are a number in [1, 2); minus 1, it is in [0, 1).

Read next: `gaussian.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import ShapeError, lax, typeof
from calque_core.extend import scalar_dtype, where
from calque_core.extend.numpy_functions import dtype_argument
from calque_core.lax import broadcast_shapes
from calque_numpy.random.keys import check_key, check_shape
from calque_numpy.random.random_bits import random_bits
from calque_numpy.random.threefry import Shape

Value = Any
DType = Any

_FLOATS = {np.dtype("float16"), np.dtype("float32"), np.dtype("float64")}


def uniform(
    key: Value, shape: Sequence[int] = (), dtype: DType = None, minval: Value = 0.0, maxval: Value = 1.0
) -> Value:
    """Return floats distributed uniformly over [minval, maxval).

    Shapes: key [2] -> shape; the bounds broadcast to it.  Dtype: `dtype`, or the default float.
    For other bounds than 0 and 1, the last bit may differ in a compiled program, which fuses x * range + minval.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or a bound is
    complex; ShapeError if a bound does not broadcast to `shape`.

    >>> import numpy as np
    >>> from calque_numpy.random import uniform
    >>> uniform(np.array([0, 42], np.uint32), (2,), np.float32)
    array([0.48870957, 0.6797972 ], dtype=float32)
    """
    check_key("uniform", key)
    shape, dtype = check_shape("uniform", shape), float_argument("uniform", dtype)
    low, high = _bound("minval", minval, shape, dtype), _bound("maxval", maxval, shape, dtype)
    floats = _unit_floats(key, shape, dtype)
    return lax.max(low, lax.add(lax.mul(floats, lax.sub(high, low)), low))


def float_argument(name: str, dtype: DType) -> np.dtype[Any]:
    """Return the argument `dtype` of the function `name` as a dtype; the default float for None.

    Raises: TypeError unless it is float16, float32 or float64.
    """
    float_dtype = scalar_dtype(float) if dtype is None else dtype_argument(dtype)
    if float_dtype not in _FLOATS:
        raise TypeError(f"{name}{where()}: dtype is {float_dtype}. Use float16, float32 or float64.")
    return float_dtype


def _bound(argument: str, x: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    if typeof(x).dtype.kind not in "biuf":
        raise TypeError(f"uniform{where()}: {argument} has type {typeof(x)}. Give a real number.")
    check_fits("uniform", argument, x, shape)
    return lax.convert_element_type(x, dtype)


def check_fits(name: str, argument: str, x: Value, shape: Shape) -> None:
    """Check that an argument of the function `name` broadcasts to the shape of the result.

    Raises: ShapeError.
    """
    aval = typeof(x)
    try:
        fits = broadcast_shapes(aval.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{name}{where()}: {argument} has type {aval}, which does not broadcast to the shape {shape}. "
            "Give a scalar, or a larger shape."
        )


def _unit_floats(key: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    unsigned, one = np.dtype(f"uint{8 * dtype.itemsize}"), dtype.type(1)
    n_other_bits = 8 * dtype.itemsize - np.finfo(dtype).nmant
    fraction = lax.shift_right_logical(random_bits(key, shape, unsigned), unsigned.type(n_other_bits))
    return lax.sub(lax.bitcast_convert_type(lax.bitwise_or(fraction, one.view(unsigned)), dtype), one)


def bernoulli(key: Value, p: Value = 0.5, shape: Sequence[int] | None = None) -> Value:
    """Return bools that are true with probability `p`.

    Shapes: key [2], p [*s] -> [*s], or `shape`; `p` broadcasts to it.  Dtype: bool.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `p` is not a float; ShapeError if `p` does
    not broadcast to `shape`.

    >>> import numpy as np
    >>> from calque_numpy.random import bernoulli
    >>> bernoulli(np.array([0, 42], np.uint32), 0.4, (3,))
    array([False,  True, False])
    """
    check_key("bernoulli", key)
    aval = typeof(p)
    if aval.dtype not in _FLOATS:
        raise TypeError(f"bernoulli{where()}: p has type {aval}. Give a probability as a float.")
    shape = aval.shape if shape is None else check_shape("bernoulli", shape)
    check_fits("bernoulli", "p", p, shape)
    return lax.lt(uniform(key, shape, aval.dtype), p)
