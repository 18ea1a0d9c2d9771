"""Eigenvalues, singular values and the polar form, by scipy's names."""

from __future__ import annotations

from typing import Any

from calque_core.extend import adjoint, hermitian_of, matrix_product, scale_columns, where
from calque_core.lax import linalg
from calque_numpy.equations import as_field
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
        vectors, values = linalg.eigh(a, lower=lower, symmetrize_input=False)
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
    Derivatives: those of singular vectors, which are NaN for equal singular values.
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
    u, values, vh = linalg.svd(a, full_matrices=False)
    vectors = adjoint(vh) if side == "right" else u
    return matrix_product(u, vh), matrix_product(scale_columns(vectors, values), adjoint(vectors))
