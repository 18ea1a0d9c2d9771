"""Linear algebra by scipy's names: what `scipy.linalg` has and `numpy.linalg` has not, or has with other parameters.

Options that concern memory, such as `overwrite_a` and `check_finite`, are left out.

Read next: `systems.py`, `spectra.py`, `schur_forms.py`, `exponential.py`, `special_matrices.py`.
"""

from __future__ import annotations

from calque_numpy.linalg import det, inv
from calque_numpy.scipy.exponential import expm
from calque_numpy.scipy.schur_forms import funm, hessenberg, rsf2csf, schur, sqrtm
from calque_numpy.scipy.special_matrices import block_diag, toeplitz
from calque_numpy.scipy.spectra import eigh, polar, svd
from calque_numpy.scipy.systems import (
    cho_factor,
    cho_solve,
    cholesky,
    lu,
    lu_factor,
    lu_solve,
    qr,
    solve,
    solve_triangular,
)

__all__ = [
    "solve", "solve_triangular", "inv", "det",
    "lu", "lu_factor", "lu_solve", "cholesky", "cho_factor", "cho_solve", "qr",
    "eigh", "svd", "polar",
    "schur", "rsf2csf", "hessenberg",
    "expm", "sqrtm", "funm",
    "toeplitz", "block_diag",
]  # fmt: skip
