"""The exponential of a matrix.

One idea: exp(a) is exp(a / 2**s) squared s times, and a rational function is accurate for the small matrix.
Source: Higham (2005), The scaling and squaring method for the matrix exponential revisited.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import calque_linalg as linalg
from calque_core import ShapeError, is_tracer, lax, typeof
from calque_core.engine.numpy_functions import broadcast_to
from calque_core.extend import integer, where
from calque_linalg.kit import identity_like, matrix_product
from calque_numpy.equations import as_field
from calque_numpy.joining import concatenate

Value = Any

# The numerator of degree 13, divided by its first coefficient; the denominator has the same with alternating signs.
_COEFFICIENTS = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
_GREATEST_NORM = 5.371920351148152  # for which the rational function is accurate to double precision


def expm(A: Value, *, upper_triangular: bool = False, max_squarings: int = 16) -> Value:
    """Return the exponential of a square matrix, the sum of its powers A^k / k!.

    `upper_triangular` says that `A` is, so that its systems need no elimination.  A matrix whose norm needs more than
    `max_squarings` squarings gives NaN.
    Shapes: A [*s, n, n] -> [*s, n, n].  Dtype: A's, single or double precision; float64 for integers.
    Raises: ShapeError unless `A` is square; TypeError for half precision.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import expm
    >>> expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    (a,) = as_field("expm", A)
    aval, count = typeof(a), integer("expm", "max_squarings", max_squarings)
    if aval.ndim < 2 or aval.shape[-2] != aval.shape[-1]:
        raise ShapeError(f"expm of {aval}{where()}: it is no square matrix. Give one, or a stack.")
    if not aval.size:
        return a
    squarings = _squarings(lax.stop_gradient(a))
    scale = lax.exp2(lax.neg(squarings))
    top, bottom = _fraction(lax.mul(a, _over_matrices(lax.convert_element_type(scale, aval.dtype), a)))
    out = linalg.triangular_solve(bottom, top, left_side=True) if upper_triangular else linalg.solve(bottom, top)

    out = _squared(out, squarings, count)
    return lax.select(_over_matrices(lax.le(squarings, float(count)), out), out, aval.dtype.type(np.nan))


def _squared(x: Value, squarings: Value, count: int) -> Value:
    """Return the matrices squared as often as `squarings` says, at most `count` times."""

    def square(k: Value, x: Value) -> Value:
        is_needed = lax.gt(squarings, lax.convert_element_type(k, typeof(squarings).dtype))
        return lax.select(_over_matrices(is_needed, x), matrix_product(x, x), x)

    def square_if_needed(k: Value, x: Value) -> Value:
        some = lax.lt(lax.convert_element_type(k, typeof(squarings).dtype), lax.reduce_max(squarings))
        return lax.cond(some, square, lambda k, x: x, k, x)

    if is_tracer(squarings):
        return lax.fori_loop(0, count, square_if_needed, x)
    for k in range(count):  # the numbers are known, and most matrices need no squaring
        if not (np.asarray(squarings) > k).any():
            break
        x = square(k, x)
    return x


def _squarings(a: Value) -> Value:
    """Return how often each matrix is halved, so that its norm is small enough: a whole number, as a float."""
    excess = lax.max(lax.div(_norm(a), _GREATEST_NORM), 1.0)
    return lax.ceil(lax.div(lax.log(excess), float(np.log(2.0))))


def _norm(a: Value) -> Value:
    """Return the greatest sum of the moduli in a column."""
    ndim = typeof(a).ndim
    return lax.reduce_max(lax.reduce_sum(lax.abs(a), ndim - 2), ndim - 2)


def _over_matrices(numbers: Value, x: Value) -> Value:
    shape = typeof(x).shape
    return broadcast_to(lax.expand_dims(numbers, (-2, -1)), shape)


def _fraction(a: Value) -> tuple[Value, Value]:
    """Return numerator and denominator: the sums and the differences of the even and the odd terms."""
    c = [coefficient / _COEFFICIENTS[0] for coefficient in _COEFFICIENTS]
    one = identity_like(a)
    a2 = matrix_product(a, a)
    a4 = matrix_product(a2, a2)
    a6 = matrix_product(a4, a2)

    def terms(first: int) -> Value:
        """Return the sum of c[first + 2 k] a^(2 k) for k from 0 to 6."""
        high = _combined((c[first + 12], c[first + 10], c[first + 8]), (a6, a4, a2))
        low = _combined((c[first + 6], c[first + 4], c[first + 2], c[first]), (a6, a4, a2, one))
        return lax.add(matrix_product(a6, high), low)

    even, odd = terms(0), matrix_product(a, terms(1))
    return lax.add(even, odd), lax.sub(even, odd)


def _combined(factors: Any, matrices: Any) -> Value:
    total = None
    for factor, matrix in zip(factors, matrices, strict=True):
        term = lax.mul(matrix, typeof(matrix).dtype.type(factor))
        total = term if total is None else lax.add(total, term)
    return total


def expm_frechet(A: Value, E: Value, method: str | None = None, compute_expm: bool = True) -> Any:
    """Return the exponential of a square matrix and its derivative along the change `E`; or the derivative alone.

    `method` is as in SciPy, "SPS" or "blockEnlarge"; both mean the same computation.
    Shapes: A, E [*s, n, n] -> [*s, n, n].  Dtype: promoted, single or double precision; float64 for integers.
    Raises: ShapeError unless both are square, of one shape; TypeError for half precision; ValueError for another
    `method`.
    Source: Van Loan (1978), Computing integrals involving the matrix exponential: the derivative is the upper right
    part of the exponential of [[A, E], [0, A]].

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import expm_frechet
    >>> expm_frechet(np.zeros((1, 1)), np.array([[3.0]]))
    (array([[1.]]), array([[3.]]))
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"expm_frechet{where()}: method is {method!r}. Use 'SPS' or 'blockEnlarge'.")
    a, e = as_field("expm_frechet", A, E)
    aval = typeof(a)
    if aval.ndim < 2 or aval.shape[-2] != aval.shape[-1] or typeof(e).shape != aval.shape:
        raise ShapeError(
            f"expm_frechet of {aval} and {typeof(e)}{where()}: the operands must be square matrices of one shape."
        )
    n = aval.shape[-1]
    if not aval.size:
        return (a, e) if compute_expm else e
    # The derivative is linear in E, so E is scaled: a large one needs no more squarings than A.
    size = lax.stop_gradient(_over_matrices(lax.add(_norm(e), float(np.finfo(aval.dtype).tiny)), e))
    size = lax.convert_element_type(size, aval.dtype)
    upper = concatenate([a, lax.div(e, size)], -1)
    whole = expm(concatenate([upper, concatenate([lax.zeros_like(a), a], -1)], -2))
    slope = lax.mul(whole[..., :n, n:], size)
    return (whole[..., :n, :n], slope) if compute_expm else slope
