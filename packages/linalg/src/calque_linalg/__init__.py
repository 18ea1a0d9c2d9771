"""Linear algebra with all its rules: factorisations, eigenvalues, systems of equations, functions of matrices.

A family of `calque_core.lax`, in a package on core alone.  A primitive with its type rule and its evaluation by NumPy
is in `ops`; its rules are in modules of the same path: those for derivatives and batches in `rules`, for Taylor series
in `series`, for compilation in `lowerings`.  They are imported when a transformation first meets the primitive.
"""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters
from calque_core.extend import rules_by_family as _rules_by_family

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "systems of equations": {
        "calque_linalg.ops.equations": "solve, solve_p, inv, inv_p",
        "calque_linalg.ops.triangular": "triangular_solve, triangular_solve_p",
        "calque_linalg.ops.tridiagonal": "tridiagonal_solve, tridiagonal_solve_p",
        "calque_linalg.ops.sylvester": "sylvester_solve, sylvester_solve_p",
    },
    "eigenvalues and singular values": {
        "calque_linalg.ops.eigen": "eigh, eig, svd, eigh_p, eig_p, svd_p",
        "calque_linalg.ops.pseudo_inverse": "pinv, pinv_p",
        "calque_linalg.ops.symmetric_product": "symmetric_product",
    },
    "similar matrices of a simpler form": {
        "calque_linalg.ops.similarity": "hessenberg, tridiagonal, schur, hessenberg_p, tridiagonal_p, schur_p",
    },
    "factorisations": {
        "calque_linalg.ops.factorizations": (
            "cholesky, lu, lu_pivots_to_permutation, qr, cholesky_p, lu_p, lu_pivots_to_permutation_p, qr_p"
        ),
        "calque_linalg.ops.factor_updates": "cholesky_update, cholesky_update_p",
    },
    "functions of matrices": {"calque_linalg.ops.matrix_functions": "polar, sqrtm, polar_p, sqrtm_p"},
    "determinants": {
        "calque_linalg.ops.determinants": "det, slogdet, det_p, slogdet_p",
        "calque_linalg.ops.adjugates": "adjugate, adjugate_slope, adjugate_p, adjugate_slope_p",
    },
    "reflections": {
        "calque_linalg.ops.reflections": "geqrf, householder_product, ormqr, geqrf_p, householder_product_p",
    },
}

_register_internal_folder(__path__[0])
_OPS = f"{__name__}.ops"
_rules_by_family(
    f"{__name__}.rules", of=_OPS, kinds=("jvp", "transpose", "partial_eval", "every_size", "batch", "axis_batch")
)
_rules_by_family(f"{__name__}.series", of=_OPS, kinds=("jet",), reader="calque_jet")
_rules_by_family(f"{__name__}.lowerings", of=_OPS, kinds=("lowering",), reader="calque_xla_backend")

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
