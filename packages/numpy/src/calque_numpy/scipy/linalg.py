"""Linear algebra by scipy's names: functions that `numpy.linalg` lacks, or has with other parameters.

Options that concern memory, such as `overwrite_a` and `check_finite`, are left out.

Read next: `systems.py`, `spectra.py`, `schur_forms.py`, `exponential.py`, `special_matrices.py`,
`constant_matrices.py`.
"""

from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "systems of equations": {
        "calque_numpy.scipy.systems": "solve, solve_triangular",
        "calque_numpy.scipy.schur_forms": "solve_sylvester",
        "calque_numpy.linalg": "inv, det",
    },
    "factors": {
        "calque_numpy.scipy.systems": "lu, lu_factor, lu_solve, cholesky, cho_factor, cho_solve, qr, qr_multiply",
    },
    "eigenvalues and singular values": {"calque_numpy.scipy.spectra": "eigh, eigh_tridiagonal, svd, polar"},
    "Schur forms": {"calque_numpy.scipy.schur_forms": "schur, rsf2csf, hessenberg"},
    "functions of matrices": {
        "calque_numpy.scipy.exponential": "expm, expm_frechet",
        "calque_numpy.scipy.schur_forms": "sqrtm, funm",
    },
    "matrices of a special form": {
        "calque_numpy.scipy.special_matrices": (
            "toeplitz, circulant, hankel, companion, fiedler, fiedler_companion, leslie, convolution_matrix, block_diag"
        ),
        "calque_numpy.scipy.constant_matrices": "hilbert, invhilbert, pascal, invpascal, hadamard, helmert, dft",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
