"""Values between the points of a grid: `map_coordinates`, `RegularGridInterpolator`.

One idea: along each axis a place is a pair of neighbours with two weights; a value is the sum over all choices of
neighbours, each with the product of its weights.

Read next: `signals.py` of the front, for convolutions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import ShapeError, canonicalize_dtype, lax, result_type, typeof
from calque_core.engine import kind_of
from calque_core.engine.numpy_functions import as_dtype, at, broadcast_to, clip
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.scipy.floats import float_dtype
from calque_numpy.searching import searchsorted

Value = Any
Neighbours = Sequence[tuple[Value, Value]]  # the positions along an axis, and their weights


def _weighted_sum(values: Value, axes: Sequence[Neighbours]) -> Value:
    """Return the sum over all choices of neighbours.  Shapes: values [*n, *t], positions [*s] -> [*s, *t]."""
    out: Value = None
    trailing = typeof(values).ndim - len(axes)
    for choice in itertools.product(*axes):
        weight = math.prod(w for _, w in choice)
        corner = at(values)[tuple(i for i, _ in choice)].get()
        if trailing:
            ndim = typeof(corner).ndim
            weight = lax.expand_dims(weight, tuple(range(ndim - trailing, ndim)))
            weight = broadcast_to(weight, typeof(corner).shape)
        term = corner * weight
        out = term if out is None else out + term
    return out


def _positions(x: Value) -> Value:
    return as_dtype(x, canonicalize_dtype(np.intp))


# Places in units of the grid


def _mirrored(x: Value, low: float, high: float) -> Value:
    """Return the place, reflected at the ends until it is in [low, high]."""
    width = high - low
    if width == 0:
        return x * 0.0
    turned = lax.abs(x - low)
    turned = turned - 2 * width * lax.floor(turned / (2 * width))
    return low + width - lax.abs(turned - width)


def _wrapped(x: Value, period: float) -> Value:
    return x * 0.0 if period == 0 else x - period * lax.floor(x / period)


# SciPy's names -> the place inside of the grid, from the place and the number of points
_PLACES: dict[str, Callable[[Value, int], Value]] = {
    "constant": lambda x, n: x,
    "grid-constant": lambda x, n: x,
    "nearest": lambda x, n: clip(x, 0, n - 1),
    "mirror": lambda x, n: _mirrored(x, 0.0, n - 1.0),
    "reflect": lambda x, n: _mirrored(x, -0.5, n - 0.5),
    "grid-mirror": lambda x, n: _mirrored(x, -0.5, n - 0.5),
    "wrap": lambda x, n: lax.select((x < 0) | (x > n - 1), _wrapped(x, n - 1.0), x),
    "grid-wrap": lambda x, n: _wrapped(x, float(n)),
}


def _neighbours(x: Value, n: int, order: int, mode: str) -> tuple[Neighbours, Value]:
    """Return the neighbours of places along an axis of n points, and where the places are inside of it."""
    x = _PLACES[mode](x, n)
    is_inside = (x >= 0) & (x <= n - 1)
    below = lax.floor(x + 0.5 if order == 0 else x)
    fraction = lax.full_like(x, 0.0) if order == 0 else x - below
    out = []
    for position, weight in ((below, 1.0 - fraction), (below + 1.0, fraction))[: order + 1]:
        exists = (position >= 0) & (position <= n - 1)
        index = _wrapped(position, float(n)) if mode == "grid-wrap" else clip(position, 0, n - 1)
        out.append((_positions(index), lax.select(exists, weight, 0.0) if mode == "grid-constant" else weight))
    return out, is_inside


def map_coordinates(
    input: Value,
    coordinates: Sequence[Value],
    order: int,
    mode: str = "constant",
    cval: Value = 0.0,
) -> Value:
    """Return the values of a grid at places between its points: of the nearest point, or linearly interpolated.

    `coordinates` has for each axis of the grid the places in units of its points.  Outside of the grid SciPy's `mode`
    decides: "constant" is `cval`, and "grid-constant" interpolates towards it; "nearest", "mirror", "reflect",
    "grid-mirror", "wrap" and "grid-wrap" continue the grid.
    Shapes: input [*n], coordinates [k, *s] for the k axes of the grid -> [*s].  Dtype: the input's.
    Raises: ValueError for another order than 0 and 1, an unknown mode, or another number of coordinates.

    >>> import numpy as np
    >>> from calque_numpy.scipy.grids import map_coordinates
    >>> map_coordinates(np.array([0.0, 1.0, 4.0]), [np.array([0.5, 1.5, 2.5])], 1, mode="nearest")
    array([0.5, 2.5, 4. ])
    """
    grid, places = asarray(input), [asarray(x) for x in coordinates]
    aval = typeof(grid)
    if len(places) != aval.ndim:
        raise ValueError(
            f"map_coordinates of {aval}{place()}: there are {len(places)} coordinates for {aval.ndim} axes. "
            "Give one for each axis."
        )
    if order not in (0, 1) or mode not in _PLACES:
        text = f"order is {order!r}" if order not in (0, 1) else f"mode is {mode!r}"
        raise ValueError(f"map_coordinates{place()}: {text}. Use the order 0 or 1, and a mode of {', '.join(_PLACES)}.")
    dtype = float_dtype("map_coordinates", *places)
    values = as_dtype(grid, result_type(dtype, aval.dtype))
    shape = lax.broadcast_shapes(*(typeof(x).shape for x in places))
    axes, masks = [], []
    for x, n in zip(places, aval.shape, strict=True):
        neighbours, is_inside = _neighbours(broadcast_to(as_dtype(x, dtype), shape), n, order, mode)
        axes.append(neighbours)
        masks.append(is_inside)
    out = _with_constant(_weighted_sum(values, axes), axes, masks, mode, cval)
    if kind_of(aval.dtype) in "biu":
        out = lax.round(out, lax.RoundingMethod.AWAY_FROM_ZERO)
    return as_dtype(out, aval.dtype)


def _with_constant(out: Value, axes: Sequence[Neighbours], masks: Sequence[Value], mode: str, cval: Value) -> Value:
    """Return the values with the constant outside of the grid, in the share that the grid's points lack."""
    if mode == "grid-constant":
        missing = 1.0 - math.prod(sum(weight for _, weight in neighbours) for neighbours in axes)
        return out + missing * cval
    if mode == "constant":
        for mask in masks:
            out = lax.select(mask, out, cval)
    return out


