"""Medians, percentiles and quantiles, with NaN or without.

One idea: the elements are sorted along one axis, and a quantile is a weighted mean of two neighbours.  A method of
NumPy's is a function from the probability q and the number of elements n to a position between 0 and n - 1.  The
derivative of a quantile goes to the elements that it is made from.
Source: Hyndman & Fan (1996), whose nine types have NumPy's names.

Read next: `searching.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import canonicalize_dtype, implements, lax, result_type, typeof
from calque_core.engine import kind_of
from calque_core.engine.numpy_functions import (
    Axes,
    any,
    as_dtype,
    at,
    isnan,
    keep_axes,
    reduced_axes,
    refuse,
    wide_float,
)
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.places import known_array
from calque_numpy.statistics import spread_weights

Value = Any


def _between(alpha: float, beta: float) -> Callable[[Value, Value], Value]:
    return lambda q, n: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _inverted_cdf(q: Value, n: Value) -> Value:
    return lax.ceil(n * q) - 1


def _averaged_inverted_cdf(q: Value, n: Value) -> Value:
    position = n * q - 1
    return lax.select(lax.eq(position, lax.floor(position)), position + 0.5, lax.ceil(position))


def _closest_observation(q: Value, n: Value) -> Value:
    """Return the whole number above the position, or the position itself if it is whole and odd."""
    position = n * q - 1.5
    below = lax.floor(position)
    is_odd = lax.ne(lax.rem(below, 2.0), 0)
    return lax.select(lax.bitwise_and(lax.eq(position, below), is_odd), below, below + 1)


def _midpoint(q: Value, n: Value) -> Value:
    position = (n - 1) * q
    return (lax.floor(position) + lax.ceil(position)) / 2


METHODS: dict[str, Callable[[Value, Value], Value]] = {
    "inverted_cdf": _inverted_cdf,
    "averaged_inverted_cdf": _averaged_inverted_cdf,
    "closest_observation": _closest_observation,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": lambda q, n: (n - 1) * q,
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
    "lower": lambda q, n: lax.floor((n - 1) * q),
    "higher": lambda q, n: lax.ceil((n - 1) * q),
    "midpoint": _midpoint,
    "nearest": lambda q, n: lax.round((n - 1) * q, lax.RoundingMethod.TO_NEAREST_EVEN),
}
_DISCRETE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")  # these keep integers


def _rows(name: str, a: Value, axis: Axes) -> tuple[Value, tuple[int, ...]]:
    """Return the array with the reduced axes joined in front, and these axes; NaN for no elements, as NumPy.

    Raises: ValueError for no elements of `quantile` and `percentile`, as NumPy refuses them.
    """
    a = asarray(a)
    aval = typeof(a)
    axes = reduced_axes(name, axis, aval.ndim)
    kept = [d for d in range(aval.ndim) if d not in axes]
    count = math.prod(aval.shape[d] for d in axes)
    rows = lax.reshape(lax.transpose(a, (*axes, *kept)), (count, *(aval.shape[d] for d in kept)))
    if not count and name in ("quantile", "percentile"):
        raise ValueError(f"{name} of {aval}{place()}: there are no elements over the axes {axes}.")
    return (rows if count else _nothing(rows)), axes


def _nothing(rows: Value) -> Value:
    """Return one row of NaN, in both parts of complex numbers."""
    nan = complex(np.nan, np.nan) if typeof(rows).kind == "c" else np.nan
    return lax.full((1, *typeof(rows).shape[1:]), nan, _float_dtype(rows))


def _float_dtype(rows: Value) -> np.dtype[Any]:
    dtype = typeof(rows).dtype
    return wide_float(dtype) if kind_of(dtype) in "biu" else dtype


def _sorted_floats(rows: Value) -> Value:
    return lax.sort(as_dtype(rows, _float_dtype(rows)), 0)


# Medians


@implements(np.median)
def median(
    a: Value, axis: Axes = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Value:
    """Return the middle element over `axis`, or the mean of the two in the middle; NaN if an element is NaN.

    Dtype: kept for floats, float64 for integers.  Complex numbers are sorted by the real part first.
    Raises: ValueError for an axis out of range; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import median
    >>> median(np.array([3.0, 1.0, 2.0]))
    np.float64(2.0)
    """
    refuse("median", out=out)
    rows, axes = _rows("median", a, axis)
    ordered = _sorted_floats(rows)
    n = typeof(rows).shape[0]
    low, high = (lax.index_in_dim(ordered, i, 0, keepdims=False) for i in ((n - 1) // 2, n // 2))
    middle = low if n % 2 else lax.mul(lax.add(low, high), 0.5)
    return keep_axes(_nan_if_any(rows, middle), axes, keepdims)


def _nan_if_any(rows: Value, out: Value) -> Value:
    """Return NaN for each row with a NaN."""
    return out if typeof(rows).kind in "biu" else lax.select(_spread(any(isnan(rows), 0), out), np.nan, out)


def _spread(x: Value, like: Value) -> Value:
    """Return `x` in the shape of `like`, whose last axes it has."""
    shape = typeof(like).shape
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - typeof(x).ndim, len(shape))))


@implements(np.nanmedian)
def nanmedian(
    a: Value, axis: Axes = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Value:
    """Return the median over `axis` of the elements that are not NaN; NaN if all are.

    Raises: as `median`.

    >>> import numpy as np
    >>> from calque_numpy import nanmedian
    >>> nanmedian(np.array([3.0, 1.0, np.nan]))
    np.float64(2.0)
    """
    refuse("nanmedian", out=out)
    rows, axes = _rows("nanmedian", a, axis)
    if typeof(rows).kind in "biu":
        return median(a, axis, keepdims=keepdims)
    ordered, count = _sorted_floats(rows), _count(rows)
    low, high = (_take_rows(ordered, lax.max(i, 0)) for i in (lax.div(lax.sub(count, 1), 2), lax.div(count, 2)))
    odd = lax.eq(lax.rem(count, 2), 1)
    middle = lax.select(odd, low, lax.mul(lax.add(low, high), 0.5))
    return keep_axes(lax.select(lax.eq(count, 0), np.nan, middle), axes, keepdims)


def _count(rows: Value) -> Value:
    return total(lax.bitwise_not(isnan(rows)), 0)


def _take_rows(rows: Value, index: Value) -> Value:
    """Return rows[index[*s], *s].  Shapes: rows [n, *s], index [*k, *s] -> [*k, *s]."""
    shape, ndim = typeof(index).shape, typeof(rows).ndim - 1
    others = [lax.broadcasted_iota(np.int32, shape, len(shape) - ndim + d) for d in range(ndim)]
    return at(rows)[(index, *others)].get(mode="clip")


# Quantiles


@implements(np.quantile)
def quantile(  # noqa: PLR0913  (NumPy's signature)
    a: Value,
    q: Value,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Value = None,
) -> Value:
    """Return the q-th quantiles over `axis`, for probabilities q from 0 to 1; NaN if an element is NaN.

    The method "inverted_cdf" takes `weights`, as `average`: it chooses the first element, in increasing order, up to
    which the weights sum to q times their total.  If the total is 0 or no number, floats give NaN.
    Shapes: q [*k], a reduced to [*s] -> [*k, *s].  Dtype: kept for floats, float64 for integers, unless the method
    chooses an element.
    Raises: ValueError for an unknown method, for a known q outside of [0, 1], for an axis out of range, for no
    elements, or for weights that are known to be negative or beside another method; ShapeError for weights of another
    shape; TypeError for `out`, and for complex numbers: no line joins neighbours in their order.

    >>> import numpy as np
    >>> from calque_numpy import quantile
    >>> quantile(np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.75]))
    array([2., 3.])
    """
    return _quantile("quantile", a, q, axis, (out, method, keepdims, weights))


@implements(np.percentile)
def percentile(  # noqa: PLR0913  (NumPy's signature)
    a: Value,
    q: Value,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Value = None,
) -> Value:
    """Return the q-th percentiles over `axis`, for q from 0 to 100; otherwise as `quantile`.

    >>> import numpy as np
    >>> from calque_numpy import percentile
    >>> percentile(np.array([1.0, 2.0, 4.0]), 75)
    np.float64(3.0)
    """
    return _quantile("percentile", a, q, axis, (out, method, keepdims, weights))


@implements(np.nanquantile)
def nanquantile(  # noqa: PLR0913  (NumPy's signature)
    a: Value,
    q: Value,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Value = None,
) -> Value:
    """Return the quantiles over `axis` of the elements that are not NaN; NaN if all are.  Otherwise as `quantile`.

    >>> import numpy as np
    >>> from calque_numpy import nanquantile
    >>> nanquantile(np.array([1.0, 2.0, np.nan]), 0.5)
    np.float64(1.5)
    """
    return _quantile("nanquantile", a, q, axis, (out, method, keepdims, weights))


@implements(np.nanpercentile)
def nanpercentile(  # noqa: PLR0913  (NumPy's signature)
    a: Value,
    q: Value,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Value = None,
) -> Value:
    """Return the percentiles over `axis` of the elements that are not NaN; NaN if all are.  Otherwise as `percentile`.

    >>> import numpy as np
    >>> from calque_numpy import nanpercentile
    >>> nanpercentile(np.array([1.0, 2.0, np.nan]), 50)
    np.float64(1.5)
    """
    return _quantile("nanpercentile", a, q, axis, (out, method, keepdims, weights))


def _quantile(name: str, a: Value, q: Value, axis: Axes, options: tuple[None, str, bool, Value]) -> Value:
    out, method, keepdims, weights = options
    refuse(name, out=out)
    if method not in METHODS:
        raise ValueError(f"{name}{place()}: the method is {method!r}. Use one of {', '.join(METHODS)}.")
    rows, axes = _rows(name, a, axis)
    if typeof(rows).kind == "c":
        raise TypeError(f"{name} of {typeof(a)}{place()}: there are only real quantiles. Use numpy.real or numpy.abs.")
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"{name}{place()}: the method {method!r} has no weights. Use method='inverted_cdf'.")
        result = _weighted(name, rows, _probabilities(name, q), _weight_rows(name, a, axis, weights))
        return _keep(result, typeof(asarray(q)).ndim, axes, keepdims)
    skips_nan = name.startswith("nan") and typeof(rows).kind == "f"
    is_discrete = method in _DISCRETE or (method == "linear" and _is_end(name, q))
    dtype, q = result_type(rows, q), _probabilities(name, q)
    dtype = wide_float(dtype) if kind_of(dtype) in "biu" else dtype
    ordered = lax.sort(rows if is_discrete else as_dtype(rows, dtype), 0)
    n = typeof(rows).shape[0]
    counts = as_dtype(_count(rows), typeof(q).dtype) if skips_nan else None
    q_ndim = typeof(q).ndim
    shape = (*typeof(q).shape, *typeof(rows).shape[1:])
    if counts is not None:
        q = lax.broadcast_in_dim(q, shape, tuple(range(q_ndim)))
        counts = _spread(counts, q)
    position = lax.clamp(0.0, METHODS[method](q, n if counts is None else counts), _last(n, counts, q))
    below = lax.floor(position)
    low, high = (_neighbour(ordered, i, skips_nan) for i in (below, lax.ceil(position)))
    if is_discrete:
        result = low
    else:
        weight = lax.sub(position, below)
        weight = weight if counts is not None else lax.broadcast_in_dim(weight, shape, tuple(range(q_ndim)))
        result = _interpolate(low, high, as_dtype(weight, typeof(low).dtype))
    if counts is not None:
        result = lax.select(lax.eq(counts, 0), np.nan, result)
    else:
        result = _nan_if_any(rows, result)
    return _keep(result, q_ndim, axes, keepdims)


def _keep(result: Value, q_ndim: int, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Return quantiles in which the reduced axes, after those of q, have size 1, with `keepdims`."""
    return lax.expand_dims(result, tuple(q_ndim + d for d in axes)) if keepdims and axes else result


