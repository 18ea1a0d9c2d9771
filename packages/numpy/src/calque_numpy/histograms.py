"""Histograms: how many elements each bin has, in one or several dimensions.

One idea: the number of an element's bin is a position, and the counts are sums of ones at positions; an element outside
has a position out of bounds, which is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import NumpyRuleError, ShapeError, canonicalize_dtype, implements, lax, typeof
from calque_core.engine import is_array_like, short_repr
from calque_core.engine.numpy_functions import as_dtype, at, ravel
from calque_core.engine.numpy_functions import max as largest
from calque_core.engine.numpy_functions import min as smallest
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import integer
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.places import known_array
from calque_numpy.ranges import linspace
from calque_numpy.running import diff
from calque_numpy.searching import as_double, searchsorted
from calque_numpy.shapes import atleast_2d

Value = Any


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Value, bins: Any = 10, range: Any = None, weights: Value = None) -> Value:
    """Return the edges of the bins of a histogram: `bins` itself if it has edges, otherwise equal steps over the range.

    Shapes: [n + 1] for n bins.
    Raises: TypeError for complex numbers, which fill no intervals, for a rule by name where values are not known or
    have weights, or a number that is no integer; ValueError for fewer than one bin, for known edges that do not
    increase, or a known range that is not finite or not in order.

    >>> import numpy as np
    >>> from calque_numpy import histogram_bin_edges
    >>> histogram_bin_edges(np.array([0.0, 1.0]), 2)
    array([0. , 0.5, 1. ])
    """
    a = asarray(a)
    if typeof(a).kind == "c":
        raise TypeError(
            f"histogram_bin_edges of {typeof(a)}{place()}: complex numbers fill no intervals. Use real numbers."
        )
    if weights is not None and typeof(weights).shape != typeof(a).shape:
        raise ShapeError(f"histogram of {typeof(a)}{place()}: the weights are {typeof(weights)}. Give one for each.")
    if isinstance(bins, str):
        bins = _number_by_rule(a, bins, range, weights)
    if not _is_scalar(bins):
        return _increasing(asarray(bins))
    bins = integer("histogram", "bins", bins)
    if bins < 1:
        raise ValueError(f"histogram_bin_edges{place()}: there are {bins} bins. Give at least one.")
    a = ravel(a)
    a = a if typeof(a).kind == "f" else as_double(a)
    if range is not None:
        _check_range(*map(asarray, range))
        low, high = (as_dtype(asarray(end), typeof(a).dtype) for end in range)
    elif typeof(a).size:
        low, high = smallest(a), largest(a)
    else:
        low, high = (as_dtype(asarray(end), typeof(a).dtype) for end in (0.0, 1.0))
    _check_range(low, high)
    is_point = lax.eq(low, high)
    half = lax.select(is_point, as_dtype(0.5, typeof(low).dtype), 0)
    return linspace(lax.sub(low, half), lax.add(high, half), bins + 1)


def _number_by_rule(a: Value, rule: str, range: Any, weights: Value) -> int:
    """Return the number of bins by a rule of NumPy's for known values; the edges have their derivative, it has none.

    Raises: NumpyRuleError if the values or the range are not known; TypeError for weights.
    """
    if weights is not None:
        raise TypeError(f"histogram{place()}: the rule {rule!r} knows no weights. Give a number of bins.")
    values, *ends = map(known_array, (a, *(range or ())))
    if values is None or any(end is None for end in ends):
        raise NumpyRuleError(
            f"histogram_bin_edges{place()}: the rule {rule!r} needs known values. Give a number of bins."
        )
    return np.histogram_bin_edges(values, rule, tuple(ends) or None).size - 1


def _check_range(low: Value, high: Value) -> None:
    """Raise ValueError for a known range whose ends are not finite or not in order; a traced range gives its edges."""
    low, high = known_array(low), known_array(high)
    if low is None or high is None:
        return
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(
            f"histogram_bin_edges{place()}: the range is {low} to {high}. Give a finite range, or finite elements."
        )
    if low > high:
        raise ValueError(f"histogram_bin_edges{place()}: the range is {low} to {high}. Give the lower end first.")


def _increasing(edges: Value) -> Value:
    """Return the edges of bins.  Raises: ValueError for known edges that do not increase."""
    values = known_array(edges)
    if values is not None and (values[1:] < values[:-1]).any():
        raise ValueError(f"histogram_bin_edges{place()}: the edges {short_repr(values)} do not increase. Sort them.")
    return edges


def _is_scalar(bins: Any) -> bool:
    return is_array_like(bins) and not typeof(bins).ndim


@implements(np.histogram)
def histogram(
    a: Value, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Value = None
) -> tuple[Value, Value]:
    """Return the numbers of elements in each bin, and the edges of the bins; the last bin contains its right edge.

    With `weights`, their sums; with `density`, divided by the total and by the widths of the bins.
    Shapes: a [*s], weights [*s] -> [n], [n + 1].
    Raises: as `histogram_bin_edges`; ShapeError for weights of another shape.

    >>> import numpy as np
    >>> from calque_numpy import histogram
    >>> histogram(np.array([0.0, 0.2, 1.0]), 2)
    (array([2, 1]), array([0. , 0.5, 1. ]))
    """
    a = asarray(a)
    edges = histogram_bin_edges(a, bins, range, weights)
    flat, n = ravel(a), max(typeof(edges).shape[0] - 1, 0)
    if weights is None:
        ones = lax.full(typeof(flat).shape, 1, canonicalize_dtype(np.intp))
    else:
        ones = ravel(asarray(weights))
    counts = lax.full((n,), 0, typeof(ones).dtype)
    counts = at(counts)[_bins(flat, edges)].add(ones, mode="drop") if n else counts  # one edge makes no bin
    if not density:
        return counts, edges
    counts = as_double(counts)
    return lax.div(counts, lax.mul(total(counts), as_double(diff(edges)))), edges


def _bins(x: Value, edges: Value) -> Value:
    """Return the number of each element's bin, and the number of bins for an element outside."""
    n = typeof(edges).shape[0] - 1
    position = lax.sub(searchsorted(edges, x, "right"), 1)
    position = lax.select(lax.eq(x, edges[-1]), n - 1, position)
    return lax.select(lax.lt(position, 0), n, position)


