"""Densities estimated from a sample, by a normal kernel around each point.

One idea: with the inverse of the kernel's Cholesky factor, points and sample are whitened; sums over the sample are
`logsumexp` of half the squared distances.

Read next: `vectors.py`, the normal distribution itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from calque_core import ShapeError, lax, typeof
from calque_core.engine.numpy_functions import as_dtype, matmul
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import where as place
from calque_linalg import cholesky, triangular_solve
from calque_linalg.kit import identity_like
from calque_numpy.creation import asarray
from calque_numpy.matrices import diagonal
from calque_numpy.nn.normalizers import logsumexp
from calque_numpy.random import choice, normal, split
from calque_numpy.scipy.floats import float_dtype
from calque_numpy.scipy.lines import norm
from calque_numpy.signals import cov
from calque_pytree import register_pytree_node

Value = Any

_NAMES = ("dataset", "weights", "covariance", "factor", "neff")


class gaussian_kde:
    """A density: the mean of normal kernels around the points of a sample, whose covariance is the sample's, scaled.

    `bw_method` is the factor of the kernel's width: "scott", "silverman", a number, or a function of the object.
    Shapes: `dataset` [d, n], or [n] for numbers; weights [n], which are divided by their sum.  It is a pytree.
    Raises: ShapeError for other shapes; ValueError for a single point or another text; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.stats import gaussian_kde
    >>> density = gaussian_kde(np.array([-1.0, 0.0, 1.0]))
    >>> density(np.array([-0.5, 0.5])).shape
    (2,)
    >>> np.round(density.integrate_box_1d(-np.inf, 0.0), 12)
    np.float64(0.5)
    """

    def __init__(
        self,
        dataset: Value,
        bw_method: str | float | Value | Callable[[Any], Value] | None = None,
        weights: Value = None,
    ) -> None:
        arrays = [asarray(x) for x in ([dataset] if weights is None else [dataset, weights])]
        dtype = float_dtype("gaussian_kde", *arrays)
        self.dataset = _columns(as_dtype(arrays[0], dtype))
        if self.n < 2:
            raise ValueError(
                f"gaussian_kde of {typeof(self.dataset)}{place()}: there is {self.n} point. Give two or more."
            )
        self.weights = _normalized(arrays[1:], dtype, self.n)
        self.neff = 1.0 / total(self.weights * self.weights)
        scale = _bandwidth(self, bw_method)
        spread = lax.reshape(cov(self.dataset, rowvar=True, aweights=self.weights, dtype=dtype), (self.d, self.d))
        self.covariance = spread * (scale * scale)
        self.factor = cholesky(self.covariance)

    @property
    def d(self) -> int:
        """Return the number of elements of a point."""
        return int(typeof(self.dataset).shape[0])

    @property
    def n(self) -> int:
        """Return the number of points of the sample."""
        return int(typeof(self.dataset).shape[1])

    @property
    def inv_cov(self) -> Value:
        """Return the inverse of the kernel's covariance."""
        inverse = triangular_solve(self.factor, identity_like(self.factor), left_side=True, lower=True)
        return matmul(lax.transpose(inverse, (1, 0)), inverse)

    def logpdf(self, x: Value) -> Value:
        """Return the logarithm of the density at points.  Shapes: x [d, m] -> [m]; [m] for numbers, [d] for a point."""
        return _log_mixture(self, self.dataset, self._points(x), self.factor)

    def evaluate(self, points: Value) -> Value:
        """Return the density at points.  Shapes: as `logpdf`."""
        return lax.exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def integrate_gaussian(self, mean: Value, cov: Value) -> Value:
        """Return the integral of the density times the normal density with this mean [d] and covariance [d, d]."""
        mean, cov = (as_dtype(asarray(x), typeof(self.dataset).dtype) for x in (mean, cov))
        factor = cholesky(self.covariance + lax.reshape(cov, (self.d, self.d)))
        return lax.exp(_log_mixture(self, self.dataset, lax.reshape(mean, (self.d, 1)), factor))[0]

    def integrate_box_1d(self, low: Value, high: Value) -> Value:
        """Return the probability of numbers between `low` and `high`.  Raises: ValueError unless d is 1."""
        if self.d != 1:
            raise ValueError(f"integrate_box_1d{place()}: points have {self.d} elements. Integrate over a sample.")
        root = lax.reshape(self.factor, ())
        low, high = (norm.cdf((x - self.dataset[0]) / root) for x in (low, high))
        return total(self.weights * (high - low))

    def integrate_kde(self, other: gaussian_kde) -> Value:
        """Return the integral of the product of two densities.  Raises: ValueError for another number of elements."""
        if other.d != self.d:
            raise ValueError(f"integrate_kde{place()}: points have {self.d} and {other.d} elements. Give as many.")
        factor = cholesky(self.covariance + other.covariance)
        return total(lax.exp(_log_mixture(self, self.dataset, other.dataset, factor)) * other.weights)

    def resample(self, key: Value, shape: Sequence[int] = ()) -> Value:
        """Return random points of the density.  Shapes: [d, *shape]."""
        first, second = split(key)
        count, dtype = math.prod(shape), typeof(self.dataset).dtype
        chosen = choice(first, self.n, (count,), p=self.weights)
        noise = matmul(self.factor, normal(second, (self.d, count), dtype))
        return lax.reshape(self.dataset[:, chosen] + noise, (self.d, *shape))

    def _points(self, x: Value) -> Value:
        x = as_dtype(asarray(x), typeof(self.dataset).dtype)
        if typeof(x).ndim < 2:
            size = typeof(x).size
            x = lax.reshape(x, (self.d, 1) if self.d > 1 and size == self.d else (1, size))
        if typeof(x).ndim != 2 or typeof(x).shape[0] != self.d:
            raise ShapeError(
                f"gaussian_kde{place()}: points are {typeof(x)}, and the sample has {self.d} elements a point. "
                "Give points as columns."
            )
        return x


