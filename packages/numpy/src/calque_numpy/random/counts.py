"""Random counts: trials until a success, and events at a rate.

One idea: small rates count exponential waiting times, all elements together until each is done; large rates accept or
reject candidates.
Sources: Knuth, The Art of Computer Programming, volume 2, 3.4.1; Hörmann (1993), The transformed rejection method for
generating Poisson random variables.

Read next: `binomials.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import calque_special
from calque_core import finfo, iinfo, lax, typeof
from calque_core.engine.numpy_functions import broadcast_to
from calque_numpy.random.arguments import check_key, float_of, integer_argument, parameters
from calque_numpy.random.floats import unit_uniform
from calque_numpy.random.generators import split_key
from calque_numpy.random.threefry import Shape

Value = Any
DType = Any

_SINGLE = np.dtype("float32")
_LARGE = 10.0


def geometric(key: Value, p: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return the number of trials until the first success, of probability `p` each.

    The limits of the dtype stand for numbers beyond them: for `p` = 0, which has no success, the greatest integer; 0
    where `p` is NaN or outside of [0, 1].
    Shapes: one key, p [*s] -> [*s], or `shape`; `p` broadcasts to it.  Dtype: `dtype`, or the default integer.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is no integer dtype, or `p` is not real;
    ShapeError if `p` does not broadcast to `shape`.

    >>> from calque_numpy.random import geometric, key
    >>> geometric(key(42), 0.3, (4,))
    array([ 3, 12,  2,  1])
    """
    key, dtype = check_key("geometric", key), integer_argument("geometric", dtype)
    computed = float_of(p)
    sizes, (p,) = parameters("geometric", shape, computed, p=p)
    with np.errstate(divide="ignore", invalid="ignore"):  # probabilities of 0 and 1
        u = unit_uniform(key, sizes, computed)
        u = lax.select(lax.eq(u, computed.type(0)), lax.ones_like(u), u)
        trials = lax.floor(lax.div(lax.log(u), lax.log1p(lax.neg(p)))) + 1
        is_probability = lax.bitwise_and(p >= 0, p <= 1)
        return _nearest_integer(lax.select(is_probability, trials, lax.zeros_like(trials)), dtype)


def _nearest_integer(x: Value, dtype: np.dtype[Any]) -> Value:
    """Convert whole floats; the limits of `dtype` stand for numbers beyond them, 0 for NaN, in all evaluators."""
    least, most, greatest = int(iinfo(dtype).min), int(iinfo(dtype).max), float(finfo(typeof(x).dtype).max)
    low, high = (float(n) if abs(n) <= greatest else math.copysign(math.inf, n) for n in (least, most))
    is_inside = lax.bitwise_and(lax.gt(x, low), lax.lt(x, high))
    inside = lax.convert_element_type(lax.select(is_inside, x, lax.zeros_like(x)), dtype)
    above = lax.select(lax.ge(x, high), dtype.type(most), inside)
    return lax.select(lax.le(x, low), dtype.type(least), above)


def poisson(key: Value, lam: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return the number of events in a unit of time, at the rate `lam`; -1 where the rate is negative, NaN or infinite.

    In an unsigned dtype the greatest integer stands for -1, and in all dtypes for a greater number of events.
    Shapes: one key, lam [*s] -> [*s], or `shape`; `lam` broadcasts to it.  Dtype: `dtype`, or the default integer.
    The rate is rounded to float32.
    Raises: as `geometric`.

    >>> from calque_numpy.random import key, poisson
    >>> poisson(key(42), 3.0, (4,))
    array([6, 2, 2, 1])
    """
    key, dtype = check_key("poisson", key), integer_argument("poisson", dtype)
    sizes, (lam,) = parameters("poisson", shape, _SINGLE, lam=lam)
    rate = broadcast_to(lax.stop_gradient(lam), sizes)
    is_small = lax.bitwise_not(rate >= _LARGE)
    with np.errstate(all="ignore"):  # of candidates that are not chosen
        few = _by_waiting(key, lax.select(is_small, rate, lax.zeros_like(rate)), sizes, dtype)
        many = _by_rejection(key, lax.select(is_small, lax.full_like(rate, 1e5), rate), sizes, dtype)
    counts = lax.select(is_small, few, many)
    return lax.select(lax.eq(rate, _SINGLE.type(0)), lax.zeros_like(counts), counts)


def _by_waiting(key: Value, rate: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """Count how many uniform numbers have a product above exp(-rate)."""

    def is_waiting(log_product: Value) -> Value:
        return log_product > -rate

    def step(carry: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        count, key, log_product = carry
        keys = split_key(key, (2,))
        count = lax.select(is_waiting(log_product), count + dtype.type(1), count)
        return count, keys[0], log_product + lax.log(unit_uniform(keys[1], shape, _SINGLE))

    start = (lax.full(shape, 0, dtype), key, lax.full(shape, 0, _SINGLE))
    count = lax.while_loop(lambda carry: lax.reduce_or(is_waiting(carry[2])), step, start)[0]
    return count - dtype.type(1)


def _by_rejection(key: Value, rate: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """Accept or reject by the transformed rejection method, with the constants of its algorithm PTRS."""
    log_rate = lax.log(rate)
    b = 0.931 + 2.53 * lax.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    is_finite, minus_one = lax.is_finite(rate), np.array(-1).astype(dtype)

    def draw(carry: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        accepted, is_open, key = carry
        keys = split_key(key, (3,))
        u = unit_uniform(keys[1], shape, _SINGLE) - 0.5
        v = unit_uniform(keys[2], shape, _SINGLE)
        edge = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / edge + b) * u + rate + 0.43)
        is_inside = lax.bitwise_and(edge >= 0.07, v <= v_r)
        is_outside = lax.bitwise_or(k < 0, lax.bitwise_and(edge < 0.013, v > edge))
        log_ratio = lax.log(v * inverse_alpha / (a / (edge * edge) + b))
        is_below = log_ratio <= -rate + k * log_rate - calque_special.lgamma(k + 1)
        is_accepted = lax.bitwise_or(is_inside, lax.bitwise_and(lax.bitwise_not(is_outside), is_below))
        is_open = lax.bitwise_and(is_open, lax.bitwise_not(is_accepted))
        return lax.select(is_accepted, k, accepted), is_open, keys[0]

    start = (lax.full(shape, 0, _SINGLE), is_finite, key)
    accepted = lax.while_loop(lambda carry: lax.reduce_or(carry[1]), draw, start)[0]
    return lax.select(is_finite, _nearest_integer(accepted, dtype), minus_one)
