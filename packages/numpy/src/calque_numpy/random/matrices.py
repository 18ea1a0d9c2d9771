"""Random vectors with a covariance, and random orthogonal matrices.

One idea: independent normal numbers times a matrix: a factor of the covariance, or nothing, and then the orthogonal
factor of the result, whose signs are chosen so that it is uniform.
Source: Mezzadri (2007), How to generate random matrices from the classical compact groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import ShapeError, lax, result_type, typeof
from calque_core.engine.numpy_functions import broadcast_to, matmul
from calque_core.extend import integer, where
from calque_core.lax import broadcast_shapes
from calque_linalg import cholesky, eigh, qr, svd
from calque_numpy.random.arguments import (
    at_least_single,
    check_key,
    check_real,
    check_shape,
    float_argument,
    float_of,
    is_random_float,
)
from calque_numpy.random.gaussian import normal, real_normal

Value = Any
DType = Any


def _svd_factor(covariance: Value) -> Value:
    u, s, _ = svd(covariance)
    return u * _as_row(lax.sqrt(s))


def _eigh_factor(covariance: Value) -> Value:
    vectors, values = eigh(covariance)
    return vectors * _as_row(lax.sqrt(values))


def _as_row(x: Value) -> Value:
    return lax.expand_dims(x, (typeof(x).ndim - 1,))


_FACTORS: dict[str, Callable[[Value], Value]] = {"cholesky": cholesky, "svd": _svd_factor, "eigh": _eigh_factor}


def multivariate_normal(
    key: Value,
    mean: Value,
    cov: Value,
    shape: Sequence[int] | None = None,
    dtype: DType = None,
    method: str = "cholesky",
) -> Value:
    """Return normal vectors with these means and covariances.

    `method` factors the covariance: "cholesky" needs it to be positive definite, "svd" and "eigh" do not.
    Shapes: one key, mean [*s, n], cov [*t, n, n] -> [*u, n], where u is `shape`, or what s and t broadcast to.
    Dtype: `dtype`, or the promoted float dtype of `mean` and `cov`; floats of 16 bits are computed in
    float32.
    Raises: TypeError if `key` is not a key, `shape` holds no integers, `dtype` is not such a dtype, or a parameter is
    not real; ShapeError if the shapes do not fit; ValueError for another method.

    >>> import numpy as np
    >>> from calque_numpy.random import key, multivariate_normal
    >>> multivariate_normal(key(42), np.zeros(2), np.eye(2), (3,)).shape
    (3, 2)
    """
    key = check_key("multivariate_normal", key)
    for argument, x in (("mean", mean), ("cov", cov)):
        check_real("multivariate_normal", argument, x)
    if method not in _FACTORS:
        raise ValueError(f"multivariate_normal{where()}: method is {method!r}. Use 'cholesky', 'svd' or 'eigh'.")
    dtype = _dtype_of_parameters(mean, cov) if dtype is None else float_argument("multivariate_normal", dtype)
    computed = at_least_single(dtype)
    mean, cov = lax.convert_element_type(mean, computed), lax.convert_element_type(cov, computed)
    n = _size(mean, cov)
    batch = _batch_shape(mean, cov, shape)
    noise = real_normal(key, (*batch, n), computed)
    product = matmul(_FACTORS[method](cov), lax.expand_dims(noise, (typeof(noise).ndim,)))
    vectors = broadcast_to(mean, (*batch, n)) + lax.squeeze(product, (typeof(product).ndim - 1,))
    return lax.convert_element_type(vectors, dtype)


def _dtype_of_parameters(mean: Value, cov: Value) -> np.dtype[Any]:
    dtypes = {x_dtype for x_dtype in (typeof(mean).dtype, typeof(cov).dtype) if is_random_float(x_dtype)}
    return result_type(*dtypes) if dtypes else float_of(mean)


def _size(mean: Value, cov: Value) -> int:
    """Return the size of the vectors.  Raises: ShapeError."""
    mean_shape, cov_shape = typeof(mean).shape, typeof(cov).shape
    if not mean_shape or cov_shape[-2:] != (mean_shape[-1],) * 2:
        raise ShapeError(
            f"multivariate_normal{where()}: mean has shape {mean_shape}, and cov has shape {cov_shape}. "
            "Give means of shape [..., n], and covariances of shape [..., n, n]."
        )
    return mean_shape[-1]  # type: ignore[no-any-return]


def _batch_shape(mean: Value, cov: Value, shape: Sequence[int] | None) -> tuple[int, ...]:
    """Return the shape of the result without the axis of a vector.  Raises: ShapeError."""
    stated = None if shape is None else check_shape("multivariate_normal", shape)
    shapes = [typeof(mean).shape[:-1], typeof(cov).shape[:-2]]
    try:
        whole = broadcast_shapes(*shapes, *([] if stated is None else [stated]))
    except ValueError:
        whole = None
    if whole is None or (stated is not None and whole != stated):
        raise ShapeError(
            f"multivariate_normal{where()}: the shapes {shapes} of means and covariances do not broadcast to "
            f"{'one shape' if stated is None else stated}. Make the sizes of each axis equal, or 1."
        )
    return whole


def orthogonal(key: Value, n: int, shape: Sequence[int] = (), dtype: DType = None, m: int | None = None) -> Value:
    """Return orthogonal matrices, distributed uniformly; unitary ones for a complex dtype.

    Shapes: one key -> [*shape, n, n], or [*shape, n, m] with orthonormal columns, or rows if n < m.
    Dtype: `dtype`, or the default float; floats of 16 bits are computed in float32.
    Raises: TypeError if `key` is not a key, `shape`, `n` or `m` holds no integers, or for another dtype; ValueError for
    a negative size.

    >>> import numpy as np
    >>> from calque_numpy.random import key, orthogonal
    >>> q = orthogonal(key(42), 3)
    >>> np.allclose(q @ q.T, np.eye(3))
    True
    """
    key = check_key("orthogonal", key)
    rows = integer("orthogonal", "n", n)
    columns = rows if m is None else integer("orthogonal", "m", m)
    sizes = check_shape("orthogonal", (*check_shape("orthogonal", shape), max(rows, columns), min(rows, columns)))
    noise = normal(key, sizes, dtype)
    noise_dtype = typeof(noise).dtype
    q, r = qr(lax.convert_element_type(noise, at_least_single(noise_dtype)), full_matrices=False)
    ndim = len(sizes)
    q = lax.convert_element_type(q * _as_row(lax.sign(_diagonal(r))), noise_dtype)
    return q if rows >= columns else lax.transpose(q, (*range(ndim - 2), ndim - 1, ndim - 2))


def _diagonal(x: Value) -> Value:
    n = typeof(x).shape[-1]
    eye = lax.convert_element_type(np.eye(n), typeof(x).dtype)
    return lax.reduce_sum(x * eye, (typeof(x).ndim - 1,))
