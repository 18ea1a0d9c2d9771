"""NumPy's deviations: `var std`, with NumPy's signatures and dtypes.

One idea: a variance is a mean of squares, with the dtypes of `mean` and a divisor of its own.

Read next: `numpy_reductions.py`, for means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.numpy_arithmetic import as_dtype
from calque_core.arrays.numpy_protocol import implements, refuse
from calque_core.arrays.numpy_reductions import (
    fill_masked,
    mean_dtypes,
    mean_over,
    per_count,
    reduced_axes,
    reduced_count,
)
from calque_core.frames.source import where as place
from calque_core.ops.shapes.axes import Axes
from calque_core.traces.tracer import is_tracer
from calque_core.types.array_methods import array_operation
from calque_core.types.avals import is_array_like, short_repr, typeof
from calque_core.types.dtypes import is_float

Value = Any
DType = Any


@implements(np.var)
@array_operation
def var(  # noqa: PLR0913  (the signature is NumPy's)
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
    """Return the mean square deviation from the mean over `axis`, with `size - ddof` as the divisor.

    `mean` is the mean with its axes kept, if it is known; `correction` is another name of `ddof`.  A divisor below 0 is
    0, and gives infinity, or NaN for equal elements.
    Dtype: as `mean`; real for complex numbers, by the moduli of the deviations.
    Raises: ValueError for an axis out of range, or for both `ddof` and `correction`; TypeError for `out`, and for a
    `dtype` that is not floating, or is complex for a real array, or real for a complex array.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([1.0, 3.0])
    >>> jaxpr_as_fun(make_jaxpr(np.var)(x))(x)
    [np.float64(1.0)]
    """
    refuse("var", out=out)
    if correction is not None and ddof:
        raise ValueError(f"var{place()} got ddof={ddof} and correction={correction}, which are one option. Give one.")
    aval = typeof(a)
    if not is_array_like(ddof) or typeof(ddof).shape:
        raise TypeError(f"var of {aval}{place()}: ddof is {short_repr(ddof)}. Give a number.")
    axes = reduced_axes("var", axis, aval.ndim)
    inner, outer = mean_dtypes(aval.dtype, dtype)
    if not is_float(inner) or (aval.kind == "c") != (inner.kind == "c"):
        raise TypeError(f"var of {aval}{place()} cannot be computed with dtype={inner}. Remove dtype.")
    a = as_dtype(a, inner)
    if mean is None:
        mean = mean_over(a, axes, where, keepdims=True)
    deviation = fill_masked(a - as_dtype(mean, inner), where, 0)
    total = lax.reduce_sum(_squared_size(deviation), axes, keepdims=keepdims)
    count = reduced_count(aval.shape, axes, where, keepdims)
    out = per_count(total, _positive(count, ddof if correction is None else correction), count)
    return out if dtype is None and outer.kind == "c" else as_dtype(out, outer)


def _positive(count: Value, ddof: float) -> Value:
    """Return count - ddof, or 0 if it is negative."""
    if isinstance(count, int) and not is_tracer(ddof):
        return max(count - ddof, 0)
    return lax.max(lax.sub(count, ddof), 0)


def _squared_size(x: Value) -> Value:
    """Return the square of |x|; it has a derivative at 0, unlike `square(abs(x))`."""
    if typeof(x).kind == "c":
        return lax.add(lax.square(lax.real(x)), lax.square(lax.imag(x)))
    return lax.square(x)


@implements(np.std)
@array_operation
def std(  # noqa: PLR0913  (the signature is NumPy's)
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
    """Return the square root of `var`, which has the same arguments.

    Of one element it is 0 for all numbers, and so is its derivative; of equal elements it has no derivative.
    Raises: ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([1.0, 3.0])
    >>> jaxpr_as_fun(make_jaxpr(np.std)(x))(x)
    [np.float64(1.0)]
    """
    options = {"where": where, "mean": mean, "correction": correction}
    variance = var(a, axis, dtype, out, ddof, keepdims, **options)
    if mean is not None:
        return lax.sqrt(variance)
    shape = typeof(a).shape
    return deviation_of(variance, reduced_count(shape, reduced_axes("std", axis, len(shape)), where, keepdims))


def deviation_of(variance: Value, count: Value) -> Value:
    """Return the root of the variance of `count` numbers around their mean; of one number its derivative is 0.

    >>> from calque_core.engine.numpy_functions import deviation_of
    >>> deviation_of(4.0, 2)
    np.float64(2.0)
    """
    if isinstance(count, int):
        return variance if count == 1 else lax.sqrt(variance)  # which has no derivative at 0
    is_of_one = lax.eq(count, 1)
    return lax.select(is_of_one, variance, lax.sqrt(lax.select(is_of_one, 1, variance)))
