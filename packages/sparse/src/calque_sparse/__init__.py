"""Sparse derivatives: patterns, colourings, compressed Jacobians and Hessians."""

from calque_core import register_internal_folder as _register_internal_folder
from calque_core.extend import late_chapters as _late_chapters

_register_internal_folder(__path__[0])

__version__ = "0.1.0"

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "patterns": {
        "calque_sparse.patterns": "jacobian_sparsity, hessian_sparsity",
        "calque_sparse.matrix": "SparsityPattern, SparseArray",
    },
    "derivatives": {
        "calque_sparse.derivatives": (
            "jacfwd, jacrev, hessian, hvp, prepare_jacobian, prepare_hessian, PreparedDerivative"
        ),
    },
    "colourings": {
        "calque_sparse.coloring": (
            "column_coloring, row_coloring, bicoloring, star_coloring, acyclic_coloring, Coloring"
        ),
    },
    "for authors of rules": {"calque_sparse.sets": "Sets", "calque_sparse.detection": "Operand, Products, no_pairs"},
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
