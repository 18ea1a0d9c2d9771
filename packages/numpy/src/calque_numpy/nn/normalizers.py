"""Functions that compare the elements along an axis: `softmax`, `logsumexp`, `standardize`, `one_hot`.

One idea: exponentials are taken of differences from the largest element, so they are at most 1, and their sum is at
least 1.  Where that element is infinite, the elements equal to it have the difference 0, and other elements -inf.

Read next: `activations.py`.
"""

from __future__ import annotations

import math
from math import inf, nan
from typing import Any

from calque_core import finfo, lax, typeof
from calque_core.engine import scalar_dtype
from calque_core.engine.numpy_functions import (
    Axes,
    as_dtype,
    binary,
    broadcast_to,
    canonical_axis,
    dtype_argument,
    fill_masked,
    floating,
    isinf,
    promoted_dtype,
    reduced_axes,
    true_divide,
)
from calque_core.engine.numpy_functions import max as largest
from calque_core.engine.numpy_functions import mean as mean_of
from calque_core.engine.numpy_functions import sum as total
from calque_core.extend import by_types, integer
from calque_core.extend import where as place

Value = Any
DType = Any


@by_types
def softmax(x: Value, axis: Axes = -1, where: Value = None) -> Value:
    """Return exp(x) divided by its sum over `axis`, without overflow.

    Elements outside of the mask `where` are not counted, and give 0.  Infinite elements share the whole equally, and so
    do elements that are all -inf.
    Shapes: kept.  Dtype: kept for floats; integers become floats.
    Raises: ValueError for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy.nn import softmax
    >>> softmax(np.array([1000.0, 1000.0, -np.inf]))
    array([0.5, 0.5, 0. ])
    """
    axes = reduced_axes("softmax", axis, typeof(x).ndim)
    exponentials = lax.exp(_differences(x, axes, where)[0])
    return _outside(lax.div(exponentials, total(exponentials, axes, keepdims=True)), where, 0)


@by_types
def log_softmax(x: Value, axis: Axes = -1, where: Value = None) -> Value:
    """Return the logarithm of `softmax`, which is finite where `softmax` underflows.

    Elements outside of the mask `where` are not counted, and give -inf.
    Shapes: kept.  Dtype: kept for floats; integers become floats.
    Raises: ValueError for an axis out of range.

    >>> import numpy as np
    >>> from calque_numpy.nn import log_softmax
    >>> log_softmax(np.array([0.0, 1000.0]))
    array([-1000.,     0.])
    """
    axes = reduced_axes("log_softmax", axis, typeof(x).ndim)
    differences, _ = _differences(x, axes, where)
    normalizer = lax.log(total(lax.exp(differences), axes, keepdims=True))
    return _outside(lax.sub(differences, normalizer), where, -inf)


def _differences(x: Value, axes: tuple[int, ...], where: Value) -> tuple[Value, Value]:
    """Return x minus its largest element over the axes, which are kept, and that element.

    The largest element is a constant for derivatives, except where it is infinite.
    """
    x = fill_masked(floating(x), True if where is None else where, -inf)
    is_empty = 0 in [typeof(x).shape[axis] for axis in axes]
    top = largest(x, axes, keepdims=True, initial=-inf if is_empty else None)  # -inf would share the derivative
    is_infinite = isinf(top)
    every = broadcast_to(is_infinite, typeof(x).shape)
    constant = lax.stop_gradient(top)
    finite = lax.sub(lax.select(every, 0, x), lax.select(is_infinite, 0, constant))
    differences = lax.select(lax.bitwise_and(every, lax.ne(x, top)), -inf, finite)
    return differences, lax.select(is_infinite, top, constant)


def _outside(out: Value, where: Value, fill: float) -> Value:
    return out if where is None else fill_masked(out, where, fill)


