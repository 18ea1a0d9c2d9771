# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_sparse.patterns import jacobian_sparsity as jacobian_sparsity, hessian_sparsity as hessian_sparsity
from calque_sparse.matrix import SparsityPattern as SparsityPattern, SparseArray as SparseArray
from calque_sparse.derivatives import (
    jacfwd as jacfwd, jacrev as jacrev, hessian as hessian, hvp as hvp, prepare_jacobian as prepare_jacobian,
    prepare_hessian as prepare_hessian, PreparedDerivative as PreparedDerivative,
)
from calque_sparse.coloring import (
    column_coloring as column_coloring, row_coloring as row_coloring, bicoloring as bicoloring,
    star_coloring as star_coloring, acyclic_coloring as acyclic_coloring, Coloring as Coloring,
)
from calque_sparse.sets import Sets as Sets
from calque_sparse.detection import Operand as Operand, Products as Products, no_pairs as no_pairs

__version__: str

__all__ = [
    "jacobian_sparsity", "hessian_sparsity", "SparsityPattern", "SparseArray", "jacfwd", "jacrev", "hessian", "hvp",
    "prepare_jacobian", "prepare_hessian", "PreparedDerivative", "column_coloring", "row_coloring", "bicoloring",
    "star_coloring", "acyclic_coloring", "Coloring", "Sets", "Operand", "Products", "no_pairs",
]
