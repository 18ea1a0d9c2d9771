"""Sums, products and differences along an axis: running ones, integrals, slopes.

One idea: a running sum is `lax.cumsum` in the dtype of NumPy's sum; every other function here is differences or sums
of neighbours.

Read next: `order_statistics.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calque_core import canonicalize_dtype, implements, lax, result_type, typeof
from calque_core.engine import kind_of
from calque_core.engine.numpy_functions import (
    as_dtype,
    broadcast_to,
    canonical_axis,
    floating,
    one_or_several,
    ravel,
    reduced_axes,
    refuse,
    remainder,
    sum_dtype,
    true_divide,
)
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import integer
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.releases import of_numpy

Value = Any
DType = Any


# Running sums and products


def _running(name: str, accumulate: Callable[..., Value], a: Value, axis: int | None, dtype: DType) -> Value:
    """Return the running reduction in NumPy's dtype; the flat array for `axis=None`."""
    a, axis = (ravel(a), 0) if axis is None else (a, canonical_axis(name, axis, typeof(a).ndim))
    dtype = sum_dtype(typeof(a).dtype) if dtype is None else canonicalize_dtype(dtype)
    if dtype.kind != "b":
        return accumulate(as_dtype(a, dtype), axis)
    counts = accumulate(as_dtype(lax.ne(a, 0), np.dtype("int32")), axis)
    return lax.ne(counts, 0)


@implements(np.cumsum)
def cumsum(a: Value, axis: int | None = None, dtype: DType = None, out: None = None) -> Value:
    """Return the running sum along `axis`, or of the flat array.

    Dtype: kept for floats; bools and small integers become the default integer, unless `dtype` is another.
    Raises: ValueError for an axis out of range; TypeError for `out`.

    >>> import numpy as np
    >>> from calque_numpy import cumsum
    >>> cumsum(np.array([1, 2, 3]))
    array([1, 3, 6])
    """
    refuse("cumsum", out=out)
    return _running("cumsum", lax.cumsum, a, axis, dtype)


@implements(np.cumprod)
def cumprod(a: Value, axis: int | None = None, dtype: DType = None, out: None = None) -> Value:
    """Return the running product along `axis`, or of the flat array; dtypes and errors as for `cumsum`.

    >>> import numpy as np
    >>> from calque_numpy import cumprod
    >>> cumprod(np.array([1, 2, 3]))
    array([1, 2, 6])
    """
    refuse("cumprod", out=out)
    return _running("cumprod", lax.cumprod, a, axis, dtype)


@implements(*of_numpy("cumulative_sum"))
def cumulative_sum(
    x: Value, /, *, axis: int | None = None, dtype: DType = None, out: None = None, include_initial: bool = False
) -> Value:
    """Return the running sum along `axis`; with `include_initial`, a zero comes first.

    Raises: ValueError without an axis for more than one dimension; otherwise as `cumsum`.

    >>> import numpy as np
    >>> from calque_numpy import cumulative_sum
    >>> cumulative_sum(np.array([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    refuse("cumulative_sum", out=out)
    x = x if typeof(x).ndim else lax.reshape(x, (1,))
    axis = _only_axis("cumulative_sum", x, axis)
    return _after_initial(_running("cumulative_sum", lax.cumsum, x, axis, dtype), axis, 0, include_initial)


@implements(*of_numpy("cumulative_prod"))
def cumulative_prod(
    x: Value, /, *, axis: int | None = None, dtype: DType = None, out: None = None, include_initial: bool = False
) -> Value:
    """Return the running product along `axis`; with `include_initial`, a one comes first.

    Raises: ValueError without an axis for more than one dimension; otherwise as `cumsum`.

    >>> import numpy as np
    >>> from calque_numpy import cumulative_prod
    >>> cumulative_prod(np.array([1, 2, 3]))
    array([1, 2, 6])
    """
    refuse("cumulative_prod", out=out)
    x = x if typeof(x).ndim else lax.reshape(x, (1,))
    axis = _only_axis("cumulative_prod", x, axis)
    return _after_initial(_running("cumulative_prod", lax.cumprod, x, axis, dtype), axis, 1, include_initial)


def _only_axis(name: str, x: Value, axis: int | None) -> int:
    """Return the axis of an array that is no scalar.  Raises: ValueError unless `axis` chooses one of several axes."""
    ndim = typeof(x).ndim
    if axis is None and ndim != 1:
        raise ValueError(f"{name} of {typeof(x)}{place()}: there are {ndim} axes. Choose one by axis=.")
    return canonical_axis(name, 0 if axis is None else axis, ndim)


def _after_initial(x: Value, axis: int, initial: int, include_initial: bool) -> Value:
    if not include_initial:
        return x
    shape = typeof(x).shape
    edge = lax.full((*shape[:axis], 1, *shape[axis + 1 :]), initial, typeof(x).dtype)
    return lax.concatenate([edge, x], axis)


# Differences


@implements(np.diff)
def diff(a: Value, n: int = 1, axis: int = -1, prepend: Value = None, append: Value = None) -> Value:
    """Return the differences of adjacent elements along `axis`, taken n times.

    Shapes: a [*s, k] -> [*s, max(k - n, 0)].  Dtype: kept; bools are compared.  `prepend` and `append`, scalars or
    arrays, are joined to the array first, unless n is 0.
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
    if not times:
        return asarray(a)
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


