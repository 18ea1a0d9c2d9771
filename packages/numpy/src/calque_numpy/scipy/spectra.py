"""Eigenvalues, singular values and the polar form, by scipy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

import calque_linalg as linalg
from calque_core import ShapeError, lax, typeof
from calque_core.extend import integer, where
from calque_linalg.kit import adjoint, hermitian_of, matrix_product
from calque_numpy.equations import as_field
from calque_numpy.scipy.special_matrices import looked_up
from calque_numpy.spectra import svd as numpy_svd

Value = Any


def svd(a: Value, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Return the singular value decomposition U, s, Vh of a matrix, a = U @ diag(s) @ Vh; or `s` alone.

    Shapes, dtypes, derivatives and errors: as `calque_numpy.linalg.svd`, without its `hermitian`.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import svd
    >>> svd(np.array([[3.0, 0.0], [0.0, -2.0]]), compute_uv=False)
    array([3., 2.])
    """
    (a,) = as_field("svd", a)
    out = numpy_svd(a, full_matrices, compute_uv)
    return tuple(out) if compute_uv else out


def eigh(a: Value, b: Value = None, lower: bool = True, eigvals_only: bool = False, *, type: int = 1) -> Any:
    """Return the eigenvalues and eigenvectors of a symmetric or Hermitian matrix, a @ v = w b @ v for a definite `b`.

    One triangle of each matrix is read, the lower one by default.  `type=2` is a @ b @ v = w v, and `type=3` is
    b @ a @ v = w v.
    The values ascend; v^H @ b @ v is the identity (v^H @ b^-1 @ v for type 3).
    Shapes: a, b [*b, n, n] -> w [*b, n], v [*b, n, n].  Dtypes: of a's real part, and promoted.
    Derivatives: those of vectors are NaN for equal values.
    Raises: ShapeError unless the matrices are square, of one shape; TypeError for half precision; ValueError for
    another `type`; LinAlgError if `b` is not positive definite, for which compiled programs return NaN.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import eigh
    >>> eigh(np.diag([2.0, 6.0]), np.diag([1.0, 2.0]), eigvals_only=True)
    array([2., 3.])
    """
    if type not in (1, 2, 3):
        raise ValueError(f"eigh{where()}: type is {type!r}. Use 1, 2 or 3.")
    if b is None:
        vectors, values = linalg.eigh(*as_field("eigh", a), lower=lower, symmetrize_input=False)
        return values if eigvals_only else (values, vectors)
    whole, other = (hermitian_of(x if lower else adjoint(x)) for x in as_field("eigh", a, b))
    factor = linalg.cholesky(other, symmetrize_input=False)
    reduced = _by_inverse(factor, whole) if type == 1 else _by_factor(factor, whole)
    vectors, values = linalg.eigh(reduced)
    if eigvals_only:
        return values
    if type == 3:
        return values, matrix_product(factor, vectors)
    return values, _solve(factor, vectors, is_adjoint=True)


def _solve(factor: Value, x: Value, is_adjoint: bool = False) -> Value:
    """Return L^-1 x, or L^-H x."""
    return linalg.triangular_solve(
        factor, x, left_side=True, lower=True, transpose_a=is_adjoint, conjugate_a=is_adjoint
    )


def _by_inverse(factor: Value, x: Value) -> Value:
    """Return L^-1 x L^-H, for a Hermitian x."""
    return _solve(factor, adjoint(_solve(factor, x)))


def _by_factor(factor: Value, x: Value) -> Value:
    """Return L^H x L."""
    return matrix_product(matrix_product(adjoint(factor), x), factor)


