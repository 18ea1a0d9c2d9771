"""NumPy's reductions: `sum prod mean max min any all argmax argmin`, with NumPy's signatures and dtypes.

One idea: a reduction of `lax` keeps the dtype and drops the axes; a reduction of NumPy widens small integers, counts
bools, and keeps axes on request.  Each function is also a method of arrays, with the same name and arguments.

Read next: `numpy_moments.py`, `var std`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.arrays.numpy_arithmetic import as_dtype, truth
from calque_core.arrays.numpy_protocol import implements, reductions, refuse
from calque_core.frames.source import where as place
from calque_core.ops.shapes.axes import Axes, canonical_axes, canonical_axis
from calque_core.ops.shapes.broadcast import broadcast_to
from calque_core.types.array_methods import array_operation, in_every_size
from calque_core.types.avals import typeof
from calque_core.types.dtypes import canonicalize_dtype, kind_of, scalar_dtype
from calque_core.types.promotion import wide_float

Value = Any
DType = Any


def reduced_axes(name: str, axis: Axes, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction of NumPy as a tuple: all axes for None, one for an integer.

    Raises: TypeError for a list, which NumPy refuses; ValueError for an axis out of range.
    """
    if isinstance(axis, list):
        raise TypeError(f"{name}{place()}: the axis is {axis!r}. Give an integer or a tuple of integers.")
    return canonical_axes(name, axis, ndim)


def keep_axes(out: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Return a result in which the reduced axes have size 1, with `keepdims`."""
    return lax.expand_dims(out, axes) if keepdims and axes else out


def fill_masked(x: Value, where: Value, fill: Value) -> Value:
    """Return `x` with `fill` where the mask is false."""
    if where is True:
        return x
    if where is None:
        raise TypeError(
            f"where=None{place()}: NumPy takes None for False, so that no element counts. Leave where= out to take all "
            "elements, or give a mask."
        )
    return lax.select(_mask(where, typeof(x).shape), x, fill)


def _mask(where: Value, shape: tuple[int, ...]) -> Value:
    """Return a mask of elements, broadcast to `shape`.  Raises: TypeError if it is not bool."""
    if typeof(where).kind != "b":
        raise TypeError(f"where= is {typeof(where)}{place()}, but a mask holds bools. Compare it: where=mask != 0.")
    return broadcast_to(where, shape)


def reduced_count(shape: tuple[int, ...], axes: tuple[int, ...], where: Value = True, keepdims: bool = False) -> Value:
    """Return how many elements a reduction over `axes` reads: one number, or an array with a mask."""
    if where is True:
        return math.prod(shape[axis] for axis in axes)
    return lax.reduce_sum(as_dtype(_mask(where, shape), scalar_dtype(int)), axes, keepdims=keepdims)


# Sums and products


@implements(np.sum)
@array_operation
@in_every_size(lax.reduce_sum_p)
def sum(  # noqa: PLR0913  (NumPy's arguments, and an option of JAX's)
    a: Value,
    axis: Axes = None,
    dtype: DType = None,
    out: None = None,
    keepdims: bool = False,
    initial: Value = 0,
    where: Value = True,
    *,
    promote_integers: bool = True,
) -> Value:
    """Return the sum over `axis`: one axis, several axes, or all for None.

    Dtype: kept for floats; bools and small integers become the default integer, unless `dtype` is another.  Without
    `promote_integers`, integers keep theirs, as in JAX.
    Raises: ValueError for an axis out of range; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[1, 2], [3, 4]], np.int32)
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.sum(x, axis=0))(x))(x)
    [array([4, 6])]
    """
    refuse("sum", out=out)
    aval = typeof(a)
    if dtype is not None or aval.kind not in "fc":
        a = as_dtype(a, _total_dtype(aval.dtype, dtype, promote_integers))
    axes = reduced_axes("sum", axis, aval.ndim)
    a = fill_masked(a, where, 0)
    reduce = lax.reduce_or if typeof(a).kind == "b" else lax.reduce_sum  # bools only by dtype=bool
    total = reduce(a, axes, keepdims=keepdims)
    return total if initial is None or _is_zero(initial) else lax.add(total, as_dtype(initial, typeof(total).dtype))


def _is_zero(x: Value) -> bool:
    return isinstance(x, (int, float)) and x == 0


def _total_dtype(dtype: np.dtype[Any], requested: DType, promote_integers: bool) -> np.dtype[Any]:
    """Return the dtype of a sum or a product of elements of `dtype`."""
    if requested is not None:
        return canonicalize_dtype(requested)
    return dtype if kind_of(dtype) in "iu" and not promote_integers else sum_dtype(dtype)


def sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a NumPy sum: at least the default integer for bools and integers."""
    default = scalar_dtype(int)
    if kind_of(dtype) == "b":
        return default
    if kind_of(dtype) in "iu" and dtype.itemsize < default.itemsize:
        return np.dtype(f"{kind_of(dtype)}{default.itemsize}")
    return dtype