def _neighbours(a: Value, axis: int) -> tuple[Value, Value]:
    """Return all elements along `axis` but the first, and all but the last."""
    before = (slice(None),) * axis
    return a[(*before, slice(1, None))], a[(*before, slice(-1))]


def _difference(a: Value, axis: int) -> Value:
    later, earlier = _neighbours(a, axis)
    return lax.ne(later, earlier) if typeof(a).kind == "b" else lax.sub(later, earlier)


@implements(np.ediff1d)
def ediff1d(ary: Value, to_end: Value = None, to_begin: Value = None) -> Value:
    """Return the differences of adjacent elements of the flat array, between the elements of `to_begin` and `to_end`.

    Raises: TypeError if these have a dtype that does not fit the array's.

    >>> import numpy as np
    >>> from calque_numpy import ediff1d
    >>> ediff1d(np.array([1, 4, 9]), to_end=0)
    array([3, 5, 0])
    """
    x = ravel(asarray(ary))
    dtype = typeof(x).dtype
    edges = [None if edge is None else ravel(asarray(edge)) for edge in (to_begin, to_end)]
    for name, edge in zip(("to_begin", "to_end"), edges):
        if edge is not None and not np.can_cast(typeof(edge).dtype, dtype, "same_kind"):
            raise TypeError(f"ediff1d of {typeof(x)}{place()}: {name} is {typeof(edge)}. Convert one to the other.")
    pieces = [edges[0], _difference(x, 0), edges[1]]
    return lax.concatenate([as_dtype(piece, dtype) for piece in pieces if piece is not None], 0)


@implements(np.trapezoid)
def trapezoid(y: Value, x: Value = None, dx: Value = 1.0, axis: int = -1) -> Value:
    """Return the integral along `axis` by the trapezoidal rule, over the points `x` or over steps of `dx`.

    Shapes: y [*s, n], x [n] or [*s, n] -> [*s].
    Raises: ValueError for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import trapezoid
    >>> trapezoid(np.array([0.0, 1.0, 4.0]), dx=0.5)
    np.float64(1.5)
    """
    y = asarray(y)
    ndim = typeof(y).ndim
    position = canonical_axis("trapezoid", axis, ndim)  # in y: x may have more axes
    if x is not None:
        x = asarray(x)
        dx = diff(x, axis=axis) if typeof(x).ndim != 1 else _along(diff(x), position, ndim)
    later, earlier = _neighbours(y, position)
    return total(true_divide(lax.mul(dx, lax.add(later, earlier)), 2.0), axis)


def _along(x: Value, axis: int, ndim: int) -> Value:
    """Return a vector as an array of `ndim` axes, along `axis`."""
    return lax.expand_dims(x, tuple(d for d in range(ndim) if d != axis))


@implements(np.gradient)
def gradient(f: Value, *varargs: Value, axis: Any = None, edge_order: int = 1) -> Value:
    """Return the slopes of a sampled function by central differences, one array for each axis.

    `varargs` has a step for all axes, or a step or the points of each axis.  At the edges the differences are
    one-sided, of first or second order.  For points x0 < x1 < x2 at distances a and b the slope at x1 is exact
    for parabolas: (a**2 f2 + (b**2 - a**2) f1 - b**2 f0) / (a b (a + b)).
    Shapes: f [*s] -> [*s] each; a tuple for several axes.
    Raises: ValueError for an axis with fewer than edge_order + 1 points, or another order; TypeError for bools, or for
    a wrong number of steps.

    >>> import numpy as np
    >>> from calque_numpy import gradient
    >>> gradient(np.array([1.0, 4.0, 9.0]))
    array([3., 4., 5.])
    """
    f = asarray(f)
    if typeof(f).kind == "b":
        raise TypeError(f"gradient of {typeof(f)}{place()}: bools have no differences. Convert them to numbers.")
    f = as_dtype(f, canonicalize_dtype(np.float64)) if typeof(f).kind in "biu" else f
    ndim = typeof(f).ndim
    reduced_axes("gradient", axis, ndim)  # refuses an axis that is named twice
    named = range(ndim) if axis is None else one_or_several("gradient", "axis", axis)
    axes = [canonical_axis("gradient", each, ndim) for each in named]  # in the user's order, as the steps are
    if edge_order not in (1, 2):
        raise ValueError(f"gradient{place()}: edge_order is {edge_order!r}. Use 1 or 2.")
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(
            f"gradient{place()}: {len(varargs)} steps for {len(axes)} axes. Give one, or one for each axis."
        )
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    slopes = [_slope(f, step, axis, edge_order) for step, axis in zip(steps, axes)]
    return slopes[0] if len(axes) == 1 else tuple(slopes)


