"""Reductions that are not methods of arrays: averages, ranges, counts.

Read next: `nan_reductions.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import ShapeError, canonicalize_dtype, implements, lax, result_type, typeof
from calque_core.engine import numpy_functions as reductions
from calque_core.engine.numpy_functions import (
    Axes,
    as_dtype,
    canonical_axes,
    canonical_axis,
    check_dtypes,
    one_or_several,
    refuse,
    truth,
    wide_float,
)
from calque_core.extend import where as place
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

    Raises: ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy import count_nonzero
    >>> count_nonzero(np.array([[0, 3], [0, 5]]), axis=0)
    array([0, 2])
    """
    return reductions.sum(truth(a), axis, canonicalize_dtype(np.intp), keepdims=keepdims)


@implements(np.average)
def average(
    a: Value, axis: Axes = None, weights: Value | None = None, returned: bool = False, *, keepdims: bool = False
) -> Value:
    """Return the weighted mean over `axis`; with `returned`, the pair of the mean and the sum of the weights.

    The weights have the shape of `a`, or the sizes of the axes `axis` in their order.
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
    dtype = result_type(a, weights, wide_float(aval.dtype)) if aval.kind in "biu" else result_type(a, weights)
    weights = as_dtype(spread_weights("average", aval, axis, weights), dtype)
    total = reductions.sum(weights, axis, keepdims=keepdims)
    mean = lax.div(reductions.sum(lax.mul(as_dtype(a, dtype), weights), axis, keepdims=keepdims), total)
    return (mean, total) if returned else mean


def spread_weights(name: str, aval: Any, axis: Axes, weights: Value) -> Value:
    """Return the weights in the shape of an array of type `aval`.

    Raises: ShapeError if they have neither its shape nor the sizes of the axes.
    """
    shape = typeof(weights).shape
    if shape == aval.shape:
        return weights
    axes = () if axis is None else one_or_several(name, "axis", axis)
    increasing = canonical_axes(name, axes, aval.ndim)
    axes = tuple(canonical_axis(name, each, aval.ndim) for each in axes)
    if axis is None or shape != tuple(aval.shape[d] for d in axes):
        raise ShapeError(
            f"{name} of {aval}{place()} over the axis {axis}: the weights have the shape {shape}. Give weights of the "
            "array's shape, or of the sizes of the axes."
        )
    return broadcast_in_dim(lax.transpose(weights, [axes.index(d) for d in increasing]), aval.shape, increasing)
