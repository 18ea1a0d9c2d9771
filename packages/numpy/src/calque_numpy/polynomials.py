"""Polynomials as vectors of coefficients, that of the highest power first.

Read next: `linalg`, which finds their roots.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import ShapeError, canonicalize_dtype, implements, is_tracer, lax, result_type, typeof
from calque_core.engine import host_values, kind_of
from calque_core.engine.numpy_functions import as_dtype, at, ravel, real, true_divide
from calque_core.extend import integer, types_decide
from calque_core.extend import where as place
from calque_numpy.creation import asarray
from calque_numpy.signals import convolve
from calque_numpy.spectra import eigvals

Value = Any


@implements(np.polyval)
@types_decide
def polyval(p: Value, x: Value, *, unroll: int = 16) -> Value:
    """Return the values of a polynomial at x, by Horner's scheme.

    JAX's `unroll`, how many steps a loop takes at once, changes nothing: there is no loop.
    Shapes: p [n], x [*s] -> [*s].  Dtype: promoted.
    Raises: ShapeError unless p is a vector; TypeError unless `unroll` is an integer; ValueError if it is negative.

    >>> import numpy as np
    >>> from calque_numpy import polyval
    >>> polyval(np.array([1.0, 0.0, -1.0]), 3.0)
    np.float64(8.0)
    """
    if integer("polyval", "unroll", unroll) < 0:
        raise ValueError(f"polyval{place()}: unroll is {unroll}. Leave it out, or give zero or more.")
    p, x = _coefficients("polyval", p), asarray(x)
    dtype = result_type(p, x)
    p, x = as_dtype(p, dtype), as_dtype(x, dtype)
    out = lax.full_like(x, 0)
    for coefficient in lax.unstack(p):
        out = lax.add(lax.mul(out, x), coefficient)
    return out


def _coefficients(name: str, p: Value) -> Value:
    p = asarray(p)
    if typeof(p).ndim > 1 or (not typeof(p).ndim and name in ("polyval", "polyder", "polyint")):
        raise ShapeError(f"{name}{place()}: the coefficients are {typeof(p)}. Give a vector.")
    return ravel(p)


@implements(np.polyadd)
def polyadd(a1: Value, a2: Value) -> Value:
    """Return the coefficients of the sum of two polynomials.

    Raises: ShapeError if the coefficients are no vector.

    >>> import numpy as np
    >>> from calque_numpy import polyadd
    >>> polyadd(np.array([1, 2]), np.array([1, 0, 0]))
    array([1, 1, 2])
    """
    return lax.add(*_same_length("polyadd", a1, a2))


@implements(np.polysub)
def polysub(a1: Value, a2: Value) -> Value:
    """Return the coefficients of the difference of two polynomials.

    Raises: ShapeError if the coefficients are no vector.

    >>> import numpy as np
    >>> from calque_numpy import polysub
    >>> polysub(np.array([1, 2]), np.array([1, 0, 0]))
    array([-1,  1,  2])
    """
    return lax.sub(*_same_length("polysub", a1, a2))


def _same_length(name: str, a1: Value, a2: Value) -> list[Value]:
    a1, a2 = _coefficients(name, a1), _coefficients(name, a2)
    dtype, n = result_type(a1, a2), max(typeof(a1).size, typeof(a2).size)
    return [lax.pad(as_dtype(a, dtype), dtype.type(0), [(n - typeof(a).size, 0, 0)]) for a in (a1, a2)]


@implements(np.polymul)
def polymul(a1: Value, a2: Value) -> Value:
    """Return the coefficients of the product of two polynomials; leading zeros stay.

    Raises: ShapeError if the coefficients are no vector.

    >>> import numpy as np
    >>> from calque_numpy import polymul
    >>> polymul(np.array([1, 1]), np.array([1, -1]))
    array([ 1,  0, -1])
    """
    factors = (_coefficients("polymul", a1), _coefficients("polymul", a2))
    return convolve(*(a if typeof(a).size else lax.full((1,), 0, typeof(a).dtype) for a in factors))


@implements(np.polyder)
def polyder(p: Value, m: int = 1) -> Value:
    """Return the coefficients of the m-th derivative of a polynomial.

    Raises: ValueError for a negative m.

    >>> import numpy as np
    >>> from calque_numpy import polyder
    >>> polyder(np.array([1, 2, 3]))
    array([2, 2])
    """
    p, times = _coefficients("polyder", p), _order("polyder", m)
    for _ in range(times):
        n = typeof(p).size
        powers = np.arange(n - 1, 0, -1)
        p = lax.mul(lax.slice_in_dim(p, 0, max(n - 1, 0)), powers)
    return p


@implements(np.polyint)
def polyint(p: Value, m: int = 1, k: Value = None) -> Value:
    """Return the coefficients of the m-th integral of a polynomial, with the constants k, by default zeros.

    Raises: ValueError for a negative m; ShapeError unless there is one constant, or m constants.

    >>> import numpy as np
    >>> from calque_numpy import polyint
    >>> polyint(np.array([2.0, 2.0]))
    array([1., 2., 0.])
    """
    p, times = _coefficients("polyint", p), _order("polyint", m)
    constants = ravel(asarray(0 if k is None else k))
    if typeof(constants).size not in (1, times):
        raise ShapeError(f"polyint{place()}: there are {typeof(constants).size} constants. Give 1 or {times}.")
    for i in range(times):
        constant = lax.slice_in_dim(constants, min(i, typeof(constants).size - 1), None)[:1]
        p = true_divide(p, np.arange(typeof(p).size, 0, -1))
        dtype = result_type(p, constant)
        p = lax.concatenate([as_dtype(p, dtype), as_dtype(constant, dtype)], 0)
    return p


def _order(name: str, m: int) -> int:
    times = integer(name, "m", m)
    if times < 0:
        raise ValueError(f"{name}{place()}: m is {times}. Give a number of zero or more.")
    return times


@implements(np.polydiv)
def polydiv(u: Value, v: Value) -> tuple[Value, Value]:
    """Return the coefficients of the quotient of two polynomials, and of the remainder.

    Shapes: u [n], v [m] -> [n - m + 1] and [m - 1], each at least [1], and [n] for the remainder if n < m.  NumPy's
    remainder is shorter if its first coefficients are zero.
    Dtype: promoted, at least float64 for integers.
    Raises: ShapeError unless both are vectors; ValueError for an empty one.

    >>> import numpy as np
    >>> from calque_numpy import polydiv
    >>> polydiv(np.array([3.0, 5.0, 2.0]), np.array([2.0, 1.0]))
    (array([1.5 , 1.75]), array([0.25]))
    """
    u, v = _divisible("polydiv", u), _divisible("polydiv", v)
    dtype = result_type(u, v)
    u, v = as_dtype(u, dtype), as_dtype(v, dtype)
    n, m = typeof(u).size, typeof(v).size
    quotient: list[Value] = []
    for k in range(n - m + 1):
        factor = lax.div(u[k], v[0])
        quotient.append(factor)
        u = at(u)[k : k + m].subtract(lax.mul(factor, v))
    if not quotient:
        return lax.full((1,), 0, dtype), u
    return lax.stack(quotient), u[n - max(m - 1, 1) :]


def _divisible(name: str, p: Value) -> Value:
    p = _coefficients(name, p)
    if not typeof(p).size:
        raise ValueError(f"{name}{place()}: a polynomial has no coefficients. Give at least one.")
    return as_dtype(p, _field(p))


def _field(x: Value) -> np.dtype[Any]:
    """Return the dtype of a number's quotients."""
    return result_type(x, 0.0)