def _columns(dataset: Value) -> Value:
    ndim = typeof(dataset).ndim
    if ndim > 2:
        raise ShapeError(f"gaussian_kde of {typeof(dataset)}{place()}: there are {ndim} axes. Give points as columns.")
    return dataset if ndim == 2 else lax.reshape(dataset, (1, typeof(dataset).size))


def _normalized(weights: list[Value], dtype: Any, n: int) -> Value:
    if not weights:
        return lax.full((n,), 1.0 / n, dtype)
    if typeof(weights[0]).shape != (n,):
        raise ShapeError(f"gaussian_kde{place()}: weights are {typeof(weights[0])}. Give a vector of {n} weights.")
    x = as_dtype(weights[0], dtype)
    return x / total(x)


def _bandwidth(density: gaussian_kde, method: Any) -> Value:
    """Return the factor of the kernel's width.  Source: Scott (1992), Multivariate density estimation, section 6.5."""
    n, d = density.neff, density.d
    if callable(method):
        return method(density)
    if method is None or (isinstance(method, str) and method == "scott"):
        return lax.pow(n, -1.0 / (d + 4))
    if isinstance(method, str):
        if method != "silverman":
            raise ValueError(f"gaussian_kde{place()}: bw_method is {method!r}. Use 'scott', 'silverman' or a number.")
        return lax.pow(n * ((d + 2) / 4.0), -1.0 / (d + 4))
    return method


def _log_mixture(density: gaussian_kde, centres: Value, points: Value, factor: Value) -> Value:
    """Return the logarithm of the weighted mean of normal densities at the points, around the centres."""
    whitened = [triangular_solve(factor, x, left_side=True, lower=True) for x in (centres, points)]
    gaps = lax.expand_dims(whitened[0], (2,)) - lax.expand_dims(whitened[1], (1,))
    front = total(lax.log(diagonal(factor))) + 0.5 * density.d * math.log(2 * math.pi)
    return logsumexp(-0.5 * total(gaps * gaps, 0), 0, lax.expand_dims(density.weights, (1,))) - front


def _flatten(density: gaussian_kde) -> tuple[tuple[Value, ...], None]:
    return tuple(getattr(density, name) for name in _NAMES), None


def _unflatten(_: None, children: Sequence[Value]) -> gaussian_kde:
    out = object.__new__(gaussian_kde)
    for name, value in zip(_NAMES, children, strict=True):
        setattr(out, name, value)
    return out


register_pytree_node(gaussian_kde, _flatten, _unflatten)
