"""Equations that need not have one solution: the pseudo-inverse, least squares, ranks, as in `numpy.linalg`.

One idea: singular values up to a limit count as 0.  Derivatives are those along changes of the matrix that keep its
rank; where the rank changes, there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import calque_linalg as linalg
from calque_core import ShapeError, implements, lax, typeof
from calque_core.engine.numpy_functions import as_dtype, broadcast_to
from calque_core.extend import where
from calque_linalg.kit import hermitian_of
from calque_numpy.equations import as_field
from calque_numpy.spectra import svd, svdvals

Value = Any

_DOUBLE, _RANK = np.dtype("float64"), np.dtype("int32")
_DEFAULT = 1e-15  # NumPy's limit of `pinv`, for every dtype
_NOT_GIVEN: Any = object()


@implements(np.linalg.pinv)
def pinv(a: Value, rcond: Value = None, hermitian: bool = False, *, rtol: Value = _NOT_GIVEN) -> Value:
    """Return the pseudo-inverse of a matrix.

    Singular values up to `rcond` (or `rtol`) times the greatest count as 0.  The default is 1e-15, and max(m, n) times
    the machine epsilon for `rtol=None`.  `hermitian` promises that `a` is Hermitian: only its lower triangle is read.
    Shapes: a [*b, m, n], rcond [] or [*b] -> [*b, n, m].  Dtype: a's; float64 for integers.
    Raises: ShapeError unless `a` is a matrix; TypeError for half precision; ValueError if both limits are given;
    LinAlgError if the iteration does not converge, for which compiled programs return NaN.

    >>> import numpy as np
    >>> from calque_numpy.linalg import pinv
    >>> pinv(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    if rcond is not None and rtol is not _NOT_GIVEN:
        raise ValueError(f"pinv{where()}: rcond and rtol are the same limit. Give one of them.")
    limit = rcond if rcond is not None else _DEFAULT if rtol is _NOT_GIVEN else rtol
    (a,) = as_field("pinv", a)
    return linalg.pinv(hermitian_of(a) if hermitian else a, limit)


@implements(np.linalg.lstsq)
def lstsq(a: Value, b: Value, rcond: float | None = None) -> tuple[Value, Value, Value, Value]:
    """Return the shortest x that minimises the length of b - a @ x; the squared lengths, the rank and singular values.

    Singular values up to `rcond` times the greatest count as 0; the default is max(m, n) times the machine epsilon, as
    for -1 the epsilon alone.
    Shapes: a [m, n], b [m] or [m, k] -> x [n] or [n, k], residuals [1] or [k] if m > n, otherwise [0], rank [],
    s [min(m, n)].  NumPy leaves out the residuals of a matrix of lower rank too, which is not known of traced values.
    Dtypes: promoted, that of the real part, int32, that of the real part.
    Raises: ShapeError unless `a` is one matrix and `b` has as many rows; TypeError for half precision; LinAlgError if
    the iteration does not converge, for which compiled programs return NaN.

    >>> import numpy as np
    >>> from calque_numpy.linalg import lstsq
    >>> lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))[0]
    array([2.])
    """
    a_aval, b_aval = typeof(a), typeof(b)
    if a_aval.ndim != 2 or b_aval.ndim not in (1, 2) or a_aval.shape[0] != b_aval.shape[0]:
        raise ShapeError(
            f"lstsq of {a_aval} and {b_aval}{where()}: the shapes do not fit. Give one matrix, and a vector or a "
            "matrix with as many rows."
        )
    a, b = as_field("lstsq", a, b)
    m, n = a_aval.shape
    epsilon = float(np.finfo(typeof(a).dtype).eps)
    limit = epsilon * max(m, n) if rcond is None else epsilon if rcond < 0 else rcond
    x = lax.dot(linalg.pinv(a, limit), b)
    errors = lax.sub(b, lax.dot(a, x))
    squares = lax.reduce_sum(lax.square(lax.abs(errors)), 0)
    residuals = lax.reshape(squares, (typeof(squares).size,)) if m > n else lax.full((0,), 0, typeof(squares).dtype)
    values = svdvals(a)
    return x, residuals, as_dtype(_count_above(_relative(limit, values), values), _RANK), values


def _relative(limit: Value, values: Value) -> Value:
    """Return `limit` times the greatest of singular values."""
    axis = typeof(values).ndim - 1
    return lax.mul(lax.reduce_max(values, axis), limit) if typeof(values).shape[-1] else limit


def _count_above(limits: Value, values: Value) -> Value:
    """Return how many singular values of each matrix are above its limit."""
    shape = typeof(values).shape
    limits = lax.broadcast_in_dim(broadcast_to(limits, shape[:-1]), shape, range(len(shape) - 1))
    return lax.reduce_sum(lax.convert_element_type(lax.gt(values, limits), np.int64), len(shape) - 1)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Value, tol: Value = None, hermitian: bool = False, *, rtol: Value = None) -> Value:
    """Return the rank of a matrix: the number of singular values above a limit.

    The limit is `tol`, or `rtol` times the greatest value; the default of `rtol` is max(m, n) times the machine
    epsilon.  `hermitian` promises that `A` is Hermitian: only its lower triangle is read.
    Shapes: A [*b, m, n], tol [] or [*b] -> [*b]; of a vector, 1 unless all elements are 0.
    Raises: TypeError for half precision; ValueError if both limits are given; LinAlgError if the iteration does not
    converge.

    >>> import numpy as np
    >>> from calque_numpy.linalg import matrix_rank
    >>> matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
    np.int64(1)
    """
    if tol is not None and rtol is not None:
        raise ValueError(f"matrix_rank{where()}: tol and rtol are two limits. Give one of them.")
    aval = typeof(A)
    if aval.ndim < 2:
        return lax.convert_element_type(lax.reduce_or(lax.ne(A, 0)), np.int64)
    values = svd(A, compute_uv=False, hermitian=hermitian)
    if tol is None:
        epsilon = float(np.finfo(typeof(values).dtype).eps)
        tol = _relative(epsilon * max(aval.shape[-2:]) if rtol is None else rtol, values)
    return _count_above(tol, values)