@implements(np.roots)
def roots(p: Value, *, strip_zeros: bool = True) -> Value:
    """Return the roots of a polynomial: the eigenvalues of its companion matrix.

    Zeros before the first and after the last other coefficient are removed before, if the values are known.  Those of
    a traced array stay: its first coefficient must not be zero, otherwise the roots are not finite.
    Where a root is double, it has no derivative: the derivative is not finite.
    Shapes: p [n] -> [n - 1].  Dtype: complex; NumPy's is real if all roots are.
    Raises: ShapeError unless `p` is a vector; LinAlgError for values that are not finite.

    >>> import numpy as np
    >>> from calque_numpy import roots
    >>> roots(np.array([1.0, -3.0, 2.0]))
    array([2., 1.])
    """
    p = _coefficients("roots", p)
    if strip_zeros and not is_tracer(p) and typeof(p).dtype != np.float16:  # which NumPy refuses in other words
        return np.roots(host_values(p))
    p = as_dtype(p, _field(p))
    n = typeof(p).size
    if n < 2:
        return lax.full((0,), 0, result_type(p, 0j))
    first = lax.neg(lax.div(p[1:], p[0]))
    shifted = np.eye(n - 2, n - 1, dtype=typeof(p).dtype)
    zeros = eigvals(lax.concatenate([lax.expand_dims(first, (0,)), shifted], 0))
    return lax.add(zeros, as_dtype(_nothing_without_derivative(p, _is_repeated(zeros)), typeof(zeros).dtype))


