"""Linear algebra by scipy's names: what `scipy.linalg` has and `numpy.linalg` has not, or has with other parameters.

Options that concern memory, such as `overwrite_a` and `check_finite`, are left out.

Read next: `systems.py`, `spectra.py`, `schur_forms.py`, `exponential.py`, `special_matrices.py`,
`constant_matrices.py`.
"""

from __future__ import annotations

from calque_numpy.linalg import det, inv
from calque_numpy.scipy.constant_matrices import dft, hadamard, helmert, hilbert, invhilbert, invpascal, pascal
from calque_numpy.scipy.exponential import expm, expm_frechet
from calque_numpy.scipy.schur_forms import funm, hessenberg, rsf2csf, schur, solve_sylvester, sqrtm
from calque_numpy.scipy.special_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    fiedler,
    fiedler_companion,
    hankel,
    leslie,
    toeplitz,
)
from calque_numpy.scipy.spectra import eigh, eigh_tridiagonal, polar, svd
from calque_numpy.scipy.systems import (
    cho_factor,
    cho_solve,
    cholesky,
    lu,
    lu_factor,
    lu_solve,
    qr,
    qr_multiply,
    solve,
    solve_triangular,
)

__all__ = [
    "solve", "solve_triangular", "solve_sylvester", "inv", "det",
    "lu", "lu_factor", "lu_solve", "cholesky", "cho_factor", "cho_solve", "qr", "qr_multiply",
    "eigh", "eigh_tridiagonal", "svd", "polar",
    "schur", "rsf2csf", "hessenberg",
    "expm", "expm_frechet", "sqrtm", "funm",
    "toeplitz", "circulant", "hankel", "companion", "fiedler", "fiedler_companion", "leslie", "convolution_matrix",
    "block_diag",
    "hilbert", "invhilbert", "pascal", "invpascal", "hadamard", "helmert", "dft",
]  # fmt: skip
