"""Linear algebra by scipy's names: functions that `numpy.linalg` lacks, or has with other parameters.

Options that concern memory, such as `overwrite_a` and `check_finite`, are left out.

Read next: `systems.py`, `spectra.py`, `schur_forms.py`, `exponential.py`, `special_matrices.py`,
`constant_matrices.py`.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_numpy.linalg import det, inv
    from calque_numpy.scipy.constant_matrices import dft, hadamard, helmert, hilbert, invhilbert, invpascal, pascal
    from calque_numpy.scipy.exponential import expm, expm_frechet
    from calque_numpy.scipy.schur_forms import funm, hessenberg, rsf2csf, schur, solve_sylvester, sqrtm
    from calque_numpy.scipy.special_matrices import (
        block_diag, circulant, companion, convolution_matrix, fiedler, fiedler_companion, hankel, leslie, toeplitz,
    )
    from calque_numpy.scipy.spectra import eigh, eigh_tridiagonal, polar, svd
    from calque_numpy.scipy.systems import (
        cho_factor, cho_solve, cholesky, lu, lu_factor, lu_solve, qr, qr_multiply, solve, solve_triangular,
    )
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_numpy.linalg": "det, inv",
    "calque_numpy.scipy.constant_matrices": "dft, hadamard, helmert, hilbert, invhilbert, invpascal, pascal",
    "calque_numpy.scipy.exponential": "expm, expm_frechet",
    "calque_numpy.scipy.schur_forms": "funm, hessenberg, rsf2csf, schur, solve_sylvester, sqrtm",
    "calque_numpy.scipy.special_matrices": (
        "block_diag, circulant, companion, convolution_matrix, fiedler, fiedler_companion, hankel, leslie, toeplitz"
    ),
    "calque_numpy.scipy.spectra": "eigh, eigh_tridiagonal, polar, svd",
    "calque_numpy.scipy.systems": (
        "cho_factor, cho_solve, cholesky, lu, lu_factor, lu_solve, qr, qr_multiply, solve, solve_triangular"
    ),
}

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

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
