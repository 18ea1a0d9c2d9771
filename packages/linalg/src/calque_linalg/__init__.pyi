# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_linalg.ops.equations import solve as solve, solve_p as solve_p, inv as inv, inv_p as inv_p
from calque_linalg.ops.triangular import triangular_solve as triangular_solve, triangular_solve_p as triangular_solve_p
from calque_linalg.ops.tridiagonal import (
    tridiagonal_solve as tridiagonal_solve, tridiagonal_solve_p as tridiagonal_solve_p,
)
from calque_linalg.ops.sylvester import sylvester_solve as sylvester_solve, sylvester_solve_p as sylvester_solve_p
from calque_linalg.ops.eigen import (
    eigh as eigh, eig as eig, svd as svd, eigh_p as eigh_p, eig_p as eig_p, svd_p as svd_p,
)
from calque_linalg.ops.pseudo_inverse import pinv as pinv, pinv_p as pinv_p
from calque_linalg.ops.symmetric_product import symmetric_product as symmetric_product
from calque_linalg.ops.similarity import (
    hessenberg as hessenberg, tridiagonal as tridiagonal, schur as schur, hessenberg_p as hessenberg_p,
    tridiagonal_p as tridiagonal_p, schur_p as schur_p,
)
from calque_linalg.ops.factorizations import (
    cholesky as cholesky, lu as lu, lu_pivots_to_permutation as lu_pivots_to_permutation, qr as qr,
    cholesky_p as cholesky_p, lu_p as lu_p, lu_pivots_to_permutation_p as lu_pivots_to_permutation_p, qr_p as qr_p,
)
from calque_linalg.ops.factor_updates import cholesky_update as cholesky_update, cholesky_update_p as cholesky_update_p
from calque_linalg.ops.matrix_functions import polar as polar, sqrtm as sqrtm, polar_p as polar_p, sqrtm_p as sqrtm_p
from calque_linalg.ops.determinants import det as det, slogdet as slogdet, det_p as det_p, slogdet_p as slogdet_p
from calque_linalg.ops.adjugates import (
    adjugate as adjugate, adjugate_slope as adjugate_slope, adjugate_p as adjugate_p,
    adjugate_slope_p as adjugate_slope_p,
)
from calque_linalg.ops.reflections import (
    geqrf as geqrf, householder_product as householder_product, ormqr as ormqr, geqrf_p as geqrf_p,
    householder_product_p as householder_product_p,
)

__version__: str

__all__ = [
    "solve", "solve_p", "inv", "inv_p", "triangular_solve", "triangular_solve_p", "tridiagonal_solve",
    "tridiagonal_solve_p", "sylvester_solve", "sylvester_solve_p", "eigh", "eig", "svd", "eigh_p", "eig_p", "svd_p",
    "pinv", "pinv_p", "symmetric_product", "hessenberg", "tridiagonal", "schur", "hessenberg_p", "tridiagonal_p",
    "schur_p", "cholesky", "lu", "lu_pivots_to_permutation", "qr", "cholesky_p", "lu_p", "lu_pivots_to_permutation_p",
    "qr_p", "cholesky_update", "cholesky_update_p", "polar", "sqrtm", "polar_p", "sqrtm_p", "det", "slogdet", "det_p",
    "slogdet_p", "adjugate", "adjugate_slope", "adjugate_p", "adjugate_slope_p", "geqrf", "householder_product",
    "ormqr", "geqrf_p", "householder_product_p",
]