@by_types
def logsumexp(
    a: Value,
    axis: Axes = None,
    b: Value = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Value = None,
) -> Value:
    """Return log(sum(b * exp(a))) over `axis`, without overflow; `b` is 1 by default.

    Elements outside of the mask `where` are not counted, and elements with b = 0 only for the derivative in b; no
    element gives -inf.  With `return_sign` the result is a pair: the logarithm of the absolute value of the sum, and
    its sign.  Without it, a negative sum gives NaN, and so do infinite terms of both signs.
    Of complex numbers it is the principal value, and the sign is the sum over its modulus.
    Shapes: a and b broadcast; the axes are dropped, or have size 1 with `keepdims`.  Dtype: promoted; integers become
    floats.
    Raises: ValueError for an axis out of range; ShapeError if `a` and `b` do not broadcast.

    >>> import numpy as np
    >>> from calque_numpy.nn import logsumexp
    >>> logsumexp(np.array([1000.0, 1000.0]))
    np.float64(1000.6931471805599)
    >>> logsumexp(np.array([0.0, 0.0]), b=np.array([1.0, -3.0]), return_sign=True)
    (np.float64(0.6931471805599453), np.float64(-1.0))
    """
    dtype = promoted_dtype("logsumexp", *([a] if b is None else [a, b]))
    if b is not None:
        dtype = typeof(floating(lax.full_like(a, 0, dtype, shape=()))).dtype
        a, b = binary("logsumexp", as_dtype(a, dtype), as_dtype(b, dtype))
    axes = reduced_axes("logsumexp", axis, typeof(a).ndim)
    method = _logarithm_of_complex_sum if dtype.kind == "c" else _logarithm_of_sum
    out, sign = method(a, axes, b, where, return_sign)
    return (
        (_dropped(out, axes, keepdims), _dropped(sign, axes, keepdims))
        if return_sign
        else _dropped(out, axes, keepdims)
    )


def _logarithm_of_sum(
    a: Value, axes: tuple[int, ...], b: Value, where: Value, return_sign: bool
) -> tuple[Value, Value]:
    """Return the logarithm of the sum's size, and its sign; without `return_sign`, NaN for a negative sum."""
    differences, top = _differences(a if b is None else lax.select(lax.ne(b, 0), a, -inf), axes, where)
    terms = lax.exp(differences) if b is None else _weighted(differences, a, b, top)
    terms = terms if where is None else fill_masked(terms, where, 0)
    summed = total(terms, axes, keepdims=True)
    if b is not None:
        summed = lax.select(lax.bitwise_and(lax.eq(top, inf), _has_both_signs(terms, axes)), nan, summed)
    is_zero = lax.eq(summed, 0)
    size = lax.log(lax.select(is_zero, 1, lax.abs(summed)))
    out = lax.select(is_zero, -inf, lax.add(size, top))
    if b is None and not return_sign:
        return out, summed
    summed = lax.select(lax.eq(top, -inf), 0, summed)
    return (out if return_sign else lax.select(lax.lt(summed, 0), nan, out)), lax.sign(summed)


def _weighted(differences: Value, a: Value, b: Value, top: Value) -> Value:
    """Return b exp(differences), which has a derivative in a weight of 0: the exponential, or the largest number."""
    shape = typeof(a).shape
    is_unused = lax.bitwise_and(lax.eq(b, 0), broadcast_to(lax.lt(lax.abs(top), inf), shape))
    excess = lax.sub(lax.select(is_unused, a, 0), broadcast_to(lax.select(lax.lt(lax.abs(top), inf), top, 0), shape))
    return lax.mul(lax.exp(lax.select(is_unused, _at_most_finite(excess), differences)), b)


def _at_most_finite(exponent: Value) -> Value:
    """Return the exponent, or the largest one whose exponential is finite."""
    return lax.min(exponent, math.floor(math.log(float(finfo(typeof(exponent).dtype).max))))


def _logarithm_of_complex_sum(
    a: Value, axes: tuple[int, ...], b: Value, where: Value, return_sign: bool
) -> tuple[Value, Value]:
    """Return the logarithm of the sum, or of its modulus if `return_sign`, and the sum over its modulus."""
    used = lax.real(a) if b is None else lax.select(lax.ne(b, 0), lax.real(a), -inf)
    _, top = _differences(used, axes, where)
    top = lax.stop_gradient(lax.select(lax.lt(lax.abs(top), inf), top, 0))
    excess = lax.sub(lax.real(a), top)
    if b is not None:
        excess = lax.select(lax.eq(b, 0), _at_most_finite(excess), excess)
    terms = lax.exp(lax.complex(excess, lax.imag(a)))
    terms = terms if b is None else lax.mul(terms, b)
    terms = terms if where is None else fill_masked(terms, where, 0)
    summed = total(terms, axes, keepdims=True)
    is_zero = lax.eq(summed, 0)
    safe = lax.select(is_zero, 1, summed)
    size = lax.add(lax.log(lax.abs(safe)), top)
    sign = lax.select(is_zero, 0, lax.sign(safe))
    if return_sign:
        return lax.select(is_zero, -inf, size), sign
    return lax.select(is_zero, -inf, lax.complex(size, lax.imag(lax.log(safe)))), sign


