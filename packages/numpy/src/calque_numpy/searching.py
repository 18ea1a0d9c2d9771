"""Places of values in sorted arrays, interpolation between points, and counts of values.

One idea: `searchsorted` halves an interval for all values at once; `digitize`, `interp` and `histogram` ask it.

Read next: `sorting.py`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from calque_core import NumpyRuleError, ShapeError, canonicalize_dtype, implements, lax, result_type, typeof
from calque_core.engine import is_array_like, plain_types, short_repr
from calque_core.engine.numpy_functions import as_dtype, at, check_dtypes, isnan, remainder
from calque_core.extend import integer
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.places import known_array

Value = Any

_METHODS = ("default", "scan", "scan_unrolled", "sort", "compare_all")  # of JAX's searchsorted


@implements(np.searchsorted)
def searchsorted(a: Value, v: Value, side: str = "left", sorter: Value = None, *, method: str | None = None) -> Value:
    """Return the position in the sorted vector `a` before which each value of `v` keeps the order; NaN is the largest.

    With side "left" it is the first such position, with "right" the last.  `sorter` sorts `a`.  JAX's `method` may be
    any of its names, and changes nothing.
    Shapes: a [n], v [*s] -> [*s].
    Raises: ShapeError unless `a` is a vector; ValueError for another side or method.

    >>> import numpy as np
    >>> from calque_numpy import searchsorted
    >>> searchsorted(np.array([1, 2, 4]), np.array([2, 5]))
    array([1, 3])
    """
    a, v = asarray(a), v if is_array_like(v) else asarray(v)
    check_dtypes("searchsorted", (typeof(a), typeof(v)))
    v = asarray(v)
    if typeof(a).ndim != 1:
        raise ShapeError(f"searchsorted{place()}: the sorted array is {typeof(a)}. Give a vector.")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted{place()}: the side is {side!r}. Use 'left' or 'right'.")
    _check_method("searchsorted", method)
    a = a if sorter is None else at(a)[asarray(sorter)].get()
    dtype, n = result_type(a, v), typeof(a).shape[0]
    a, v = lax.stop_gradient(as_dtype(a, dtype)), lax.stop_gradient(as_dtype(v, dtype))  # positions have no derivative
    index = canonicalize_dtype(np.intp)
    if not n:
        return lax.full(typeof(v).shape, 0, index)
    if dtype.isbuiltin == 1 and type(a) in plain_types and type(v) in plain_types:  # in a derivative, say
        return as_dtype(np.searchsorted(a, v, "left" if side == "left" else "right"), index)

    def halve(_: Value, bounds: tuple[Value, Value]) -> tuple[Value, Value]:
        low, high = bounds  # the position is in [low, high]
        middle = lax.div(lax.add(low, high), 2)
        pivot = at(a)[middle].get(mode="clip")
        is_open = lax.lt(low, high)
        goes_right = _precedes(pivot, v) if side == "left" else lax.bitwise_not(_precedes(v, pivot))
        goes_right = lax.bitwise_and(goes_right, is_open)
        goes_left = lax.bitwise_and(lax.bitwise_not(goes_right), is_open)
        return lax.select(goes_right, lax.add(middle, 1), low), lax.select(goes_left, middle, high)

    start = lax.full(typeof(v).shape, 0, index), lax.full(typeof(v).shape, n, index)
    return lax.fori_loop(0, n.bit_length(), halve, start)[0]


def _check_method(name: str, method: str | None) -> None:
    if method not in (None, *_METHODS):
        raise ValueError(f"{name}{place()}: the method is {method!r}. Leave it out; JAX's are {', '.join(_METHODS)}.")


def _precedes(x: Value, y: Value) -> Value:
    """Return whether x comes before y where NaN is the largest.

    Of complex numbers, NaN in the real part comes after NaN in the imaginary part, and equal ones are compared by the
    other part.
    """
    if typeof(x).kind == "c":
        (x_real, y_real), (x_imag, y_imag) = (map(part, (x, y)) for part in (lax.real, lax.imag))
        keys = (isnan(x_real), isnan(y_real)), (isnan(x_imag), isnan(y_imag)), (x_real, y_real)
        return reduce(_by_key, reversed(keys), lax.lt(x_imag, y_imag))
    if typeof(x).kind != "f":
        return lax.lt(x, y)
    return lax.bitwise_or(lax.lt(x, y), lax.bitwise_and(isnan(y), lax.bitwise_not(isnan(x))))


def _by_key(otherwise: Value, keys: tuple[Value, Value]) -> Value:
    """Return whether the first key is less, or `otherwise` where neither is."""
    less, greater = lax.lt(*keys), lax.gt(*keys)
    return lax.bitwise_or(less, lax.bitwise_and(lax.bitwise_not(greater), otherwise))


def _refuse_complex(name: str, *args: Value) -> None:
    """Refuse complex numbers as places on a line.

    Raises: TypeError for complex numbers.
    """
    for x in args:
        if typeof(x).kind == "c":
            raise TypeError(f"{name}{place()}: complex numbers {typeof(x)} fill no intervals. Use real numbers.")


def _require_order(name: str, bins: Value) -> None:
    """Refuse known edges that neither increase nor decrease; where a NaN is, nothing decides.  Raises: ValueError."""
    edges = known_array(bins)
    if edges is not None and (edges[1:] < edges[:-1]).any() and (edges[1:] > edges[:-1]).any():
        raise ValueError(f"{name}{place()}: the edges {short_repr(edges)} neither increase nor decrease. Sort them.")


@implements(np.digitize)
def digitize(x: Value, bins: Value, right: bool = False, *, method: str | None = None) -> Value:
    """Return the number of the bin of each value, for edges that increase or decrease.

    With `right`, a bin contains its right edge, otherwise its left one.  `method` is as for `searchsorted`.
    Shapes: x [*s], bins [n] -> [*s].
    Raises: as `searchsorted`; ValueError for known edges that neither increase nor decrease; TypeError for complex
    numbers: they fill no intervals.

    >>> import numpy as np
    >>> from calque_numpy import digitize
    >>> digitize(np.array([0.5, 2.0]), np.array([0.0, 1.0, 2.0]))
    array([1, 3])
    """
    _check_method("digitize", method)
    x, bins = asarray(x), asarray(bins)
    _refuse_complex("digitize", x, bins)
    _require_order("digitize", bins)
    n = typeof(bins).shape[0] if typeof(bins).ndim == 1 else 0
    side = "left" if right else "right"
    up = searchsorted(bins, x, side)
    if n < 2:
        return up
    down = lax.sub(n, searchsorted(lax.rev(bins, (0,)), x, side))
    return lax.select(lax.le(bins[0], bins[-1]), up, down)


@implements(np.interp)
def interp(x: Value, xp: Value, fp: Value, left: Value = None, right: Value = None, period: Value = None) -> Value:
    """Return the straight-line interpolation at x between the points (xp, fp), where xp increases.

    Outside it is `left` and `right`, by default the values at the ends; with `period`, xp is taken modulo it.
    Shapes: x [*s], xp [n], fp [n] -> [*s].  Dtype: float64, or complex128 for complex fp.
    Raises: ShapeError unless xp and fp are vectors of one size; ValueError if they are empty, or for a period of 0;
    TypeError for complex x and xp.

    >>> import numpy as np
    >>> from calque_numpy import interp
    >>> interp(np.array([0.5, 3.0]), np.array([0.0, 1.0]), np.array([10.0, 20.0]))
    array([15., 20.])
    """
    x, xp, fp = (as_double(asarray(each)) for each in (x, xp, fp))
    _refuse_complex("interp", x, xp)
    if typeof(xp).ndim != 1 or typeof(fp).shape != typeof(xp).shape:
        raise ShapeError(f"interp{place()}: the points are {typeof(xp)} and {typeof(fp)}. Give vectors of one size.")
    if not typeof(xp).shape[0]:
        raise ValueError(f"interp{place()}: there are no points. Give at least one.")
    if period is not None:
        return _interp_periodic(x, xp, fp, period)
    if typeof(fp).kind == "c":  # each part alone, so that an infinite one does not reach the other
        sides = [None if side is None else asarray(side) for side in (left, right)]
        parts = [
            interp(x, xp, part(fp), *(side if side is None else part(side) for side in sides))
            for part in (lax.real, lax.imag)
        ]
        return lax.complex(*parts)
    n = typeof(xp).shape[0]
    i = lax.clamp(1, searchsorted(xp, x, "right"), max(n - 1, 1))
    x0, x1, f0, f1 = (at(points)[j].get(mode="clip") for points in (xp, fp) for j in (lax.sub(i, 1), i))
    width = lax.sub(x1, x0)
    is_flat = lax.eq(width, 0)
    slope = lax.div(lax.sub(f1, f0), as_dtype(lax.select(is_flat, 1, width), typeof(fp).dtype))
    step = as_dtype(lax.select(is_flat, 0, lax.sub(x, x0)), typeof(fp).dtype)
    inside = lax.add(f0, lax.mul(slope, step))
    # Beside an infinite point, as NumPy: at the node its value, else from the other node, else the value of both.
    from_right = lax.add(f1, lax.mul(slope, lax.sub(x, x1)))
    of_node = lax.select(lax.bitwise_or(lax.eq(x, x0), lax.eq(f0, f1)), f0, from_right)
    inside = lax.select(isnan(inside), of_node, inside)
    below = fp[0] if left is None else as_dtype(asarray(left), typeof(fp).dtype)
    above = fp[-1] if right is None else as_dtype(asarray(right), typeof(fp).dtype)
    inside = lax.select(lax.lt(x, xp[0]), below, inside)
    out = lax.select(lax.gt(x, xp[-1]), above, lax.select(lax.eq(x, xp[-1]), fp[-1], inside))
    return lax.select(isnan(x), as_dtype(x, typeof(fp).dtype), out)


def as_double(x: Value) -> Value:
    return as_dtype(x, canonicalize_dtype(np.complex128 if typeof(x).kind == "c" else np.float64))


def _interp_periodic(x: Value, xp: Value, fp: Value, period: Value) -> Value:
    """Return the interpolation after one point more at each end."""
    if isinstance(period, (int, float)) and period == 0:
        raise ValueError(f"interp{place()}: the period is 0. Give another number.")
    period = lax.abs(as_double(asarray(period)))
    x, xp = remainder(x, period), remainder(xp, period)
    order = lax.sort((xp, lax.iota(canonicalize_dtype(np.intp), typeof(xp).shape[0])), 0)[1]
    xp, fp = (at(points)[order].get(mode="clip") for points in (xp, fp))
    xp = lax.concatenate([xp[-1:] - period, xp, xp[:1] + period], 0)
    return interp(x, xp, lax.concatenate([fp[-1:], fp, fp[:1]], 0))


# Counts


@implements(np.bincount)
def bincount(x: Value, /, weights: Value = None, minlength: int = 0, *, length: int | None = None) -> Value:
    """Return how often each integer from 0 on occurs in the vector x, or the sums of the weights of its occurrences.

    Under a trace the largest integer is not known: `length` is the size of the result, and larger integers are dropped.
    Shapes: x [n], weights [n] -> [m].  Dtype: the default integer, or float64 with weights.
    Raises: ShapeError unless x is a vector and the weights have its shape; TypeError for other numbers than integers,
    or for a traced x without `length`; ValueError for negative integers that are known, or a
    negative `minlength`.

    >>> import numpy as np
    >>> from calque_numpy import bincount
    >>> bincount(np.array([0, 2, 2]))
    array([1, 0, 2])
    """
    x = asarray(x)
    if integer("bincount", "minlength", minlength) < 0:
        raise ValueError(f"bincount{place()}: minlength is {minlength}. Give zero or more.")
    x = as_dtype(x, canonicalize_dtype(np.intp)) if typeof(x).kind == "b" else x
    if typeof(x).ndim != 1 or typeof(x).kind not in "iu":
        raise (ShapeError if typeof(x).ndim != 1 else TypeError)(
            f"bincount of {typeof(x)}{place()}. Give a vector of integers."
        )
    size = _length(x, minlength) if length is None else length
    if weights is None:
        ones = lax.full(typeof(x).shape, 1, canonicalize_dtype(np.intp))
    else:
        ones = as_dtype(asarray(weights), canonicalize_dtype(np.float64))
        if typeof(ones).shape != typeof(x).shape:
            raise ShapeError(f"bincount of {typeof(x)}{place()}: the weights are {typeof(ones)}. Give one for each.")
    x = lax.select(lax.lt(x, 0), size, x) if typeof(x).kind == "i" else x
    return at(lax.full((size,), 0, typeof(ones).dtype))[x].add(ones, mode="drop")


def _length(x: Value, minlength: int) -> int:
    """Return the size of the result for a known x."""
    if not isinstance(x, np.ndarray):
        raise NumpyRuleError(
            f"bincount of {typeof(x)}{place()}: the size of the result depends on a traced array. "
            "Use calque_numpy.bincount(.., length=n), where n is the size."
        )
    if x.size and x.min() < 0:
        raise ValueError(f"bincount{place()}: {x.min()} is negative. Give integers from 0 on.")
    return max(int(x.max()) + 1 if x.size else 0, minlength)
