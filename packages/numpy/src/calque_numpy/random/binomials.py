"""Numbers of successes in repeated trials, of two kinds or of several.

One idea: few expected successes are counted by their waiting times, many are drawn by rejection.
Sources: Devroye (1986), Non-uniform random variate generation, chapter X.4; Hörmann (1993), The generation of binomial
random variates, algorithm BTRS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import lax, result_type, typeof
from calque_core.engine.numpy_functions import at, broadcast_to
from calque_core.extend import is_float, where
from calque_numpy.random.arguments import check_key, check_real, float_argument, float_of, parameters
from calque_numpy.random.floats import unit_uniform
from calque_numpy.random.generators import split_key
from calque_numpy.random.known_values import check_weights
from calque_numpy.random.threefry import Shape

Value = Any
DType = Any

_MOST_EXPECTED = 10.0
_SINGLE = np.dtype("float32")
_NUMPY_FLOATS = {np.dtype("float16"), _SINGLE, np.dtype("float64")}
# log(k!) minus Stirling's formula, for k = 0, ..., 9
_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def binomial(key: Value, n: Value, p: Value, shape: Sequence[int] | None = None, dtype: DType = None) -> Value:
    """Return the number of successes in `n` trials, of probability `p` each.

    Shapes: one key; n and p broadcast -> their shape, or `shape`.  Dtype: `dtype`, or the default float.
    NaN where `n` or `p` is NaN or negative, or `p` is above 1; infinity where `n` is.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not a float dtype, or a parameter is
    not real; ShapeError if one does not broadcast.

    >>> from calque_numpy.random import binomial, key
    >>> binomial(key(42), 20, 0.4, (4,))
    array([ 5.,  7., 10.,  8.])
    """
    key, dtype = check_key("binomial", key), float_argument("binomial", dtype)
    check_real("binomial", "p", p)
    sizes, (n, p) = parameters("binomial", shape, _dtype_of_counts(float_of(p)), n=n, p=p)
    return _binomials(key, broadcast_to(n, sizes), broadcast_to(p, sizes), sizes, dtype)


def _dtype_of_counts(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 for a short float, whose digits do not count far; other floats are kept."""
    return dtype if dtype in _NUMPY_FLOATS else _SINGLE


