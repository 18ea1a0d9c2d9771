# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_linalg.ops.matrices import (
    matrix_product as matrix_product, transposed as transposed, adjoint as adjoint, conjugated as conjugated,
    lower_triangle as lower_triangle, upper_triangle as upper_triangle, hermitian_of as hermitian_of,
    identity_like as identity_like,
)
from calque_linalg.ops.diagonals import (
    diagonal_of as diagonal_of, on_diagonal as on_diagonal, as_rows as as_rows, scale_columns as scale_columns,
)
from calque_linalg.ops.matrix_functions import with_diagonal as with_diagonal, column_by_column as column_by_column
from calque_linalg.ops.factorizations import lu_solve as lu_solve

__all__ = [
    "matrix_product", "transposed", "adjoint", "conjugated", "lower_triangle", "upper_triangle", "hermitian_of",
    "identity_like", "diagonal_of", "on_diagonal", "as_rows", "scale_columns", "with_diagonal", "lu_solve",
    "column_by_column",
]
