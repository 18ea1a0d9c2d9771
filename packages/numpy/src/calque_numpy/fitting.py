"""Least squares fits of polynomials.

Read next: `linalg.lstsq`, which solves the equations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import ShapeError, implements, lax, result_type, typeof
from calque_core.engine.numpy_functions import as_dtype
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import integer
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.equations import inv
from calque_numpy.least_squares import lstsq
from calque_numpy.polynomials import vander
from calque_numpy.products import outer

Value = Any


@implements(np.polyfit)
def polyfit(
    x: Value,
    y: Value,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Value = None,
    cov: bool | str = False,
) -> Any:
    """Return the polynomial of degree `deg` with the least sum of squared, weighted errors w (p(x) - y).

    With `full`, also the sum of squares, the rank, the singular values of the scaled matrix, and `rcond`, below which
    they count as 0; with `cov`, the covariances of the coefficients, unless "unscaled" by the mean square of errors.
    Shapes: x [n], y [n] or [n, k], w [n] -> [deg + 1] or [deg + 1, k]; covariances [deg + 1, deg + 1] or
    [deg + 1, deg + 1, k].  Dtype: float64, or complex128.
    Raises: ShapeError for other shapes, different lengths or no points; TypeError for values in half precision;
    ValueError for a negative degree, or for `cov` of too few points.

    >>> import numpy as np
    >>> from calque_numpy import polyfit
    >>> polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1).round(6)
    array([2., 1.])
    """
    x, y, count = _as_field(x), _as_field(y), integer("polyfit", "deg", deg) + 1
    if count < 1:
        raise ValueError(f"polyfit{place()}: deg is {deg}. Give a degree of zero or more.")
    n = _check_points(x, y, w)
    limit = n * float(np.finfo(typeof(x).dtype).eps) if rcond is None else rcond
    powers, right = vander(x, count), y
    if w is not None:
        w = _as_field(w)
        powers, right = powers * lax.expand_dims(w, (1,)), right * _column(w, right)
    scale = lax.sqrt(total(powers * powers, 0))
    fit, residuals, rank, singular_values = lstsq(powers / scale, right, limit)
    fit = fit / _column(scale, fit)
    if full:
        return fit, residuals, rank, singular_values, limit
    if not cov:
        return fit
    scaled = powers / scale
    base = inv(scaled.T @ scaled) / outer(scale, scale)
    if cov != "unscaled":
        if n <= count:
            raise ValueError(
                f"polyfit{place()}: {n} points do not give the covariances of {count} coefficients. Give more points, "
                "or cov='unscaled'."
            )
        factor = residuals / (n - count)
    else:
        factor = np.ones(1)
    return fit, base * factor if typeof(y).ndim == 1 else lax.expand_dims(base, (2,)) * factor


def _as_field(x: Value) -> Value:
    return as_dtype(asarray(x), result_type(asarray(x), 0.0))


def _column(scale: Value, x: Value) -> Value:
    """Return a vector as a column if `x` is a matrix."""
    return scale if typeof(x).ndim == 1 else lax.expand_dims(scale, (1,))


def _check_points(x: Value, y: Value, w: Value) -> int:
    """Return the number of points.  Raises: ShapeError if the shapes do not fit."""
    shape = typeof(x).shape
    fits = len(shape) == 1 and typeof(y).ndim in (1, 2) and typeof(y).shape[:1] == shape
    if not fits or (w is not None and typeof(asarray(w)).shape != shape):
        weights = "" if w is None else f", weights {typeof(asarray(w))}"
        raise ShapeError(
            f"polyfit of {typeof(x)} and {typeof(y)}{weights}{place()}: the shapes do not fit. Give a vector of "
            "points, and as many values and weights."
        )
    if typeof(y).dtype.itemsize == 2:
        raise TypeError(
            f"polyfit of {typeof(x)} and {typeof(y)}{place()}. Convert half precision: y.astype('float32')."
        )
    if not shape[0]:
        raise ShapeError(f"polyfit of {typeof(x)}{place()}: there are no points. Give at least one.")
    return int(shape[0])