def _binomials(key: Value, n: Value, p: Value, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """Draw for the smaller of p and 1 - p; operands have `shape`."""
    n, p = lax.stop_gradient(n), lax.stop_gradient(p)
    is_below_half = p < 0.5
    q = lax.select(is_below_half, p, 1 - p)
    is_no_count = lax.bitwise_not(n >= 0)
    is_no_probability = lax.bitwise_not(q >= 0)
    is_infinite = lax.eq(n, np.inf)
    q = lax.select(is_no_probability, lax.full_like(q, 0.01), q)
    with np.errstate(all="ignore"):  # of candidates that are not chosen
        is_few = lax.bitwise_or(is_no_count, n * q <= _MOST_EXPECTED)
        n = lax.floor(n)
        few = _by_waiting(key, lax.select(is_few, n, lax.zeros_like(n)), q, shape)
        many_n, many_q = lax.select(is_few, lax.full_like(n, 1e4), n), lax.select(is_few, lax.full_like(q, 0.5), q)
        many = _by_rejection(key, many_n, many_q, shape)
        count = lax.convert_element_type(lax.select(is_few, few, many), dtype)
        other = lax.convert_element_type(n, dtype) - count
    nan, infinity = lax.full_like(count, np.nan), lax.full_like(count, np.inf)
    count = lax.select(is_below_half, count, other)
    count = lax.select(is_infinite, infinity, count)
    return lax.select(lax.bitwise_or(is_no_count, is_no_probability), nan, count)


def _by_waiting(key: Value, n: Value, q: Value, shape: Shape) -> Value:
    """Count how many geometric waiting times fit into n trials."""
    dtype = typeof(q).dtype
    log_failure = lax.log1p(-q)

    def step(carry: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        count, total, key = carry
        keys = split_key(key, (2,))
        count = lax.select(total <= n, count + 1, count)
        waiting = lax.ceil(lax.log(unit_uniform(keys[0], shape, dtype)) / log_failure)
        return count, total + waiting, keys[1]

    start = (lax.full(shape, 0, dtype), lax.full(shape, 0, dtype), key)
    count = lax.while_loop(lambda carry: lax.reduce_or(carry[1] <= n), step, start)[0]
    return count - 1


def _by_rejection(key: Value, n: Value, q: Value, shape: Shape) -> Value:
    """Accept or reject by the transformed rejection method, with the constants of its algorithm BTRS."""
    dtype = typeof(q).dtype
    deviation = lax.sqrt(n * q * (1 - q))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * q
    centre = n * q + 0.5
    v_r = 0.92 - 4.2 / b
    ratio = q / (1 - q)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = lax.floor((n + 1) * q)
    is_finite = lax.is_finite(n)

    def log_bound(k: Value) -> Value:
        """Return the logarithm of the probability of k by that of the mode."""
        return (
            (mode + 0.5) * lax.log((mode + 1) / (ratio * (n - mode + 1)))
            + (n + 1) * lax.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * lax.log(ratio * (n - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(k)
            - _stirling_tail(n - k)
        )

    def draw(carry: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
        accepted, is_open, key = carry
        keys = split_key(key, (3,))
        u = unit_uniform(keys[1], shape, dtype) - 0.5
        v = unit_uniform(keys[2], shape, dtype)
        edge = 0.5 - lax.abs(u)
        is_inside = lax.bitwise_and(edge >= 0.07, v <= v_r)
        k = lax.floor((2 * a / edge + b) * u + centre)
        is_possible = lax.bitwise_not(lax.bitwise_or(k < 0, k > n))
        is_below = lax.log(v * alpha / (a / (edge * edge) + b)) <= log_bound(k)
        is_accepted = lax.bitwise_or(is_inside, lax.bitwise_and(is_possible, is_below))
        is_open = lax.bitwise_and(is_open, lax.bitwise_not(is_accepted))
        return lax.select(is_accepted, k, accepted), is_open, keys[0]

    start = (lax.full(shape, -1, dtype), is_finite, key)
    return lax.while_loop(lambda carry: lax.reduce_or(carry[1]), draw, start)[0]


def _stirling_tail(k: Value) -> Value:
    """Return log(k!) minus Stirling's formula (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2: a table, then a series.

    Numbers outside of [0, 9] take the values at its ends in the table and in the series; k = 9 of the series is exact
    to 1e-10.
    """
    dtype = typeof(k).dtype
    near = lax.clamp(dtype.type(0), k, dtype.type(9))
    square = (near + 1) * (near + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (near + 1)
    table = at(np.array(_TAILS, dtype))[lax.convert_element_type(near, np.int32)].get(mode="clip")
    return lax.select(k <= 9, table, series)


def multinomial(
    key: Value, n: Value, p: Value, *, shape: Sequence[int] | None = None, dtype: DType = None, unroll: int | bool = 1
) -> Value:
    """Return how many of `n` trials have each of several outcomes, of the probabilities `p`.

    Shapes: one key, n [*s], p [*s, k] -> [*s, k], or `shape`.  Dtype: `dtype`, or the promoted float dtype of n and p.
    Each outcome is drawn from the trials that the outcomes before it have left; `unroll` is as for `lax.scan`.
    Raises: as `binomial`; ValueError if `p` has no axis, or if a known probability is negative or not finite, or all
    are 0.

    >>> import numpy as np
    >>> from calque_numpy.random import key, multinomial
    >>> multinomial(key(42), 20, np.array([0.2, 0.3, 0.5]))
    array([ 5.,  4., 11.])
    """
    key = check_key("multinomial", key)
    for argument, x in (("n", n), ("p", p)):
        check_real("multinomial", argument, x)
    if not typeof(p).shape:
        raise ValueError(f"multinomial{where()}: p has type {typeof(p)}. Give a vector of probabilities.")
    check_weights("multinomial", "p", p)
    promoted = result_type(float_of(p), float_of(n)) if is_float(typeof(n).dtype) else float_of(p)
    computed = _dtype_of_counts(promoted)
    sizes, (p,) = parameters("multinomial", typeof(p).shape if shape is None else shape, computed, p=p)
    batch, (n,) = parameters("multinomial", sizes[:-1], computed, n=n)
    last = len(sizes) - 1
    p, n = lax.transpose(broadcast_to(p, sizes), (last, *range(last))), broadcast_to(n, batch)
    remaining = lax.cumsum(p, 0, reverse=True)
    ratios = p / lax.select(lax.eq(remaining, 0), lax.ones_like(remaining), remaining)
    keys = split_key(key, (sizes[-1],))

    def step(left: Value, ratio_and_key: tuple[Value, Value]) -> tuple[Value, Value]:
        ratio, key = ratio_and_key
        count = _binomials(key, left, lax.clamp(computed.type(0), ratio, computed.type(1)), batch, computed)
        return left - count, count

    with np.errstate(all="ignore"):  # evaluation runs the step later than its tracing
        counts = lax.scan(step, n, (ratios, keys), unroll=unroll)[1]
    counts = lax.transpose(counts, (*range(1, last + 1), 0))
    out_dtype = promoted if dtype is None else float_argument("multinomial", dtype)
    return lax.convert_element_type(counts, out_dtype)
