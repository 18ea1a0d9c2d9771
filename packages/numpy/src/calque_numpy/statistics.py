"""Reductions that are not methods of arrays: averages, ranges, counts, reductions that skip NaN; and differences.

Read next: `sorting.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import ShapeError, canonicalize_dtype, implements, lax, result_type, typeof
from calque_core.extend import integer, is_float
from calque_core.extend import numpy_functions as reductions
from calque_core.extend import where as place
from calque_core.extend.numpy_functions import (
    Axes,
    as_dtype,
    broadcast_to,
    canonical_axes,
    canonical_axis,
    check_dtypes,
    isnan,
    refuse,
    true_divide,
    truth,
)
from calque_core.lax import broadcast_in_dim
from calque_numpy.creation import asarray

Value = Any
DType = Any


@implements(np.ptp)
def ptp(a: Value, axis: Axes = None, out: None = None, keepdims: bool = False) -> Value:
    """Return the largest element over `axis` minus the smallest.

    Raises: ValueError for an axis out of range or without elements; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import ptp
    >>> ptp(np.array([3, 7, 4]))
    np.int64(4)
    """
    refuse("ptp", out=out)
    return lax.sub(reductions.max(a, axis, keepdims=keepdims), reductions.min(a, axis, keepdims=keepdims))


@implements(np.count_nonzero)
def count_nonzero(a: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Return the number of nonzero elements over `axis`.

    >>> import numpy as np
    >>> from calque_numpy import count_nonzero
    >>> count_nonzero(np.array([0, 3, 0, 5]))
    np.int64(2)
    """
    return reductions.sum(truth(a), axis, canonicalize_dtype(np.intp), keepdims=keepdims)


@implements(np.average)
def average(
    a: Value, axis: Axes = None, weights: Value | None = None, returned: bool = False, *, keepdims: bool = False
) -> Value:
    """Return the weighted mean over `axis`; with `returned`, the pair of the mean and the sum of the weights.

    The weights have the shape of `a`, or are a vector along a single `axis`.
    Raises: ShapeError if the weights have another shape; ValueError for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import average
    >>> average(np.array([1.0, 3.0]), weights=np.array([3.0, 1.0]))
    np.float64(1.5)
    """
    aval = typeof(a)
    if weights is None:
        mean = reductions.mean(a, axis, keepdims=keepdims)
        shape = typeof(mean).shape
        count = aval.size / max(typeof(mean).size, 1)
        return (mean, lax.full(shape, typeof(mean).dtype.type(count))) if returned else mean
    weights = asarray(weights)
    check_dtypes("average", [aval, typeof(weights)])
    dtype = result_type(a, weights, np.float64) if aval.dtype.kind in "biu" else result_type(a, weights)
    weights = as_dtype(_weights(aval, axis, weights), dtype)
    total = reductions.sum(weights, axis, keepdims=keepdims)
    mean = lax.div(reductions.sum(lax.mul(as_dtype(a, dtype), weights), axis, keepdims=keepdims), total)
    return (mean, total) if returned else mean


def _weights(aval: Any, axis: Axes, weights: Value) -> Value:
    """Return the weights in the shape of the array."""
    shape = typeof(weights).shape
    if shape == aval.shape:
        return weights
    axes = canonical_axes("average", axis, aval.ndim)
    if axis is None or len(axes) != 1 or shape != (aval.shape[axes[0]],):
        raise ShapeError(
            f"average of {aval}{place()} over the axis {axis}: the weights have the shape {shape}. Give weights of the "
            "array's shape, or a vector with the size of the axis."
        )
    return broadcast_in_dim(weights, aval.shape, axes)


# Reductions that skip NaN


@implements(np.nansum)
def nansum(
    a: Value,
    axis: Axes = None,
    dtype: DType = None,
    out: None = None,
    keepdims: bool = False,
    initial: Value = 0,
    where: Value = True,
) -> Value:
    """Return the sum over `axis`, with NaN counted as zero; otherwise as `sum`.

    >>> import numpy as np
    >>> from calque_numpy import nansum
    >>> nansum(np.array([1.0, np.nan]))
    np.float64(1.0)
    """
    return reductions.sum(_without_nan(a, 0), axis, dtype, out, keepdims, initial, where)


def _without_nan(a: Value, fill: Value) -> Value:
    return a if typeof(a).dtype.kind in "biu" else lax.select(isnan(a), fill, a)


@implements(np.nanmean)
def nanmean(
    a: Value, axis: Axes = None, dtype: DType = None, out: None = None, keepdims: bool = False, *, where: Value = True
) -> Value:
    """Return the mean over `axis` of the elements that are not NaN; NaN if there are none.

    Raises: TypeError for `out` and `where`.

    >>> import numpy as np
    >>> from calque_numpy import nanmean
    >>> nanmean(np.array([1.0, 3.0, np.nan]))
    np.float64(2.0)
    """
    refuse("nanmean", out=out, where=where)
    if dtype is not None and is_float(typeof(a).dtype) and not is_float(canonicalize_dtype(dtype)):
        raise TypeError(f"nanmean of {typeof(a)}{place()}: dtype={dtype} cannot hold a mean of floats. Remove dtype.")
    if typeof(a).dtype.kind in "biu":
        return reductions.mean(a, axis, dtype, keepdims=keepdims)
    total = nansum(a, axis, dtype, keepdims=keepdims)
    count = reductions.sum(lax.bitwise_not(isnan(a)), axis, keepdims=keepdims)
    return true_divide(total, as_dtype(count, typeof(total).dtype))


# Differences


@implements(np.diff)
def diff(a: Value, n: int = 1, axis: int = -1, prepend: Value = None, append: Value = None) -> Value:
    """Return the differences of adjacent elements along `axis`, taken n times.

    Shapes: a [*s, k] -> [*s, max(k - n, 0)].  Dtype: kept; bools are compared.  `prepend` and `append`, scalars or
    arrays, are joined to the array first.
    Raises: ValueError for a negative `n`, a scalar `a`, or an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import diff
    >>> diff(np.array([1, 4, 9]))
    array([3, 5])
    """
    times = integer("diff", "n", n)
    if times < 0:
        raise ValueError(f"diff{place()}: n is {times}. Give a number of zero or more.")
    shape = typeof(a).shape
    position = canonical_axis("diff", axis, len(shape))
    edge = (*shape[:position], 1, *shape[position + 1 :])
    pieces = [
        x if x is a or typeof(x).shape else broadcast_to(asarray(x), edge)
        for x in (prepend, a, append)
        if x is not None
    ]
    a = asarray(a) if len(pieces) == 1 else lax.concatenate(pieces, position)
    for _ in range(times):
        a = _difference(a, position)
    return a


def _difference(a: Value, axis: int) -> Value:
    shape = typeof(a).shape
    ndim, size = len(shape), shape[axis]
    later, earlier = (
        lax.slice(
            a, [start if d == axis else 0 for d in range(ndim)], [stop if d == axis else shape[d] for d in range(ndim)]
        )
        for start, stop in ((min(1, size), size), (0, max(size - 1, 0)))
    )
    return lax.ne(later, earlier) if typeof(a).dtype.kind == "b" else lax.sub(later, earlier)