# Several dimensions


@implements(np.histogramdd)
def histogramdd(
    sample: Value, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Value = None
) -> tuple[Value, list[Value]]:
    """Return the numbers of points in each box of a grid, and the edges of the grid for each dimension.

    `sample` is a matrix whose rows are points, or a list of the coordinates of all points.  `bins` and `range` are as
    for `histogram`, or lists with those of each dimension.  With `weights`, their sums; with `density`, divided by the
    total and by the volumes of the boxes.
    Shapes: sample [n, d], weights [n] -> [n1, ..., nd], and vectors [n1 + 1], ..., [nd + 1].  Dtype: float64.
    Raises: ValueError unless there are bins and a range for each dimension; ShapeError for weights of another shape.

    >>> import numpy as np
    >>> from calque_numpy import histogramdd
    >>> histogramdd(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), 2)[0]
    array([[1., 0.],
           [1., 1.]])
    """
    points = asarray(sample)
    if isinstance(sample, (list, tuple)) or typeof(points).ndim != 2:
        points = atleast_2d(points).T
    n, d = typeof(points).shape
    if weights is not None and typeof(asarray(weights)).shape != (n,):
        raise ShapeError(f"histogramdd of {n} points{place()}: the weights are {typeof(weights)}. Give one for each.")
    columns = [points[:, i] for i in np.arange(d)]
    counts, limits = _for_each("bins", bins, d), [None] * d if range is None else _for_each("range", range, d)
    edges = [
        histogram_bin_edges(x if limit is None else as_double(x), each, limit)  # NumPy's limits are doubles
        for x, each, limit in zip(columns, counts, limits)
    ]
    shape = tuple(typeof(edge).shape[0] - 1 for edge in edges)
    flat: Value = np.intp(0)
    for x, edge, size in zip(columns, edges, shape):
        position = _bins(x, edge)
        flat = lax.select(lax.eq(position, size), math.prod(shape), lax.add(lax.mul(flat, size), position))
    double = canonicalize_dtype(np.float64)
    ones = lax.full((n,), 1, double) if weights is None else as_double(asarray(weights))
    boxes = lax.reshape(at(lax.full((math.prod(shape),), 0, double))[flat].add(ones, mode="drop"), shape)
    if density:
        boxes = lax.div(boxes, total(boxes))
        for axis, edge in enumerate(edges):
            widths = as_double(diff(edge))
            boxes = lax.div(boxes, lax.broadcast_in_dim(widths, shape, (axis,)))
    return boxes, edges


def _for_each(name: str, values: Any, count: int) -> Sequence[Any]:
    """Return the bins or the range of each dimension."""
    if name == "bins" and _is_scalar(values):
        return [integer("histogramdd", name, values)] * count
    if len(values) != count:
        raise ValueError(
            f"histogramdd{place()}: {name} has {len(values)} items for {count} dimensions. Give one for each."
        )
    return values  # type: ignore[no-any-return]


@implements(np.histogram2d)
def histogram2d(
    x: Value, y: Value, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Value = None
) -> tuple[Value, Value, Value]:
    """Return the numbers of points in each rectangle of a grid, and the edges of the grid along x and along y.

    `bins` is a number, two numbers, the edges of both dimensions, or a list with the edges of each.
    Shapes: x [n], y [n], weights [n] -> [n1, n2], [n1 + 1], [n2 + 1].  Dtype: float64.
    Raises: ShapeError if x and y differ in size; otherwise as `histogramdd`.

    >>> import numpy as np
    >>> from calque_numpy import histogram2d
    >>> histogram2d(np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0]), 2)[0]
    array([[1., 0.],
           [1., 1.]])
    """
    x, y = asarray(x), asarray(y)
    if typeof(x).shape != typeof(y).shape or typeof(x).ndim != 1:
        raise ShapeError(f"histogram2d of {typeof(x)} and {typeof(y)}{place()}. Give two vectors of one length.")
    is_shared = not _is_scalar(bins) and len(bins) not in (1, 2)
    boxes, edges = histogramdd([x, y], [bins, bins] if is_shared else bins, range, density, weights)
    return boxes, edges[0], edges[1]
