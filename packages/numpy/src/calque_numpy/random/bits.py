"""The random bits of a key, and floats distributed evenly, which are little else.

One idea: a uniform float is a number in [1, 2) with random fraction bits, less 1.

Read next: `integers.py`, `distributions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from calque_core import ShapeError, config, lax, typeof
from calque_core.dtypes import scalar_dtype
from calque_core.ops.broadcast import broadcast_shapes
from calque_core.ops.create import dtype_argument
from calque_core.source import where

from calque_numpy.random.keys import check_key, check_shape, split
from calque_numpy.random.threefry import Shape, random_words

Value = Any
DType = Any

_FLOATS = {2: np.dtype("float16"), 4: np.dtype("float32"), 8: np.dtype("float64")}


def bits(key: Value, shape: Sequence[int] = (), dtype: DType = None) -> Value:
    """Return uniformly random bits, as unsigned integers.

    Shapes: key [2] -> shape.  Dtype: `dtype`, or that of 32 or 64 bits that the settings say.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `dtype` is not an unsigned integer dtype.

    >>> bits(split(np.zeros(2, np.uint32))[0], (2,), np.uint8)
    array([248, 162], dtype=uint8)
    """
    check_key("bits", key)
    dtype = np.dtype(f"uint{config.current().default_dtype_bits}") if dtype is None else dtype_argument(dtype)
    if dtype.kind != "u":
        raise TypeError(f"bits{where()}: dtype is {dtype}. Use an unsigned integer dtype, such as uint32.")
    return random_bits(key, check_shape("bits", shape), dtype)


def random_bits(key: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """Return random bits where everything has been checked."""
    high, low = random_words(key, shape)
    if dtype.itemsize == 8:
        high, low = lax.convert_element_type(high, dtype), lax.convert_element_type(low, dtype)
        flat = lax.bitwise_or(lax.shift_left(high, np.uint64(32)), low)
    else:
        flat = lax.convert_element_type(lax.bitwise_xor(high, low), dtype)
    return lax.reshape(flat, shape)


# Floats


def float_argument(name: str, dtype: DType) -> np.dtype[Any]:
    """Return the dtype that the function `name` was asked for; the default float for None.

    Raises: TypeError unless it is float16, float32 or float64.
    """
    dtype = scalar_dtype(float) if dtype is None else dtype_argument(dtype)
    if dtype != _FLOATS.get(dtype.itemsize):
        raise TypeError(f"{name}{where()}: dtype is {dtype}. Use float16, float32 or float64.")
    return dtype


def check_fits(name: str, argument: str, x: Value, shape: Shape) -> None:
    """Check that a parameter of a distribution broadcasts to the shape of the result.

    Raises: ShapeError.
    """
    aval = typeof(x)
    try:
        fits = broadcast_shapes(aval.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{name}{where()}: {argument} has type {aval.str_short()}, which does not broadcast to the shape {shape}. "
            "Give a scalar, or a larger shape."
        )


def uniform(
    key: Value, shape: Sequence[int] = (), dtype: DType = None, minval: Value = 0.0, maxval: Value = 1.0
) -> Value:
    """Return floats distributed evenly over [minval, maxval).

    Shapes: key [2] -> shape, to which the bounds broadcast.  Dtype: `dtype`, or the default float.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or a bound is
    complex; ShapeError if a bound does not broadcast to `shape`.

    >>> uniform(np.zeros(2, np.uint32), (2,), np.float32)
    array([0.947667, 0.9785799], dtype=float32)
    """
    check_key("uniform", key)
    shape, dtype = check_shape("uniform", shape), float_argument("uniform", dtype)
    low, high = _float_bound("minval", minval, shape, dtype), _float_bound("maxval", maxval, shape, dtype)
    floats = _unit_floats(key, shape, dtype)
    return lax.max(low, lax.add(lax.mul(floats, lax.sub(high, low)), low))


def _float_bound(argument: str, x: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    check_fits("uniform", argument, x, shape)
    if typeof(x).dtype.kind not in "biuf":
        raise TypeError(f"uniform{where()}: {argument} has type {typeof(x).str_short()}. Give a real number.")
    return lax.convert_element_type(x, dtype)


def _unit_floats(key: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """Return floats distributed evenly over [0, 1): random fraction bits behind the exponent of 1, less 1."""
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    n_exponent = 8 * dtype.itemsize - np.finfo(dtype).nmant
    fraction = lax.shift_right_logical(random_bits(key, shape, unsigned), unsigned.type(n_exponent))
    one = dtype.type(1)
    return lax.sub(lax.bitcast_convert_type(lax.bitwise_or(fraction, one.view(unsigned)), dtype), one)

