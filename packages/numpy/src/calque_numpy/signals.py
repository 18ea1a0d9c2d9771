"""Convolutions of vectors, covariances, and windows.

One idea: a convolution of two vectors is one `lax.conv_general_dilated`, a covariance is one matrix product.

Read next: `polynomials.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import calque_special
from calque_core import ShapeError, canonicalize_dtype, implements, lax, result_type, typeof
from calque_core.engine.numpy_functions import as_dtype, clip, conjugate, imag, mean, real
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import integer, types_decide
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.elementwise import flat_abs
from calque_numpy.joining import concatenate
from calque_numpy.matrices import diag
from calque_numpy.places import known_array
from calque_signal import conv_general_dilated

Value = Any
DType = Any

# Convolutions


@implements(np.convolve)
@types_decide
def convolve(a: Value, v: Value, mode: str = "full") -> Value:
    """Return the convolution of two vectors: the sums of a[i] v[n - i].

    Shapes: a [n], v [m] -> [n + m - 1] by "full", [max(n, m)] by "same", [max(n, m) - min(n, m) + 1] by "valid".
    Raises: ShapeError unless both are vectors; ValueError for an empty one or another mode.

    >>> import numpy as np
    >>> from calque_numpy import convolve
    >>> convolve(np.array([1, 2, 3]), np.array([0, 1]))
    array([0, 1, 2, 3])
    """
    a, v = _vectors("convolve", a, v, mode)
    if typeof(v).size > typeof(a).size:
        a, v = v, a
    return _slide(a, lax.rev(v, (0,)), mode)


@implements(np.correlate)
@types_decide
def correlate(a: Value, v: Value, mode: str = "valid") -> Value:
    """Return the correlation of two vectors: the sums of a[n + i] conj(v[i]).

    Shapes and errors: as `convolve`.

    >>> import numpy as np
    >>> from calque_numpy import correlate
    >>> correlate(np.array([1, 2, 3]), np.array([0, 1]))
    array([2, 3])
    """
    a, v = _vectors("correlate", a, v, mode)
    v = conjugate(v) if typeof(v).kind == "c" else v
    if typeof(v).size > typeof(a).size:
        return lax.rev(_slide(v, a, mode), (0,))
    return _slide(a, v, mode)


def _vectors(name: str, a: Value, v: Value, mode: str) -> tuple[Value, Value]:
    a, v = asarray(a), asarray(v)
    for x in (a, v):
        if typeof(x).ndim > 1:
            raise ShapeError(f"{name} of {typeof(a)} and {typeof(v)}{place()}. Give vectors.")
        if not typeof(x).size:
            raise ValueError(f"{name} of {typeof(a)} and {typeof(v)}{place()}: a vector is empty. Give elements.")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}{place()}: the mode is {mode!r}. Use 'full', 'same' or 'valid'.")
    dtype = result_type(a, v)
    return (as_dtype(lax.reshape(x, (typeof(x).size,)), dtype) for x in (a, v))  # type: ignore[return-value]


def _slide(a: Value, v: Value, mode: str) -> Value:
    """Return the sums of products of `v` with each piece of the longer vector `a`."""
    n, m = typeof(a).size, typeof(v).size
    pads = {"full": (m - 1, m - 1), "same": (m // 2, m - 1 - m // 2), "valid": (0, 0)}[mode]
    dtype = typeof(a).dtype
    if dtype.kind == "b":
        a, v = as_dtype(a, np.dtype("int32")), as_dtype(v, np.dtype("int32"))
    out = conv_general_dilated(
        lax.reshape(a, (1, 1, n)), lax.reshape(v, (1, 1, m)), (1,), [pads], precision=lax.Precision.HIGHEST
    )
    out = lax.reshape(out, (typeof(out).size,))
    return lax.ne(out, 0) if dtype.kind == "b" else out


# Covariances


@implements(np.cov)
def cov(  # noqa: PLR0913  (NumPy's signature)
    m: Value,
    y: Value = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Value = None,
    aweights: Value = None,
    *,
    dtype: DType = None,
) -> Value:
    """Return the covariances of variables: rows of `m` and of `y`, or columns with `rowvar=False`.

    The divisor is n - 1, or n with `bias`, or n - ddof.  `fweights` are the numbers of repetitions of each observation,
    `aweights` their weights.
    Shapes: m [k, n], y [l, n] -> [k + l, k + l]; a vector is one variable, and one variable gives a scalar.
    Raises: ShapeError for more than two axes, or for weights of another shape than [n]; ValueError for a known weight
    below zero; TypeError for `fweights` that are no integers.

    >>> import numpy as np
    >>> from calque_numpy import cov
    >>> cov(np.array([[1.0, 2.0], [1.0, 4.0]]))
    array([[0.5, 1.5],
           [1.5, 4.5]])
    """
    x = _variables("cov", m, rowvar)
    if y is not None:
        x = concatenate([x, _variables("cov", y, rowvar)])
    if ddof is not None and ddof != int(ddof):
        raise ValueError(f"cov{place()}: ddof is {ddof}. Give an integer.")
    if dtype is not None and canonicalize_dtype(dtype).kind not in "fc":
        raise TypeError(f"cov{place()}: dtype={dtype} cannot hold a covariance. Give a dtype of floats.")
    x = as_dtype(x, result_type(x, np.float64) if dtype is None else canonicalize_dtype(dtype))
    weights = _weights(x, fweights, aweights)
    ddof = (0 if bias else 1) if ddof is None else ddof
    count: Value
    if weights is None:
        count = typeof(x).shape[1]
        centred = lax.sub(x, lax.expand_dims(mean(x, 1), (1,)))
        factor = max(count - ddof, 0)
        weighted = centred
    else:
        count = total(weights)
        average = lax.div(total(lax.mul(x, _row(x, weights)), 1), as_dtype(count, typeof(x).dtype))
        centred = lax.sub(x, lax.expand_dims(average, (1,)))
        used = total(lax.mul(weights, _real(aweights, weights)))
        factor = lax.sub(count, lax.div(lax.mul(used, ddof), count))
        weighted = lax.mul(centred, _row(x, weights))
    products = lax.dot_general(centred, conjugate(weighted), (((1,), (1,)), ((), ())))
    out = lax.div(products, as_dtype(factor, typeof(x).dtype))
    return lax.squeeze(out, (0, 1)) if typeof(out).shape == (1, 1) else out


def _row(x: Value, weights: Value) -> Value:
    return as_dtype(lax.expand_dims(weights, (0,)), typeof(x).dtype)


def _real(aweights: Value, weights: Value) -> Value:
    return lax.full_like(weights, 1) if aweights is None else as_dtype(asarray(aweights), typeof(weights).dtype)


def _variables(name: str, m: Value, rowvar: bool) -> Value:
    """Return the variables as rows."""
    m = asarray(m)
    if typeof(m).ndim > 2:
        raise ShapeError(f"{name} of {typeof(m)}{place()}: there are {typeof(m).ndim} axes. Give at most two.")
    if typeof(m).ndim < 2:
        return lax.reshape(m, (1, typeof(m).size))
    return m if rowvar or typeof(m).shape[0] == 1 else lax.transpose(m, (1, 0))


def _weights(x: Value, fweights: Value, aweights: Value) -> Value | None:
    each = [asarray(w) for w in (fweights, aweights) if w is not None]
    for w in each:
        if typeof(w).shape != typeof(x).shape[1:]:
            raise ShapeError(f"cov of {typeof(x)}{place()}: the weights are {typeof(w)}. Give one for each column.")
        if (values := known_array(w)) is not None and (values < 0).any():
            raise ValueError(f"cov{place()}: the weight {values.min()} is negative. Give numbers of zero or more.")
    if fweights is not None and typeof(each[0]).kind not in "biu":
        raise TypeError(f"cov{place()}: fweights is {typeof(each[0])}. Give integers, or aweights.")
    each = [as_dtype(w, canonicalize_dtype(np.float64)) for w in each]
    return math.prod(each[1:], start=each[0]) if each else None


@implements(np.corrcoef)
def corrcoef(x: Value, y: Value = None, rowvar: bool = True, *, dtype: DType = None) -> Value:
    """Return the correlation coefficients of variables, from -1 to 1; the variables are as for `cov`.

    >>> import numpy as np
    >>> from calque_numpy import corrcoef
    >>> corrcoef(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))[0, 1].round(9)
    np.float64(1.0)
    """
    covariance = cov(x, y, rowvar, dtype=dtype)
    if not typeof(covariance).ndim:
        return lax.div(covariance, covariance)
    deviation = lax.sqrt(real(diag(covariance)))
    scaled = covariance / lax.expand_dims(deviation, (1,)) / lax.expand_dims(deviation, (0,))
    if typeof(scaled).kind != "c":
        return clip(scaled, -1, 1)
    return lax.complex(clip(real(scaled), -1, 1), clip(imag(scaled), -1, 1))


# Windows


def _known_size(name: str, M: Any) -> Any:
    """Return the size of a window, an integer; NumPy's functions take floats, too.

    Raises: TypeError for an array; TracerIntegerConversionError for a traced size.
    """
    return M if isinstance(M, (int, float, np.number)) else integer(name, "M", M)


def bartlett(M: int) -> Value:
    """Return the triangular window of M points.

    >>> from calque_numpy import bartlett
    >>> bartlett(3)
    array([0., 1., 0.])
    """
    return asarray(np.bartlett(_known_size("bartlett", M)))


def blackman(M: int) -> Value:
    """Return the window of Blackman of M points.

    >>> from calque_numpy import blackman
    >>> blackman(3).round(2)
    array([-0.,  1., -0.])
    """
    return asarray(np.blackman(_known_size("blackman", M)))


def hamming(M: int) -> Value:
    """Return the window of Hamming of M points.

    >>> from calque_numpy import hamming
    >>> hamming(3)
    array([0.08, 1.  , 0.08])
    """
    return asarray(np.hamming(_known_size("hamming", M)))


def hanning(M: int) -> Value:
    """Return the window of von Hann of M points.

    >>> from calque_numpy import hanning
    >>> hanning(3)
    array([0., 1., 0.])
    """
    return asarray(np.hanning(_known_size("hanning", M)))


def kaiser(M: int, beta: Value) -> Value:
    """Return the window of Kaiser of M points; it is differentiable in `beta`.

    Source: Kaiser & Schafer (1980): I0(beta sqrt(1 - t**2)) / I0(beta) for t from -1 to 1.

    >>> from calque_numpy import kaiser
    >>> kaiser(3, 0.0)
    array([1., 1., 1.])
    """
    M = _known_size("kaiser", M)
    if M <= 1:
        return asarray(np.ones(max(M, 0)))
    t = asarray((np.arange(M) - (M - 1) / 2) / ((M - 1) / 2))
    beta = as_dtype(asarray(beta), typeof(t).dtype)
    root = lax.mul(beta, np.sqrt(np.maximum(1 - t * t, 0)))
    scale = lax.exp(lax.sub(flat_abs(root), flat_abs(beta)))
    return lax.div(lax.mul(calque_special.bessel_i0e(root), scale), calque_special.bessel_i0e(beta))