@implements(np.prod)
@array_operation
def prod(  # noqa: PLR0913  (NumPy's arguments, and an option of JAX's)
    a: Value,
    axis: Axes = None,
    dtype: DType = None,
    out: None = None,
    keepdims: bool = False,
    initial: Value = 1,
    where: Value = True,
    *,
    promote_integers: bool = True,
) -> Value:
    """Return the product over `axis`: one axis, several axes, or all for None.

    Dtype: kept for floats; bools and small integers become the default integer, unless `dtype` is another.  Without
    `promote_integers`, integers keep theirs, as in JAX.
    Raises: ValueError for an axis out of range; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[1, 2], [3, 4]])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.prod(x, axis=0))(x))(x)
    [array([3, 8])]
    """
    refuse("prod", out=out)
    aval = typeof(a)
    axes = reduced_axes("prod", axis, aval.ndim)
    dtype = _total_dtype(aval.dtype, dtype, promote_integers)
    a = fill_masked(truth(a) if dtype.kind == "b" else as_dtype(a, dtype), where, 1)
    reduce = lax.reduce_and if typeof(a).kind == "b" else lax.reduce_prod  # bools only by dtype=bool
    product = reduce(a, axes, keepdims=keepdims)
    if initial is None or (isinstance(initial, (int, float)) and initial == 1):
        return product
    return lax.mul(product, as_dtype(initial, typeof(product).dtype))


# Means


