"""Distributions of vectors: multivariate normal, Dirichlet's, multinomial.

Read next: `distributions.py`, for distributions of numbers.
"""

from __future__ import annotations

import math
from typing import Any

import calque_special
from calque_core import ShapeError, lax, typeof
from calque_core.engine.numpy_functions import array_of, as_dtype, broadcast_to
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import where as place
from calque_linalg import cholesky, triangular_solve
from calque_numpy.matrices import diagonal
from calque_numpy.scipy.distributions import Distribution, Formula
from calque_numpy.scipy.floats import float_dtype
from calque_numpy.scipy.probability import xlogy_p

Value = Any

_SIMPLEX = 1e-6  # by so much a sum of probabilities may differ from 1


def _vectors(name: str, *operands: Value) -> list[Value]:
    """Return the operands as floats of one dtype."""
    arrays = [array_of(x) if isinstance(x, (list, tuple)) else x for x in operands]
    dtype = float_dtype(name, *arrays)
    return [as_dtype(x, dtype) for x in arrays]


def _density(name: str, logarithm: Formula, kind: str = "pdf") -> Distribution:
    def function(*args: Value, **named: Value) -> Value:
        return lax.exp(logarithm(*args, **named))

    function.__name__ = function.__qualname__ = f"{name}.{kind}"
    function.__doc__ = f"Return the exponential of `{name}.log{kind}`, with the same arguments."
    return Distribution(name, {f"log{kind}": logarithm, kind: function})


def _normal_logpdf(x: Value, mean: Value = None, cov: Value = 1, allow_singular: None = None) -> Value:
    """Return the logarithm of the multivariate normal density at x.

    A number `cov` stands for that multiple of the identity; if `mean` is a number, too, each x is one.
    Shapes: x [*s, n], mean [*s, n] or [], cov [*s, n, n] or [] -> [*s], broadcast.  Dtype: promoted; float64 for
    integers.
    Raises: numpy.linalg.LinAlgError for a matrix that is not positive definite, which gives NaN when compiled;
    ShapeError if the shapes do not fit; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.stats import multivariate_normal
    >>> multivariate_normal.logpdf(np.zeros(2), np.zeros(2), np.eye(2) / (2 * np.pi))
    np.float64(0.0)
    """
    x, mean, cov = _vectors("multivariate_normal.logpdf", x, 0 if mean is None else mean, cov)
    distance, ndim = x - mean, typeof(cov).ndim
    if ndim == 0:
        is_number = typeof(mean).ndim == 0
        n = 1 if is_number else typeof(distance).shape[-1]
        squares = distance * distance / cov
        return -0.5 * ((squares if is_number else total(squares, -1)) + n * lax.log(2 * math.pi * cov))
    shape, n = typeof(distance).shape, typeof(cov).shape[-1]
    if ndim == 1 or shape[-1:] not in ((n,), (1,), ()):
        raise ShapeError(
            f"multivariate_normal{place()}: cov is {typeof(cov)}, and x - mean is {typeof(distance)}. "
            "Give a matrix for each vector, or a number."
        )
    factor = cholesky(cov)
    batch = lax.broadcast_shapes(shape[:-1], typeof(cov).shape[:-2])
    factors = broadcast_to(factor, (*batch, n, n)) if ndim > 2 else factor
    rows = broadcast_to(distance, (*batch, n))
    rows = lax.reshape(rows, (*batch, 1, n) if ndim > 2 else (math.prod(batch), n))
    whitened = lax.reshape(triangular_solve(factors, rows, lower=True, transpose_a=True), (*batch, n))
    log_root = total(lax.log(diagonal(factor, 0, -2, -1)), -1)
    return -0.5 * (total(whitened * whitened, -1) + n * math.log(2 * math.pi)) - log_root


def _dirichlet_logpdf(x: Value, alpha: Value) -> Value:
    """Return the logarithm of Dirichlet's density at x; -inf where x has a negative element or another sum than 1.

    Shapes: x [k, *s], or [k - 1, *s] without the last element, alpha [k] -> [*s].  Dtype: promoted; float64 for
    integers.
    Raises: ShapeError if alpha is no vector, or x has another length; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.stats import dirichlet
    >>> round(float(dirichlet.logpdf(np.array([0.2, 0.8]), np.ones(2))), 12)
    0.0
    """
    x, alpha = _vectors("dirichlet.logpdf", x, alpha)
    x_aval, k = typeof(x), typeof(alpha).size
    if typeof(alpha).ndim != 1 or x_aval.shape[:1] not in ((k,), (k - 1,)):
        raise ShapeError(
            f"dirichlet{place()}: alpha is {typeof(alpha)}, and x is {x_aval}. "
            "Give a vector, and its length or one less as the first axis of x."
        )
    if x_aval.shape[0] == k - 1:
        x = lax.concatenate([x, lax.expand_dims(1.0 - total(x, 0), (0,))], 0)
    powers = xlogy_p.bind(*_alike(lax.reshape(alpha, (k, *[1] * (x_aval.ndim - 1))) - 1.0, x))
    front = total(calque_special.lgamma(alpha)) - calque_special.lgamma(total(alpha))
    is_inside = lax.reduce_and(x >= 0.0, (0,)) & (abs(total(x, 0) - 1.0) < _SIMPLEX)
    out = lax.select(is_inside, total(powers, 0) - front, -math.inf)
    return lax.select(lax.reduce_and(alpha > 0.0, (0,)), out, math.nan)


def _alike(*operands: Value) -> list[Value]:
    shape = lax.broadcast_shapes(*(typeof(x).shape for x in operands))
    return [broadcast_to(x, shape) for x in operands]


def _multinomial_logpmf(x: Value, n: Value, p: Value) -> Value:
    """Return the logarithm of the probability of the counts x in n draws; -inf where x is no vector of counts of sum n.

    Shapes: x [*s, k], n [*s], p [*s, k] -> [*s], broadcast.  Dtype: promoted; float64 for integers.
    Raises: ShapeError if the shapes do not broadcast; TypeError for complex numbers.

    >>> import numpy as np
    >>> from calque_numpy.scipy.stats import multinomial
    >>> round(float(multinomial.logpmf(np.array([1, 1]), 2, np.array([0.5, 0.5]))), 12)
    -0.69314718056
    """
    x, n, p = _vectors("multinomial.logpmf", x, n, p)
    x, p = _alike(x, p)
    is_count = lax.reduce_and((x >= 0.0) & lax.eq(lax.floor(x), x), (typeof(x).ndim - 1,))
    is_count = is_count & lax.eq(total(x, -1), n)
    counts = lax.select(x >= 0.0, x, 0.0)
    terms = xlogy_p.bind(counts, p) - calque_special.lgamma(counts + 1.0)
    return lax.select(is_count, calque_special.lgamma(n + 1.0) + total(terms, -1), -math.inf)


for _name, _function in (
    ("multivariate_normal.logpdf", _normal_logpdf),
    ("dirichlet.logpdf", _dirichlet_logpdf),
    ("multinomial.logpmf", _multinomial_logpmf),
):
    _function.__name__ = _function.__qualname__ = _name

multivariate_normal = _density("multivariate_normal", _normal_logpdf)
dirichlet = _density("dirichlet", _dirichlet_logpdf)
multinomial = _density("multinomial", _multinomial_logpmf, "pmf")
