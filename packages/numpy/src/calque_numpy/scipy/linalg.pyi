# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.scipy.systems import (
    solve as solve, solve_triangular as solve_triangular, lu as lu, lu_factor as lu_factor, lu_solve as lu_solve,
    cholesky as cholesky, cho_factor as cho_factor, cho_solve as cho_solve, qr as qr, qr_multiply as qr_multiply,
)
from calque_numpy.scipy.schur_forms import (
    solve_sylvester as solve_sylvester, schur as schur, rsf2csf as rsf2csf, hessenberg as hessenberg, sqrtm as sqrtm,
    funm as funm,
)
from calque_numpy.linalg import inv as inv, det as det
from calque_numpy.scipy.spectra import eigh as eigh, eigh_tridiagonal as eigh_tridiagonal, svd as svd, polar as polar
from calque_numpy.scipy.exponential import expm as expm, expm_frechet as expm_frechet
from calque_numpy.scipy.special_matrices import (
    toeplitz as toeplitz, circulant as circulant, hankel as hankel, companion as companion, fiedler as fiedler,
    fiedler_companion as fiedler_companion, leslie as leslie, convolution_matrix as convolution_matrix,
    block_diag as block_diag,
)
from calque_numpy.scipy.constant_matrices import (
    hilbert as hilbert, invhilbert as invhilbert, pascal as pascal, invpascal as invpascal, hadamard as hadamard,
    helmert as helmert, dft as dft,
)

__all__ = [
    "solve", "solve_triangular", "solve_sylvester", "inv", "det", "lu", "lu_factor", "lu_solve", "cholesky",
    "cho_factor", "cho_solve", "qr", "qr_multiply", "eigh", "eigh_tridiagonal", "svd", "polar", "schur", "rsf2csf",
    "hessenberg", "expm", "expm_frechet", "sqrtm", "funm", "toeplitz", "circulant", "hankel", "companion", "fiedler",
    "fiedler_companion", "leslie", "convolution_matrix", "block_diag", "hilbert", "invhilbert", "pascal", "invpascal",
    "hadamard", "helmert", "dft",
]
