"""Reductions that skip NaN: `nansum nanmean nanmax` and similar functions.

One idea: NaN is replaced by the value that the reduction ignores, and a slice without numbers gives NaN.  Derivatives
at NaN are zero.

Read next: `running.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import canonicalize_dtype, implements, lax, typeof
from calque_core.engine import highest, kind_of, lowest
from calque_core.engine import numpy_functions as reductions
from calque_core.engine.numpy_functions import (
    Axes,
    as_dtype,
    deviation_of,
    fill_masked,
    isnan,
    prod,
    refuse,
    true_divide,
)
from calque_core.extend import is_float
from calque_core.extend import where as place
from calque_numpy.running import cumprod, cumsum

Value = Any
DType = Any

# Sums and means


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
    return a if typeof(a).kind in "biu" else lax.select(isnan(a), fill, a)


@implements(np.nanmean)
def nanmean(
    a: Value, axis: Axes = None, dtype: DType = None, out: None = None, keepdims: bool = False, *, where: Value = True
) -> Value:
    """Return the mean over `axis` of the elements that are not NaN, and where the mask is true; NaN if there are none.

    Raises: TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import nanmean
    >>> nanmean(np.array([1.0, 3.0, np.nan]))
    np.float64(2.0)
    """
    refuse("nanmean", out=out)
    if dtype is not None and is_float(typeof(a).dtype) and not is_float(canonicalize_dtype(dtype)):
        raise TypeError(f"nanmean of {typeof(a)}{place()}: dtype={dtype} cannot hold a mean of floats. Remove dtype.")
    if typeof(a).kind in "biu":
        return reductions.mean(a, axis, dtype, keepdims=keepdims, where=where)
    total = nansum(a, axis, dtype, keepdims=keepdims, where=where)
    count = reductions.sum(lax.bitwise_not(isnan(a)), axis, keepdims=keepdims, where=where)
    return true_divide(total, as_dtype(count, typeof(total).dtype))


@implements(np.nanprod)
def nanprod(
    a: Value,
    axis: Axes = None,
    dtype: DType = None,
    out: None = None,
    keepdims: bool = False,
    initial: Value = 1,
    where: Value = True,
) -> Value:
    """Return the product over `axis`, with NaN counted as one; otherwise as `prod`.

    >>> import numpy as np
    >>> from calque_numpy import nanprod
    >>> nanprod(np.array([2.0, np.nan]))
    np.float64(2.0)
    """
    return prod(_without_nan(a, 1), axis, dtype, out, keepdims, initial, where)


@implements(np.nancumsum)
def nancumsum(a: Value, axis: int | None = None, dtype: DType = None, out: None = None) -> Value:
    """Return the running sum along `axis`, with NaN counted as zero; otherwise as `cumsum`.

    >>> import numpy as np
    >>> from calque_numpy import nancumsum
    >>> nancumsum(np.array([1.0, np.nan, 2.0]))
    array([1., 1., 3.])
    """
    return cumsum(_without_nan(a, 0), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Value, axis: int | None = None, dtype: DType = None, out: None = None) -> Value:
    """Return the running product along `axis`, with NaN counted as one; otherwise as `cumprod`.

    >>> import numpy as np
    >>> from calque_numpy import nancumprod
    >>> nancumprod(np.array([2.0, np.nan, 3.0]))
    array([2., 2., 6.])
    """
    return cumprod(_without_nan(a, 1), axis, dtype, out)


@implements(np.nanvar)
def nanvar(  # noqa: PLR0913  (NumPy's signature)
    a: Value,
    axis: Axes = None,
    dtype: DType = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Value = True,
    mean: Value = None,
    correction: float | None = None,
) -> Value:
    """Return the variance over `axis` of the elements that are not NaN, with the divisor n - ddof; NaN if n <= ddof.

    `mean` is the mean with its axes kept, if it is known; a mask `where` chooses the elements, as for `nanmean`.
    Raises: TypeError for `out`, and for a `dtype` that cannot hold the squares; ValueError for both `ddof` and
    `correction`, its second name.

    >>> import numpy as np
    >>> from calque_numpy import nanvar
    >>> nanvar(np.array([1.0, 3.0, np.nan]))
    np.float64(1.0)
    """
    refuse("nanvar", out=out)
    if correction is not None:
        if ddof != 0:
            raise ValueError(f"nanvar{place()}: ddof and correction are two names of one number. Give one.")
        ddof = correction
    if typeof(a).kind in "biu":
        return reductions.var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean)
    if dtype is not None and kind_of(canonicalize_dtype(dtype)) not in ("c" if typeof(a).kind == "c" else "fc"):
        raise TypeError(f"nanvar of {typeof(a)}{place()}: dtype={dtype} cannot hold its squares. Remove dtype.")
    wide = a if dtype is None else as_dtype(a, canonicalize_dtype(dtype))
    if mean is None:
        mean = nanmean(wide, axis, keepdims=True, where=where)
    difference = lax.sub(wide, as_dtype(mean, typeof(wide).dtype))
    difference = fill_masked(lax.select(isnan(a), 0, difference), where, 0)  # inf - inf is NaN, and counts
    squares = lax.square(lax.abs(difference) if typeof(wide).kind == "c" else difference)
    total = reductions.sum(squares, axis, keepdims=keepdims)
    count = reductions.sum(lax.bitwise_not(isnan(a)), axis, keepdims=keepdims, where=where)
    degrees = lax.sub(as_dtype(count, typeof(total).dtype), ddof)
    out = lax.select(lax.le(degrees, 0), np.nan, lax.div(total, lax.select(lax.le(degrees, 0), 1, degrees)))
    return out if dtype is None else as_dtype(out, canonicalize_dtype(dtype))


@implements(np.nanstd)
def nanstd(  # noqa: PLR0913  (NumPy's signature)
    a: Value,
    axis: Axes = None,
    dtype: DType = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Value = True,
    mean: Value = None,
    correction: float | None = None,
) -> Value:
    """Return the square root of `nanvar`, with the same arguments.

    Of one element it is 0 for all numbers, and so is its derivative; of equal elements it has no derivative.
    Raises: ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_numpy import nanstd
    >>> nanstd(np.array([1.0, 3.0, np.nan]))
    np.float64(1.0)
    """
    variance = nanvar(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    if mean is not None:
        return lax.sqrt(variance)
    count = reductions.sum(lax.bitwise_not(isnan(a)), axis, keepdims=keepdims, where=where)
    return deviation_of(variance, count)


# Extremes


@implements(np.nanmax)
def nanmax(
    a: Value,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = True,
) -> Value:
    """Return the largest number over `axis`; NaN if all elements are NaN.

    Raises: ValueError for an axis out of range, or for no elements and no `initial`; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import nanmax
    >>> nanmax(np.array([1.0, np.nan]))
    np.float64(1.0)
    """
    refuse("nanmax", out=out)
    return _extreme(reductions.max, a, lowest, axis, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(
    a: Value,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = True,
) -> Value:
    """Return the smallest number over `axis`; NaN if all elements are NaN.

    Raises: ValueError for an axis out of range, or for no elements and no `initial`; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import nanmin
    >>> nanmin(np.array([1.0, np.nan]))
    np.float64(1.0)
    """
    refuse("nanmin", out=out)
    return _extreme(reductions.min, a, highest, axis, keepdims, initial, where)


def _extreme(reduce: Any, a: Value, neutral: Any, axis: Axes, keepdims: bool, initial: Value, where: Value) -> Value:
    dtype = typeof(a).dtype
    if kind_of(dtype) in "biu":
        return reduce(a, axis, None, keepdims, initial, where)
    out = reduce(lax.select(isnan(a), neutral(dtype), a), axis, None, keepdims, initial, where)
    if initial is not None:
        return out
    return lax.select(reductions.all(isnan(a), axis, keepdims=keepdims), np.nan, out)


@implements(np.nanargmax)
def nanargmax(a: Value, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Value:
    """Return the position of the first largest number along `axis`, or in the flat array; 0 where all are NaN.

    Raises: ValueError for an axis out of range, or for no elements; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import nanargmax
    >>> nanargmax(np.array([1.0, np.nan, 3.0]))
    np.int64(2)
    """
    refuse("nanargmax", out=out)
    return _position(reductions.argmax, a, lowest, axis, keepdims)


@implements(np.nanargmin)
def nanargmin(a: Value, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Value:
    """Return the position of the first smallest number along `axis`, or in the flat array; 0 where all are NaN.

    Raises: ValueError for an axis out of range, or for no elements; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import nanargmin
    >>> nanargmin(np.array([1.0, np.nan, 3.0]))
    np.int64(0)
    """
    refuse("nanargmin", out=out)
    return _position(reductions.argmin, a, highest, axis, keepdims)


def _position(find: Any, a: Value, neutral: Any, axis: int | None, keepdims: bool) -> Value:
    """Return the position of the extreme: an infinity in the array stands before the NaN that were replaced by it."""
    if typeof(a).kind in "biu":
        return find(a, axis, keepdims=keepdims)
    worst = neutral(typeof(a).dtype)
    position = find(lax.select(isnan(a), worst, a), axis, keepdims=keepdims)
    is_worst = reductions.all(lax.bitwise_or(isnan(a), lax.eq(a, worst)), axis, keepdims=keepdims)
    return lax.select(is_worst, reductions.argmin(isnan(a), axis, keepdims=keepdims), position)