def _weight_rows(name: str, a: Value, axis: Axes, weights: Value) -> Value:
    """Return the weights as floats in the order of the rows.

    Raises: TypeError for complex weights; ValueError for known ones that are negative, not finite, or zero alone.
    """
    weights = asarray(weights)
    if typeof(weights).kind == "c":
        raise TypeError(f"{name}{place()}: the weights are {typeof(weights)}. Give real numbers.")
    values = known_array(weights)
    if values is not None and (values < 0).any():
        raise ValueError(f"{name}{place()}: a weight is negative. Give weights of zero or more.")
    if values is not None and not (np.isfinite(values).all() and values.any()):
        raise ValueError(f"{name}{place()}: a weight is not finite, or all weights are zero. Give finite weights.")
    weights = as_dtype(spread_weights(name, typeof(asarray(a)), axis, weights), canonicalize_dtype(np.float64))
    return _rows(name, lax.stop_gradient(weights), axis)[0]


def _weighted(name: str, rows: Value, q: Value, weights: Value) -> Value:
    """Return the first elements up to which the weights sum to q times their total.

    Shapes: rows [n, *s], q [*k], weights [n, *s] -> [*k, *s].
    """
    skips_nan = name.startswith("nan") and typeof(rows).kind == "f"
    weights = lax.select(isnan(rows), 0, weights) if skips_nan else weights  # NaN comes last
    ordered, weights = lax.sort((rows, weights), 0)
    sums = lax.cumsum(weights, 0)
    share = as_dtype(lax.div(sums, sums[-1:]), typeof(q).dtype)
    share = lax.select(lax.eq(share, 0), -1, share)  # no weight comes before: q = 0 is the first element with a weight
    below = lax.lt(share, lax.expand_dims(q, tuple(range(typeof(q).ndim, typeof(q).ndim + typeof(rows).ndim))))
    index = lax.min(total(below, typeof(q).ndim), typeof(rows).shape[0] - 1)
    result = _take_rows(ordered, index)
    if typeof(rows).kind in "biu":
        return result
    result = lax.select(_spread(isnan(share[-1]), result), np.nan, result)
    return result if skips_nan else _nan_if_any(rows, result)