def _slope(f: Value, step: Value, axis: int, edge_order: int) -> Value:
    size, ndim = typeof(f).shape[axis], typeof(f).ndim
    if size < edge_order + 1:
        raise ValueError(
            f"gradient of {typeof(f)}{place()}: axis {axis} has {size} points. Give {edge_order + 1} or more."
        )
    step = asarray(step)
    if typeof(step).ndim > 1 or (typeof(step).ndim == 1 and typeof(step).shape != (size,)):
        raise ValueError(
            f"gradient of {typeof(f)}{place()}: axis {axis} has points {typeof(step)}. Give {size} points."
        )
    if typeof(step).ndim:
        widths = floating(_difference(step, 0))
    else:
        widths = broadcast_to(floating(step), (size - 1,))
    widths = _along(widths, axis, ndim)

    def part(x: Value, start: int, stop: int) -> Value:
        return lax.slice_in_dim(x, start, stop, axis=axis)

    slopes = lax.div(*_same(_difference(f, axis), widths))  # of each interval
    pieces = [part(slopes, 0, 1), part(slopes, size - 2, size - 1)]
    if size > 2:
        (left, right), (a, b) = (_ends(x, part, size) for x in (slopes, widths))
        if typeof(step).ndim:
            inner = (a * right + b * left) / (a + b)
        else:  # without the element itself, which may be NaN
            inner = lax.div(*_same(lax.sub(part(f, 2, size), part(f, 0, size - 2)), a + b))
        if edge_order == 2:
            ratio = a / (a + b)
            first = part(left, 0, 1) + part(ratio * (left - right), 0, 1)
            last = part(right, size - 3, size - 2) + part((1.0 - ratio) * (right - left), size - 3, size - 2)
            pieces = [first, last]
        pieces.insert(1, inner)
    return lax.concatenate([as_dtype(piece, typeof(f).dtype) for piece in pieces], axis)


def _same(x: Value, y: Value) -> tuple[Value, Value]:
    return x, as_dtype(broadcast_to(y, typeof(x).shape), typeof(x).dtype)


def _ends(x: Value, part: Callable[..., Value], size: int) -> tuple[Value, Value]:
    """Return all intervals but the last, and all but the first."""
    return part(x, 0, size - 2), part(x, 1, size - 1)


@implements(np.unwrap)
def unwrap(p: Value, discont: Value = None, axis: int = -1, *, period: Value = 6.283185307179586) -> Value:
    """Return the angles with jumps of more than half a period replaced by their complements.

    Raises: ValueError for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy import unwrap
    >>> unwrap(np.array([0.0, 5.0, 4.0]), period=5)
    array([ 0.,  0., -1.])
    """
    p = asarray(p)
    axis = canonical_axis("unwrap", axis, typeof(p).ndim)
    step = diff(p, axis=axis)
    dtype = result_type(step, period)
    if not typeof(p).shape[axis]:
        return as_dtype(p, dtype)
    half = period / 2 if kind_of(dtype) == "f" else period // 2
    reduced = lax.sub(remainder(lax.add(step, half), period), half)
    if kind_of(dtype) == "f" or period % 2 == 0:
        is_half = lax.bitwise_and(lax.eq(reduced, as_dtype(-half, dtype)), lax.gt(step, 0))
        reduced = lax.select(is_half, as_dtype(half, dtype), reduced)
    limit = half if discont is None else lax.max(asarray(discont), half)
    correction = lax.select(lax.lt(lax.abs(step), as_dtype(limit, dtype)), 0, lax.sub(reduced, step))
    first = lax.slice_in_dim(as_dtype(p, dtype), 0, 1, axis=axis)
    later = lax.slice_in_dim(as_dtype(p, dtype), 1, None, axis=axis)
    unwrapped = lax.add(later, as_dtype(lax.cumsum(correction, axis), dtype))
    return lax.concatenate([first, unwrapped], axis)
