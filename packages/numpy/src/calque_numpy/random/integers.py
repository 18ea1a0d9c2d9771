"""Random integers from a range.

One idea: an integer of n bits is the remainder of a random number of 2n bits, so that remainders are almost equally
likely; it is computed from the two halves, modulo the length of the range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import iinfo, lax, typeof
from calque_core.extend import where
from calque_numpy.random.arguments import check_fits, check_key, check_shape, integer_argument
from calque_numpy.random.generators import random_bits, split_key
from calque_numpy.random.threefry import Shape

Value = Any
DType = Any

_INT32 = np.dtype("int32")


def randint(key: Value, shape: Sequence[int], minval: Value, maxval: Value, dtype: DType = None) -> Value:
    """Return integers from `minval` to `maxval - 1`, almost equally likely; `minval` where the range is empty.

    Shapes: one key -> shape; the bounds broadcast to it.  Dtype: `dtype`, or the default integer; a bound out of its
    range is clamped to the end of the range, so that (0, 256) is all of uint8.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, or `dtype` or a bound is no integer;
    ShapeError if a bound does not broadcast to `shape`.

    >>> from calque_numpy.random import key, randint
    >>> randint(key(42), (4,), 0, 10)
    array([5, 8, 3, 1])
    """
    key = check_key("randint", key)
    shape, dtype = check_shape("randint", shape), integer_argument("randint", dtype)
    for argument, bound in (("minval", minval), ("maxval", maxval)):
        _check_bound(argument, bound, shape)
    drawn = dtype if dtype.itemsize >= 4 else _INT32
    low, span = _range(minval, maxval, dtype, drawn)
    offset = _random_below(key, shape, span, np.dtype(f"uint{8 * drawn.itemsize}"))
    out = lax.add(lax.convert_element_type(offset, drawn), low)
    return lax.reshape(lax.convert_element_type(out, dtype), shape)


def _check_bound(argument: str, x: Value, shape: Shape) -> None:
    if type(x) is int:
        return
    aval = typeof(x)
    if aval.kind not in "iu":
        raise TypeError(f"randint{where()}: {argument} has type {aval}. Give an integer.")
    check_fits("randint", argument, x, shape)


def _range(minval: Value, maxval: Value, dtype: np.dtype[Any], drawn: np.dtype[Any]) -> tuple[Value, Value]:
    """Return the least integer in `drawn`, and the number of integers in its unsigned dtype; 0 stands for all.

    Both are arrays until nothing can overflow: there NumPy wraps around without a warning, as compiled programs do.
    """
    least, most = int(iinfo(dtype).min), int(iinfo(dtype).max)
    if drawn == dtype:
        is_above = _exceeds(maxval, most)
    else:  # `drawn` also holds the integer after the last one
        most, is_above = most + 1, False
    low, high = _clip(minval, least, most, drawn), _clip(maxval, least, most, drawn)
    unsigned = np.dtype(f"uint{8 * drawn.itemsize}")
    span = lax.convert_element_type(lax.sub(high, low), unsigned)
    if is_above is not False:
        span = lax.add(span, lax.convert_element_type(is_above, unsigned))
    return _scalar_if_single(low), lax.select(lax.le(high, low), unsigned.type(1), span)


def _exceeds(x: Value, most: int) -> Value:
    """Return where x > most; False if the dtype of `x` excludes it."""
    if type(x) is int:
        return x > most
    dtype = typeof(x).dtype
    return lax.gt(x, dtype.type(most)) if iinfo(dtype).max > most else False


def _clip(x: Value, least: int, most: int, dtype: np.dtype[Any]) -> Value:
    """Return integers clamped to [least, most] and converted to `dtype`, which holds both; never of rank 0."""
    if type(x) is int:
        return np.array([min(max(x, least), most)], dtype)
    aval = typeof(x)
    info = iinfo(aval.dtype)
    lowest, highest = aval.dtype.type(max(least, int(info.min))), aval.dtype.type(min(most, int(info.max)))
    return lax.convert_element_type(lax.clamp(lowest, lax.reshape(x, aval.shape or (1,)), highest), dtype)


def _scalar_if_single(x: Value) -> Value:
    """Return an array of shape [1] as a scalar, which needs no broadcast; any other array unchanged."""
    return lax.reshape(x, ()) if typeof(x).shape == (1,) else x


def _random_below(key: Value, shape: Shape, span: Value, dtype: np.dtype[Any]) -> Value:
    """Return random numbers from 0 to span - 1, from twice as many bits as `dtype` has; any numbers if span is 0.

    Shapes: one key, span [1] or [*s] -> shape, or [1] for the shape ().
    """
    keys = split_key(key, (2,))
    high, low = (random_bits(keys[i], shape or (1,), dtype) for i in range(2))
    is_all = lax.eq(span, dtype.type(0))
    divisor = lax.select(is_all, dtype.type(1), span)
    factor = lax.rem(dtype.type(1 << 4 * dtype.itemsize), divisor)
    factor = lax.rem(lax.mul(factor, factor), divisor)  # 2**n modulo the divisor, for n bits
    factor, divisor, is_all = _scalar_if_single(factor), _scalar_if_single(divisor), _scalar_if_single(is_all)
    offset = lax.rem(lax.add(lax.mul(lax.rem(high, divisor), factor), lax.rem(low, divisor)), divisor)
    return lax.select(is_all, low, offset)