def _is_end(name: str, q: Value) -> bool:
    """Tell whether the type of q allows 0 and 1 alone, where the quantile is an element and keeps its dtype."""
    return name.endswith("quantile") and typeof(asarray(q)).kind in "biu"


def _last(n: int, counts: Value | None, q: Value) -> Value:
    return typeof(q).dtype.type(n - 1) if counts is None else lax.max(lax.sub(counts, 1), 0)


def _neighbour(ordered: Value, position: Value, differs_by_row: bool) -> Value:
    index = as_dtype(position, np.dtype("int64" if typeof(position).dtype.itemsize == 8 else "int32"))
    return _take_rows(ordered, index) if differs_by_row else at(ordered)[index].get(mode="clip")


def _interpolate(low: Value, high: Value, weight: Value) -> Value:
    """Return low + weight (high - low), from the nearer end, so that it is monotonic and exact at both."""
    step = lax.select(lax.eq(low, high), 0, lax.sub(high, low))
    near_high = lax.sub(high, lax.mul(step, lax.sub(1, weight)))
    return lax.select(lax.lt(weight, 0.5), lax.add(low, lax.mul(step, weight)), near_high)


def _probabilities(name: str, q: Value) -> Value:
    """Return q as floats between 0 and 1; a percentage is divided by 100."""
    q, highest = asarray(q), 100 if name.endswith("percentile") else 1
    values = known_array(q)
    if values is not None and not np.all(np.less_equal(0, values) & np.less_equal(values, highest)):
        raise ValueError(f"{name}{place()}: q is {values}. Give numbers between 0 and {highest}.")
    if typeof(q).kind != "f":
        q = as_dtype(q, canonicalize_dtype(np.float64))
    return lax.div(q, 100) if highest == 100 else q