def _is_repeated(x: Value) -> Value:
    """Return which elements of a vector occur more than once."""
    is_equal = lax.eq(lax.expand_dims(x, (0,)), lax.expand_dims(x, (1,)))
    return lax.reduce_or(lax.bitwise_and(is_equal, ~np.eye(typeof(x).size, dtype=bool)), 1)


def _nothing_without_derivative(p: Value, mask: Value) -> Value:
    """Return zeros, of which those where the mask is true have NaN as their derivative: that of sqrt(0 * x).

    Equal eigenvalues have a finite derivative, which holds if their vectors differ; but those of a companion matrix are
    one vector.
    """
    square = lax.reduce_sum(lax.square(lax.abs(p)), 0)
    factor = lax.select(mask, lax.full_like(square, 0), lax.full_like(square, 1))
    return lax.select(mask, lax.sqrt(lax.mul(factor, square)), lax.full_like(square, 0))


@implements(np.poly)
def poly(seq_of_zeros: Value) -> Value:
    """Return the coefficients of the polynomial with these roots; of a matrix, those of its characteristic polynomial.

    Shapes: [n] or [n, n] -> [n + 1]; 1.0 without roots.  Dtype: float64 for integers and half precision; real for a
    real matrix.  Complex roots in conjugate pairs give real coefficients if the values are known.
    Raises: ShapeError for another shape.

    >>> import numpy as np
    >>> from calque_numpy import poly
    >>> poly(np.array([1.0, 2.0]))
    array([ 1., -3.,  2.])
    """
    zeros = asarray(seq_of_zeros)
    shape = typeof(zeros).shape
    if isinstance(zeros, np.ndarray) and typeof(zeros).kind == "c":
        return np.poly(zeros)
    if len(shape) == 2 and shape[0] == shape[1] and shape[0]:
        coefficients = _product_of_roots(eigvals(zeros))
        return coefficients if typeof(zeros).kind == "c" else real(coefficients)
    if len(shape) > 1:
        raise ShapeError(f"poly of {typeof(zeros)}{place()}. Give a vector of roots, or a square matrix.")
    if not typeof(zeros).size:
        return 1.0
    dtype = _field(zeros)
    return _product_of_roots(as_dtype(ravel(zeros), dtype if dtype.itemsize > 2 else canonicalize_dtype(np.float64)))


def _product_of_roots(zeros: Value) -> Value:
    one = lax.full((1,), 1, typeof(zeros).dtype)
    product = one
    for root in lax.unstack(zeros):
        shifted = lax.concatenate([lax.full_like(one, 0), lax.mul(product, root)], 0)
        product = lax.sub(lax.concatenate([product, lax.full_like(one, 0)], 0), shifted)
    return product


@implements(np.vander)
def vander(x: Value, N: int | None = None, increasing: bool = False) -> Value:
    """Return the matrix of the powers of x, of which row i has x[i]**(N - 1), ..., 1; or increasing powers.

    Shapes: x [n] -> [n, N]; N is n by default.  Dtype: at least the default integer.
    Raises: ShapeError unless x is a vector; ValueError for a negative N.

    >>> import numpy as np
    >>> from calque_numpy import vander
    >>> vander(np.array([2, 3]), 3)
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    x = asarray(x)
    if typeof(x).ndim != 1:
        raise ShapeError(f"vander of {typeof(x)}{place()}. Give a vector.")
    n = typeof(x).size if N is None else integer("vander", "N", N)
    if n < 0:
        raise ValueError(f"vander{place()}: N is {n}. Give a number of zero or more.")
    dtype = result_type(x, int) if typeof(x).kind != "b" else result_type(int)
    x = as_dtype(x, np.promote_types(dtype, result_type(int)) if kind_of(dtype) in "iu" else dtype)
    ones = lax.full((typeof(x).shape[0], 1), 1, typeof(x).dtype)
    factors = lax.broadcast_in_dim(x, (typeof(x).shape[0], max(n - 1, 0)), (0,))
    powers = lax.cumprod(lax.concatenate([ones, factors], 1), 1) if n else lax.slice_in_dim(ones, 0, 0, axis=1)
    return powers if increasing else lax.rev(powers, (1,))
