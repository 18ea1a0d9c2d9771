"""Linear algebra with all its rules: factorisations, eigenvalues, systems of equations, functions of matrices.

A family of `calque_core.lax`, in a package on core alone.  A primitive with its type rule and its evaluation by NumPy
is in `ops`; its rules are in modules of the same path: those for derivatives and batches in `rules`, for Taylor series
in `series`, for compilation in `lowerings`.  They are imported when a transformation first meets the primitive.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_names as _late_names
from calque_core.extend import rules_by_family as _rules_by_family

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_linalg.ops.adjugates import adjugate, adjugate_p, adjugate_slope, adjugate_slope_p
    from calque_linalg.ops.determinants import det, det_p, slogdet, slogdet_p
    from calque_linalg.ops.eigen import eig, eig_p, eigh, eigh_p, svd, svd_p
    from calque_linalg.ops.equations import inv, inv_p, solve, solve_p
    from calque_linalg.ops.factor_updates import cholesky_update, cholesky_update_p
    from calque_linalg.ops.factorizations import (
        cholesky, cholesky_p, lu, lu_p, lu_pivots_to_permutation, lu_pivots_to_permutation_p, qr, qr_p,
    )
    from calque_linalg.ops.matrix_functions import polar, polar_p, sqrtm, sqrtm_p
    from calque_linalg.ops.pseudo_inverse import pinv, pinv_p
    from calque_linalg.ops.reflections import geqrf, geqrf_p, householder_product, householder_product_p, ormqr
    from calque_linalg.ops.similarity import hessenberg, hessenberg_p, schur, schur_p, tridiagonal, tridiagonal_p
    from calque_linalg.ops.sylvester import sylvester_solve, sylvester_solve_p
    from calque_linalg.ops.symmetric_product import symmetric_product
    from calque_linalg.ops.triangular import triangular_solve, triangular_solve_p
    from calque_linalg.ops.tridiagonal import tridiagonal_solve, tridiagonal_solve_p
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_linalg.ops.adjugates": "adjugate, adjugate_p, adjugate_slope, adjugate_slope_p",
    "calque_linalg.ops.determinants": "det, det_p, slogdet, slogdet_p",
    "calque_linalg.ops.eigen": "eig, eig_p, eigh, eigh_p, svd, svd_p",
    "calque_linalg.ops.equations": "inv, inv_p, solve, solve_p",
    "calque_linalg.ops.factor_updates": "cholesky_update, cholesky_update_p",
    "calque_linalg.ops.factorizations": (
        "cholesky, cholesky_p, lu, lu_p, lu_pivots_to_permutation, lu_pivots_to_permutation_p, qr, qr_p"
    ),
    "calque_linalg.ops.matrix_functions": "polar, polar_p, sqrtm, sqrtm_p",
    "calque_linalg.ops.pseudo_inverse": "pinv, pinv_p",
    "calque_linalg.ops.reflections": "geqrf, geqrf_p, householder_product, householder_product_p, ormqr",
    "calque_linalg.ops.similarity": "hessenberg, hessenberg_p, schur, schur_p, tridiagonal, tridiagonal_p",
    "calque_linalg.ops.sylvester": "sylvester_solve, sylvester_solve_p",
    "calque_linalg.ops.symmetric_product": "symmetric_product",
    "calque_linalg.ops.triangular": "triangular_solve, triangular_solve_p",
    "calque_linalg.ops.tridiagonal": "tridiagonal_solve, tridiagonal_solve_p",
}

_register_internal_folder(__path__[0])
_OPS = f"{__name__}.ops"
_rules_by_family(
    f"{__name__}.rules", of=_OPS, kinds=("jvp", "transpose", "partial_eval", "every_size", "batch", "axis_batch")
)
_rules_by_family(f"{__name__}.series", of=_OPS, kinds=("jet",))
_rules_by_family(f"{__name__}.lowerings", of=_OPS, kinds=("lowering",))

__version__ = "0.1.0"

__all__ = [
    # systems of equations
    "solve", "triangular_solve", "tridiagonal_solve", "solve_p", "triangular_solve_p", "tridiagonal_solve_p",
    "sylvester_solve", "inv", "sylvester_solve_p", "inv_p",
    # eigenvalues and singular values
    "eigh", "eig", "svd", "eigh_p", "eig_p", "svd_p", "pinv", "pinv_p", "symmetric_product",
    # similar matrices of a simpler form
    "hessenberg", "tridiagonal", "schur", "hessenberg_p", "tridiagonal_p", "schur_p",
    # factorisations
    "cholesky", "lu", "lu_pivots_to_permutation", "qr", "cholesky_p", "lu_p", "lu_pivots_to_permutation_p", "qr_p",
    "cholesky_update", "cholesky_update_p",
    # functions of matrices
    "polar", "sqrtm", "polar_p", "sqrtm_p",
    # determinants
    "det", "slogdet", "adjugate", "adjugate_slope", "det_p", "slogdet_p", "adjugate_p", "adjugate_slope_p",
    # reflections
    "geqrf", "householder_product", "ormqr", "geqrf_p", "householder_product_p",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