class RegularGridInterpolator:
    """A function of points, interpolated between values on a grid whose points along each axis increase.

    The methods are "linear" and "nearest".  Outside of the grid the result is `fill_value`; with None, the function is
    continued.  `bounds_error` is SciPy's, and must be False: values may be unknown.
    Shapes: points: for each of the k axes [n_i]; values [n_1, ..., n_k, *t]; a call takes [*s, k], or k arrays that
    broadcast, -> [*s, *t].
    Raises: ValueError for another method or number of axes, and for `bounds_error`; ShapeError if the sizes of points
    and values differ.

    >>> import numpy as np
    >>> from calque_numpy.scipy.grids import RegularGridInterpolator
    >>> f = RegularGridInterpolator((np.array([0.0, 1.0, 3.0]),), np.array([0.0, 10.0, 30.0]))
    >>> f(np.array([[0.5], [2.0], [4.0]]))
    array([ 5., 20., nan])
    """

    def __init__(
        self,
        points: Sequence[Value],
        values: Value,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Value = math.nan,
    ) -> None:
        if bounds_error:
            raise ValueError(
                f"RegularGridInterpolator{place()}: bounds_error is {bounds_error!r}, but values may be unknown. "
                "Leave it out, and use fill_value."
            )
        self.grid, self.values = tuple(asarray(x) for x in points), asarray(values)
        self.method, self.fill_value = _checked(method), fill_value
        shape = typeof(self.values).shape
        if tuple(typeof(x).shape for x in self.grid) != tuple((n,) for n in shape[: len(self.grid)]):
            raise ShapeError(
                f"RegularGridInterpolator of values {typeof(self.values)}{place()}: the points are "
                f"{', '.join(str(typeof(x)) for x in self.grid)}. Give for each axis a vector of its size."
            )

    def __call__(self, xi: Value, method: str | None = None) -> Value:
        """Return the values at points.  Shapes: [*s, k], or k arrays that broadcast, -> [*s, *t]."""
        method = self.method if method is None else _checked(method)
        places = self._places(xi)
        dtype = float_dtype("RegularGridInterpolator", *self.grid, *places)
        shape = lax.broadcast_shapes(*(typeof(x).shape for x in places))
        places = [broadcast_to(as_dtype(x, dtype), shape) for x in places]
        axes = [_between(as_dtype(g, dtype), x, method) for g, x in zip(self.grid, places, strict=True)]
        values = as_dtype(self.values, result_type(dtype, typeof(self.values).dtype))
        out = _weighted_sum(values, axes)
        for g, x in zip(self.grid, places, strict=True):
            if self.fill_value is not None:
                is_outside = (x < as_dtype(g[0], dtype)) | (x > as_dtype(g[-1], dtype))
                trailing = tuple(range(len(shape), typeof(out).ndim))
                mask = broadcast_to(lax.expand_dims(is_outside, trailing), typeof(out).shape)
                out = lax.select(mask, self.fill_value, out)
        return out

    def _places(self, xi: Value) -> list[Value]:
        """Return the places along each axis."""
        k = len(self.grid)
        if isinstance(xi, tuple):
            places = [asarray(x) for x in xi]
        else:
            xi = asarray(xi)
            if typeof(xi).ndim < 2 and k == 1:
                return [xi]
            places = [xi[..., i] for i in range(typeof(xi).shape[-1])] if typeof(xi).ndim else [xi]
        if len(places) != k:
            raise ValueError(
                f"RegularGridInterpolator{place()}: points have {len(places)} elements, and the grid has {k} axes. "
                "Give one element for each axis."
            )
        return places


def _checked(method: str) -> str:
    if method not in ("linear", "nearest"):
        raise ValueError(f"RegularGridInterpolator{place()}: method is {method!r}. Use 'linear' or 'nearest'.")
    return method


def _between(grid: Value, x: Value, method: str) -> Neighbours:
    """Return the neighbours of places among the points of an axis, which increase."""
    n = typeof(grid).size
    if n == 1:
        return [(_positions(x * 0), lax.full_like(x, 1.0))]
    below = clip(_positions(searchsorted(grid, lax.stop_gradient(x), side="right")) - 1, 0, n - 2)
    low, high = at(grid)[below].get(), at(grid)[below + 1].get()
    fraction = (x - low) / (high - low)
    if method == "nearest":
        return [(lax.select(fraction <= 0.5, below, below + 1), lax.full_like(x, 1.0))]
    return [(below, 1.0 - fraction), (below + 1, fraction)]