def mean_dtypes(dtype: np.dtype[Any], out_dtype: DType) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtype in which a mean is computed, and the dtype of the result."""
    if out_dtype is not None:
        return canonicalize_dtype(out_dtype), canonicalize_dtype(out_dtype)
    if kind_of(dtype) in "biu":
        return wide_float(dtype), wide_float(dtype)
    return (np.dtype(np.float32), dtype) if dtype.itemsize < 4 else (dtype, dtype)


@implements(np.mean)
@array_operation
@in_every_size(lax.reduce_sum_p)
def mean(
    a: Value,
    axis: Axes = None,
    dtype: DType = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Value = True,
) -> Value:
    """Return the mean over `axis`.

    Dtype: kept for floats (floats of 16 bits are summed in 32 bits); float64 for integers and bools.
    The mean of no elements is NaN.
    Raises: ValueError for an axis out of range; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[1, 2], [3, 4]])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.mean(x, axis=0))(x))(x)
    [array([2., 3.])]
    """
    refuse("mean", out=out)
    aval = typeof(a)
    axes = reduced_axes("mean", axis, aval.ndim)
    inner, outer = mean_dtypes(aval.dtype, dtype)
    return as_dtype(mean_over(as_dtype(a, inner), axes, where, keepdims), outer)


def mean_over(a: Value, axes: tuple[int, ...], where: Value, keepdims: bool) -> Value:
    """Return the mean over axes, in the dtype of `a`; NaN for no elements."""
    total = lax.reduce_sum(fill_masked(a, where, 0), axes, keepdims=keepdims)
    count = reduced_count(typeof(a).shape, axes, where, keepdims)
    return per_count(total, count, count)


def per_count(total: Value, divisor: Value, count: Value) -> Value:
    """Return total / divisor; of `count` elements, a divisor of 0 gives infinity or NaN, without a warning."""
    if isinstance(divisor, (int, float)) and divisor == 0:
        factor = as_dtype(lax.select(lax.gt(total, 0), math.inf, math.nan), typeof(total).dtype) if count else math.nan
        return lax.mul(total, factor)
    return lax.div(total, as_dtype(divisor, typeof(total).dtype))


# Extremes


def _extreme(name: str, a: Value, axis: Axes, keepdims: bool, initial: Value, where: Value) -> Value:
    is_max = name == "max"
    aval = typeof(a)
    axes = reduced_axes(name, axis, aval.ndim)
    if initial is None and (where is not True or reduced_count(aval.shape, axes) == 0):
        problem = "there is no element" if where is True else "where= may leave no element"
        raise ValueError(f"{name} of {aval}{place()} over the axes {axes}: {problem}. Give initial=.")
    if aval.kind == "b":
        reduce, combine = (lax.reduce_or, lax.bitwise_or) if is_max else (lax.reduce_and, lax.bitwise_and)
    else:
        reduce, combine = (lax.reduce_max, lax.max) if is_max else (lax.reduce_min, lax.min)
    if initial is None:
        return reduce(a, axes, keepdims=keepdims)
    initial = as_dtype(initial, aval.dtype)
    return combine(reduce(fill_masked(a, where, initial), axes, keepdims=keepdims), initial)


@implements(np.max, np.amax)
@array_operation
@in_every_size("code")
def max(
    a: Value, axis: Axes = None, out: None = None, keepdims: bool = False, initial: Value = None, where: Value = True
) -> Value:
    """Return the largest element over `axis`; NaN if an element is NaN.

    Raises: ValueError for an axis out of range, or for no elements and no `initial`; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[1, 4], [3, 2]])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.max(x, axis=1))(x))(x)
    [array([4, 3])]
    """
    refuse("max", out=out)
    return _extreme("max", a, axis, keepdims, initial, where)


@implements(np.min, np.amin)
@array_operation
@in_every_size("code")
def min(
    a: Value, axis: Axes = None, out: None = None, keepdims: bool = False, initial: Value = None, where: Value = True
) -> Value:
    """Return the smallest element over `axis`; NaN if an element is NaN.

    Raises: ValueError for an axis out of range, or for no elements and no `initial`; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[1, 4], [3, 2]])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.min(x, axis=1))(x))(x)
    [array([1, 2])]
    """
    refuse("min", out=out)
    return _extreme("min", a, axis, keepdims, initial, where)


def _arg_extreme(name: str, a: Value, axis: int | None, keepdims: bool) -> Value:
    aval = typeof(a)
    index_dtype = canonicalize_dtype(np.intp)
    flat = lax.reshape(a, (aval.size,)) if axis is None and aval.ndim != 1 else a
    position = 0 if axis is None else canonical_axis(name, axis, aval.ndim)
    if typeof(flat).shape[position] == 0:
        raise ValueError(f"{name} of {aval}{place()}: there is nothing to compare. Give at least one element.")
    out = (lax.argmax if name == "argmax" else lax.argmin)(flat, position, index_dtype)
    return keep_axes(out, tuple(range(aval.ndim)) if axis is None else (position,), keepdims)


@implements(np.argmax)
@array_operation
def argmax(a: Value, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Value:
    """Return the position of the first largest element along `axis`, or in the flat array.  NaN is the largest.

    Raises: ValueError for an axis out of range, or for no elements; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[1, 4], [3, 2]])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.argmax(x, axis=1))(x))(x)
    [array([1, 0])]
    """
    refuse("argmax", out=out)
    return _arg_extreme("argmax", a, axis, keepdims)


@implements(np.argmin)
@array_operation
def argmin(a: Value, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Value:
    """Return the position of the first smallest element along `axis`, or in the flat array.  NaN is the smallest.

    Raises: ValueError for an axis out of range, or for no elements; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[1, 4], [3, 2]])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.argmin(x, axis=1))(x))(x)
    [array([0, 1])]
    """
    refuse("argmin", out=out)
    return _arg_extreme("argmin", a, axis, keepdims)


# Logic


@implements(np.any)
@array_operation
def any(a: Value, axis: Axes = None, out: None = None, keepdims: bool = False, *, where: Value = True) -> Value:
    """Tell whether an element over `axis` is nonzero.

    Raises: ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[0, 1], [0, 0]])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.any(x, axis=1))(x))(x)
    [array([ True, False])]
    """
    refuse("any", out=out)
    axes = reduced_axes("any", axis, typeof(a).ndim)
    return lax.reduce_or(fill_masked(truth(a), where, False), axes, keepdims=keepdims)


@implements(np.all)
@array_operation
def all(a: Value, axis: Axes = None, out: None = None, keepdims: bool = False, *, where: Value = True) -> Value:
    """Tell whether every element over `axis` is nonzero.

    Raises: ValueError if an axis is out of range.

    >>> import numpy as np
    >>> from calque_core import jaxpr_as_fun, make_jaxpr
    >>> x = np.array([[1, 1], [0, 0]])
    >>> jaxpr_as_fun(make_jaxpr(lambda x: np.all(x, axis=1))(x))(x)
    [array([ True, False])]
    """
    refuse("all", out=out)
    axes = reduced_axes("all", axis, typeof(a).ndim)
    return lax.reduce_and(fill_masked(truth(a), where, True), axes, keepdims=keepdims)


reductions |= {
    np.add: sum,
    np.multiply: prod,
    np.maximum: max,
    np.minimum: min,
    np.logical_and: all,
    np.logical_or: any,
}
