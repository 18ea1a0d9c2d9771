"""The operations of linear algebra: every public function and every primitive, in one flat namespace.

It is loaded by the rules of each transformation, and not by `import calque_core`, which stays quick without it.
"""

from __future__ import annotations

from calque_core.ops.adjugates import adjugate, adjugate_p, adjugate_slope, adjugate_slope_p
from calque_core.ops.determinants import det, det_p, slogdet, slogdet_p
from calque_core.ops.eigen import eig, eig_p, eigh, eigh_p, svd, svd_p
from calque_core.ops.equations import inv, inv_p, solve, solve_p
from calque_core.ops.factor_updates import cholesky_update, cholesky_update_p
from calque_core.ops.factorizations import (
    cholesky,
    cholesky_p,
    lu,
    lu_p,
    lu_pivots_to_permutation,
    lu_pivots_to_permutation_p,
    qr,
    qr_p,
)
from calque_core.ops.matrix_functions import polar, polar_p, sqrtm, sqrtm_p
from calque_core.ops.pseudo_inverse import pinv, pinv_p
from calque_core.ops.reflections import geqrf, geqrf_p, householder_product, householder_product_p, ormqr
from calque_core.ops.similarity import hessenberg, hessenberg_p, schur, schur_p, tridiagonal, tridiagonal_p
from calque_core.ops.sylvester import sylvester_solve, sylvester_solve_p
from calque_core.ops.symmetric_product import symmetric_product
from calque_core.ops.triangular import triangular_solve, triangular_solve_p
from calque_core.ops.tridiagonal import tridiagonal_solve, tridiagonal_solve_p

# fmt: off
__all__ = [
    # systems of equations
    "solve", "triangular_solve", "tridiagonal_solve", "solve_p", "triangular_solve_p", "tridiagonal_solve_p",
    "sylvester_solve", "inv", "sylvester_solve_p", "inv_p",
    # eigenvalues and singular values
    "eigh", "eig", "svd", "eigh_p", "eig_p", "svd_p", "pinv", "pinv_p", "symmetric_product",
    # similar matrices of a simpler form
    "hessenberg", "tridiagonal", "schur", "hessenberg_p", "tridiagonal_p", "schur_p",
    # factorizations
    "cholesky", "lu", "lu_pivots_to_permutation", "qr", "cholesky_p", "lu_p", "lu_pivots_to_permutation_p", "qr_p",
    "cholesky_update", "cholesky_update_p",
    # functions of matrices
    "polar", "sqrtm", "polar_p", "sqrtm_p",
    # determinants
    "det", "slogdet", "adjugate", "adjugate_slope", "det_p", "slogdet_p", "adjugate_p", "adjugate_slope_p",
    # reflections
    "geqrf", "householder_product", "ormqr", "geqrf_p", "householder_product_p",
]
# fmt: on