def polar(a: Value, side: str = "right") -> tuple[Value, Value]:
    """Return the polar form u, p of a matrix: a = u @ p, or a = p @ u for `side` "left".

    `p` is Hermitian without negative eigenvalues; the columns of `u`, or its rows if they are fewer, are orthonormal.
    Shapes: a [*b, m, n] -> u [*b, m, n], p [*b, n, n] or [*b, m, m].  Dtype: a's; float64 for integers.
    Derivatives: of every order for matrices of the rank min(m, n), equal singular values included; of lower rank they
    are NaN, where `u` is not unique.
    Raises: ShapeError unless `a` is a matrix; TypeError for half precision; ValueError for another `side`; LinAlgError
    if the iteration does not converge, for which compiled programs return NaN.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import polar
    >>> polar(np.array([[0.0, 3.0], [2.0, 0.0]]))
    (array([[0., 1.],
           [1., 0.]]), array([[2., 0.],
           [0., 3.]]))
    """
    if side not in ("left", "right"):
        raise ValueError(f"polar{where()}: side is {side!r}. Use 'left' or 'right'.")
    (a,) = as_field("polar", a)
    aval = typeof(a)
    if aval.ndim < 2:
        raise ShapeError(f"polar of {aval}{where()}: the operand must have at least two axes. Give a matrix.")
    m, n = aval.shape[-2:]
    u, p = linalg.polar(a if m >= n else adjoint(a))
    if m < n:  # a^H = u p, so a = p u^H
        u = adjoint(u)
        return u, p if side == "left" else matrix_product(matrix_product(adjoint(u), p), u)
    return u, p if side == "right" else matrix_product(matrix_product(u, p), adjoint(u))


def eigh_tridiagonal(
    d: Value, e: Value, eigvals_only: bool = False, select: str = "a", select_range: tuple[float, float] | None = None
) -> Any:
    """Return the eigenvalues and eigenvectors of a real symmetric matrix of three diagonals: `d`, and `e` beside it.

    The values ascend.  `select_range` is a pair: for `select="i"`, the first and the last position of the values to
    return; for "v", the limits of values, of which the upper one is included, and which must be known.
    Shapes: d [*b, n], e [*b, n - 1] -> values [*b, k], vectors [*b, n, k].  Dtype: promoted; float64 for integers.
    Derivatives: as `eigh`.
    Raises: ShapeError if the sizes do not fit; TypeError for complex numbers and half precision; ValueError for another
    `select` or a range that does not fit; LinAlgError as `eigh`.

    >>> import numpy as np
    >>> from calque_numpy.scipy.linalg import eigh_tridiagonal
    >>> eigh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0]), eigvals_only=True)
    array([1., 3.])
    """
    d, e = as_field("eigh_tridiagonal", d, e)
    d_aval, e_aval = typeof(d), typeof(e)
    if d_aval.kind == "c":
        raise TypeError(f"eigh_tridiagonal of {d_aval}{where()}: the diagonals are complex. Use eigh.")
    if not d_aval.shape or e_aval.shape != (*d_aval.shape[:-1], max(d_aval.shape[-1] - 1, 0)):
        raise ShapeError(
            f"eigh_tridiagonal of {d_aval} and {e_aval}{where()}: the shapes do not fit. The second must have one "
            "element fewer along the last axis."
        )
    n = d_aval.shape[-1]
    table = np.where(np.eye(n), np.arange(n), np.where(np.eye(n, k=-1), n + np.arange(n), -2))
    vectors, values = linalg.eigh(looked_up([d, e], table), symmetrize_input=False)
    start, stop = _selected(values, select, select_range)
    values, vectors = values[..., start:stop], vectors[..., start:stop]
    return values if eigvals_only else (values, vectors)


def _selected(values: Value, select: Any, limits: Any) -> tuple[int, int]:
    """Return the first position of the selected values, and the one after the last."""
    count = typeof(values).shape[-1]
    if select in ("a", "all"):
        return 0, count
    if select not in ("i", "v", "index", "value"):
        raise ValueError(f"eigh_tridiagonal{where()}: select is {select!r}. Use 'a', 'i' or 'v'.")
    if limits is None or len(limits) != 2 or limits[0] > limits[1]:
        raise ValueError(
            f"eigh_tridiagonal{where()}: select_range is {limits!r}. Give the least and the greatest of the range."
        )
    low, high = limits
    if select[0] == "v":
        if typeof(values).ndim > 1:
            raise ValueError(
                f"eigh_tridiagonal{where()}: the matrices of a batch may have different numbers of values in a range. "
                "Use select='i'."
            )
        below, upto = (int(lax.reduce_sum(lax.convert_element_type(lax.le(values, x), np.int32))) for x in limits)
        return below, upto
    if not 0 <= low <= high < count:
        raise ValueError(
            f"eigh_tridiagonal{where()}: select_range is {limits!r}. Give two positions from 0 to {count - 1}."
        )
    return integer("eigh_tridiagonal", "select_range", low), integer("eigh_tridiagonal", "select_range", high) + 1