def _has_both_signs(terms: Value, axes: tuple[int, ...]) -> Value:
    greatest, least = (largest(x, axes, keepdims=True, initial=0) for x in (terms, lax.neg(terms)))
    return lax.bitwise_and(lax.gt(greatest, 0), lax.gt(least, 0))


def _dropped(out: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return out if keepdims else lax.squeeze(out, axes)


@by_types
def logmeanexp(x: Value, axis: Axes = None, where: Value = None, keepdims: bool = False) -> Value:
    """Return log(mean(exp(x))) over `axis`, without overflow.

    Shapes, dtype, errors: as `logsumexp`.

    >>> import numpy as np
    >>> from calque_numpy.nn import logmeanexp
    >>> logmeanexp(np.array([1000.0, 1000.0]))
    np.float64(1000.0)
    """
    out = logsumexp(x, axis, None, keepdims, False, where)
    ones = lax.full_like(x, 1, typeof(out).dtype)
    count = total(ones, axis, keepdims=keepdims, where=True if where is None else where)
    return lax.sub(out, lax.log(count))


@by_types
def standardize(
    x: Value,
    axis: Axes = -1,
    mean: Value = None,
    variance: Value = None,
    epsilon: Value = 1e-5,
    where: Value = None,
    *,
    algorithm: str = "fast",
) -> Value:
    """Return (x - mean) / sqrt(variance + epsilon), by default with the mean and the variance of x over `axis`.

    The mean and the variance count the elements inside of the mask `where`.  The algorithm of the variance is "fast"
    (mean of squares minus square of mean, at least 0) or "stable" (mean of squared deviations).
    Shapes: kept.  Dtype: kept for floats; integers become floats.
    Raises: ValueError for an axis out of range or another algorithm.

    >>> import numpy as np
    >>> from calque_numpy.nn import standardize
    >>> standardize(np.array([1.0, 3.0]), epsilon=0.0)
    array([-1.,  1.])
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize{place()}: algorithm is {algorithm!r}. Use 'fast' or 'stable'.")
    x = floating(x)
    axes = reduced_axes("standardize", axis, typeof(x).ndim)
    mean = _mean(x, axes, where) if mean is None else mean
    deviations = lax.sub(x, mean)
    if variance is None and algorithm == "stable":
        variance = _mean(lax.square(deviations), axes, where)
    elif variance is None:
        difference = lax.sub(_mean(lax.square(x), axes, where), lax.square(mean))
        variance = lax.select(lax.lt(difference, 0), 0, difference)
    return lax.mul(deviations, lax.rsqrt(lax.add(variance, epsilon)))


def _mean(x: Value, axes: tuple[int, ...], where: Value) -> Value:
    if where is None:
        return mean_of(x, axes, keepdims=True)
    ones = lax.full_like(x, 1)
    return true_divide(total(x, axes, keepdims=True, where=where), total(ones, axes, keepdims=True, where=where))


@by_types
def one_hot(x: Value, num_classes: int, *, dtype: DType = None, axis: int = -1) -> Value:
    """Return for each number of x a vector along the new axis `axis`, 1 at that position and 0 elsewhere.

    A number outside of [0, num_classes), or between integers, gives zeros.
    Shapes: x [*s, *t] -> [*s, num_classes, *t], with `axis` as a position in the result.  Dtype: `dtype`, or the
    default float.
    Raises: TypeError unless x holds real numbers; ValueError for an axis out of range, or a negative number of classes.

    >>> import numpy as np
    >>> from calque_numpy.nn import one_hot
    >>> one_hot(np.array([1, 0]), 3)
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    aval, size = typeof(x), integer("one_hot", "num_classes", num_classes)
    if aval.kind not in "iuf":
        raise TypeError(f"one_hot of {aval}{place()}: the classes are no real numbers. Convert them: x.astype(int).")
    if size < 0:
        raise ValueError(f"one_hot{place()}: num_classes is {size}. Give zero or more.")
    d = canonical_axis("one_hot", integer("one_hot", "axis", axis), aval.ndim + 1)
    shape = (*aval.shape[:d], size, *aval.shape[d:])
    if aval.kind == "f" and aval.dtype.itemsize < 4:
        x = lax.convert_element_type(x, "float32")  # a short float does not hold every class
    places = lax.broadcasted_iota(typeof(x).dtype if aval.kind == "f" else scalar_dtype(int), shape, d)
    out_dtype = scalar_dtype(float) if dtype is None else dtype_argument(dtype)
    return lax.convert_element_type(lax.eq(lax.expand_dims(x, (d,)), places), out_dtype)
