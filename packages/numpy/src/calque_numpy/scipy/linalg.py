"""Linear algebra by scipy's names: functions that `numpy.linalg` lacks, or has with other parameters.

Options that concern memory, such as `overwrite_a` and `check_finite`, are left out.

Read next: `systems.py`, `spectra.py`, `schur_forms.py`, `exponential.py`, `special_matrices.py`,
`constant_matrices.py`.
"""

from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "": {
        "calque_numpy.scipy.systems": (
            "solve, solve_triangular, lu, lu_factor, lu_solve, cholesky, cho_factor, cho_solve, qr, qr_multiply"
        ),
        "calque_numpy.scipy.schur_forms": "solve_sylvester, schur, rsf2csf, hessenberg, sqrtm, funm",
        "calque_numpy.linalg": "inv, det",
        "calque_numpy.scipy.spectra": "eigh, eigh_tridiagonal, svd, polar",
        "calque_numpy.scipy.exponential": "expm, expm_frechet",
        "calque_numpy.scipy.special_matrices": (
            "toeplitz, circulant, hankel, companion, fiedler, fiedler_companion, leslie, convolution_matrix, block_diag"
        ),
        "calque_numpy.scipy.constant_matrices": "hilbert, invhilbert, pascal, invpascal, hadamard, helmert, dft",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
