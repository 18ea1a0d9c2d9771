"""Names of `jax.numpy.linalg` and `jax.scipy.linalg` that differ from calque's.

One idea: where NumPy reads one triangle of a symmetric matrix, jax takes the mean of the two, so that gradients are
symmetric; and a pseudo-inverse drops singular values by the rounding of the matrix's own dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

import calque.numpy.linalg as clinalg
import calque.scipy.linalg as cscipy
from calque_as_jax.values import on_device, with_arrays
from calque_core import typeof
from calque_numpy import asarray, finfo, result_type

__all__ = ["LinAlgError", "cholesky", "eigh", "eigvalsh", "pinv"]

_cholesky = with_arrays(on_device(clinalg.cholesky))
_eigh = with_arrays(on_device(clinalg.eigh))
_eigvalsh = with_arrays(on_device(clinalg.eigvalsh))
_pinv = with_arrays(on_device(clinalg.pinv))
_scipy_eigh = with_arrays(on_device(cscipy.eigh))


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """Return the lower triangle L for which L @ L^H is (a + a^H) / 2; with `upper`, L^H.

    >>> cholesky(np.array([[4.0, 0.0], [4.0, 5.0]], np.float32))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    return _cholesky(a, upper=upper, symmetrize_input=symmetrize_input)


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> Any:
    """Return the eigenvalues and the eigenvectors of (a + a^H) / 2."""
    return _eigh(a, UPLO, symmetrize_input)


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """Return the eigenvalues of (a + a^H) / 2."""
    return _eigvalsh(a, UPLO, symmetrize_input=symmetrize_input)


def scipy_eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False, *args: Any, **options: Any
) -> Any:
    """Return the eigenvalues and the eigenvectors of (a + a^H) / 2, or of a pair of matrices."""
    if b is None:
        a = asarray(a)
        a = (a + a.mT.conj()) / 2
    return _scipy_eigh(a, b, lower, eigvals_only, *args, **options)


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """Return the pseudo-inverse of a matrix; `rtol` is ten times the rounding of its size by default.

    >>> pinv(np.array([[1.0, 2.0], [1.0, 2.0]], np.float32))
    Array([[0.1, 0.1], [0.2, 0.2]], dtype=float32)
    """
    limit = rcond if rtol is None else rtol
    if limit is None:
        aval = typeof(a)
        limit = 10 * max(aval.shape[-2:]) * float(finfo(result_type(aval.dtype, np.float16)).eps)
    return _pinv(a, hermitian=hermitian, rtol=limit)
