"""Names of `jax.numpy.linalg` that differ from calque's: a matrix is made symmetric before it is decomposed."""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

import calque.numpy.linalg as clinalg
from calque_as_jax.values import on_devices, with_arrays

__all__ = ["LinAlgError", "cholesky", "eigh", "eigvalsh"]

_cholesky = with_arrays(on_devices(clinalg.cholesky))
_eigh = with_arrays(on_devices(clinalg.eigh))
_eigvalsh = with_arrays(on_devices(clinalg.eigvalsh))


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """Return the triangular factor of (a + a^H) / 2, or of the matrix of which `a` has one triangle.

    >>> import numpy as np
    >>> cholesky(np.array([[4.0, 0.0], [4.0, 5.0]], np.float32))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    return _cholesky(a, upper=upper, symmetrize_input=symmetrize_input)


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> Any:
    """Return the eigenvalues and the eigenvectors of (a + a^H) / 2, or of the matrix of which `a` has one triangle.

    >>> eigh([[1.0, 2.0], [0.0, 1.0]]).eigenvalues
    Array([0., 2.], dtype=float32)
    """
    return _eigh(a, UPLO, symmetrize_input)


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """Return the eigenvalues of (a + a^H) / 2, or of the matrix of which `a` has one triangle."""
    return _eigvalsh(a, UPLO, symmetrize_input=symmetrize_input)
