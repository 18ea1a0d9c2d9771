"""Eigenvalues and singular values, as in `numpy.linalg`.

Read next: `least_squares.py`, `norms.py`, which use them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import calque_linalg as linalg
from calque_core import implements, lax, typeof
from calque_core.extend import where
from calque_linalg.kit import adjoint, as_rows, scale_columns

Value = Any

# NumPy's own classes of results, for which it has no public names.
EigResult: Any = type(np.linalg.eig(np.ones((1, 1))))
EighResult: Any = type(np.linalg.eigh(np.ones((1, 1))))
SVDResult: Any = type(np.linalg.svd(np.ones((1, 1))))


# Symmetric and Hermitian matrices


@implements(np.linalg.eigh)
def eigh(a: Value, UPLO: str | None = "L", symmetrize_input: bool = False) -> Any:
    """Return the eigenvalues and eigenvectors of a symmetric or Hermitian matrix, of which one triangle is read.

    The triangle is the lower one for "L" or None, the upper one for "U", so a gradient is a triangle, too.  The values
    ascend; column i of the vectors belongs to value i.  With `symmetrize_input`, (a + a^H) / 2 is decomposed.
    Shapes: a [*b, n, n] -> eigenvalues [*b, n], eigenvectors [*b, n, n].  Dtypes: of a's real part, and a's; float64
    for integers.
    Derivatives: those of vectors keep their phases, and are NaN for equal values.
    Raises: ShapeError unless `a` is square; TypeError for half precision; ValueError for another `UPLO`; LinAlgError if
    the iteration does not converge, for which compiled programs return NaN.

    >>> import numpy as np
    >>> from calque_numpy.linalg import eigh
    >>> eigh(np.array([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    array([1., 3.])
    """
    vectors, values = linalg.eigh(a, lower=_is_lower("eigh", UPLO), symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


def _is_lower(name: str, triangle: Any) -> bool:
    triangle = "L" if triangle is None else triangle
    if not isinstance(triangle, str) or triangle.upper() not in ("L", "U"):
        raise ValueError(
            f"{name}{where()}: UPLO is {triangle!r}. Use 'L' for the lower triangle or 'U' for the upper one."
        )
    return triangle.upper() == "L"


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Value, UPLO: str | None = "L", *, symmetrize_input: bool = False) -> Value:
    """Return the eigenvalues of a symmetric or Hermitian matrix, in ascending order; the options are those of `eigh`.

    Shapes: a [*b, n, n] -> [*b, n].  Dtype: of a's real part; float64 for integers.
    The derivative is finite for equal values, too, where it holds for symmetric functions of them.
    Raises: as `eigh`.

    >>> import numpy as np
    >>> from calque_numpy.linalg import eigvalsh
    >>> eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([1., 3.])
    """
    return linalg.eigh(a, lower=_is_lower("eigvalsh", UPLO), symmetrize_input=symmetrize_input)[1]


# General square matrices


@implements(np.linalg.eig)
def eig(a: Value) -> Any:
    """Return the eigenvalues and right eigenvectors of a square matrix, in no order.

    Column i of the vectors belongs to value i; it has length 1 and a real largest component.
    Shapes: a [*b, n, n] -> eigenvalues [*b, n], eigenvectors [*b, n, n].  Dtypes: complex, where NumPy's are real if
    all values are, which is not known of traced ones.
    Derivatives: those of vectors keep their lengths and real components, and are NaN for equal values.
    Raises: ShapeError unless `a` is square; TypeError for half precision; LinAlgError if the iteration does not
    converge, for which compiled programs return NaN.

    >>> import numpy as np
    >>> from calque_numpy.linalg import eig
    >>> eig(np.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    array([0.+1.j, 0.-1.j])
    """
    return EigResult(*linalg.eig(a, compute_left_eigenvectors=False))


@implements(np.linalg.eigvals)
def eigvals(a: Value) -> Value:
    """Return the eigenvalues of a square matrix, in no order.

    Shapes: a [*b, n, n] -> [*b, n].  Dtype: complex, as for `eig`.
    The derivative is finite for equal values with different vectors, where it holds for symmetric functions of them.
    Raises: as `eig`.

    >>> import numpy as np
    >>> from calque_numpy.linalg import eigvals
    >>> eigvals(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    array([0.+1.j, 0.-1.j])
    """
    return linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


# Singular values


@implements(np.linalg.svd)
def svd(a: Value, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return the singular value decomposition U, S, Vh of a matrix, a = U @ diag(S) @ Vh; or `S` alone.

    `hermitian` promises that `a` is Hermitian: only its lower triangle is read.
    Shapes: a [*b, m, n] -> U [*b, m, m] or [*b, m, k], S [*b, k], Vh [*b, n, n] or [*b, k, n], k = min(m, n).
    Dtypes: a's, and that of its real part for S; float64 for integers.
    Derivatives: those of vectors keep their phases, and are NaN for equal values, and for the value 0 unless `a` is
    square.  Full matrices have derivatives only if `a` is square.
    Raises: ShapeError unless `a` is a matrix; TypeError for half precision; LinAlgError if the iteration does not
    converge, for which compiled programs return NaN.

    >>> import numpy as np
    >>> from calque_numpy.linalg import svd
    >>> svd(np.array([[3.0, 0.0], [0.0, -2.0]])).S
    array([3., 2.])
    """
    if not hermitian:
        out = linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
        return SVDResult(*out) if compute_uv else out
    vectors, values = linalg.eigh(a, symmetrize_input=False)
    if not compute_uv:
        return _descending(lax.abs(values))
    n = typeof(values).shape[-1]
    keys = lax.neg(lax.abs(values))
    _, values = lax.sort((keys, values), num_keys=1)
    _, u = lax.sort((as_rows(keys, n), vectors), num_keys=1)
    return SVDResult(u, lax.abs(values), adjoint(scale_columns(u, lax.sign(values))))


def _descending(x: Value) -> Value:
    return lax.neg(lax.sort(lax.neg(x)))


@implements(np.linalg.svdvals)
def svdvals(x: Value, /) -> Value:
    """Return the singular values of a matrix, in descending order.

    Shapes: x [*b, m, n] -> [*b, min(m, n)].  Dtype: of x's real part; float64 for integers.
    The derivative at the value 0 is one of its subgradients.
    Raises: as `svd`.

    >>> import numpy as np
    >>> from calque_numpy.linalg import svdvals
    >>> svdvals(np.array([[3.0, 0.0], [0.0, -2.0]]))
    array([3., 2.])
    """
    return linalg.svd(x, compute_uv=False)
