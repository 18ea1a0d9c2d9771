"""The names that functions of matrices in another package are written with, beside the public ones of this package.

`calque_numpy` writes `numpy.linalg` and `scipy.linalg` with them.  They act on batches: the last two axes are the rows
and the columns of a matrix, all axes before them count the matrices.  They may change in any minor release.

Read next: `ops/matrices.py`, `ops/diagonals.py`.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_linalg.ops.diagonals import as_rows, diagonal_of, on_diagonal, scale_columns
    from calque_linalg.ops.factorizations import lu_solve
    from calque_linalg.ops.matrices import (
        adjoint, conjugated, hermitian_of, identity_like, lower_triangle, matrix_product, transposed, upper_triangle,
    )
    from calque_linalg.ops.matrix_functions import column_by_column, with_diagonal
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_linalg.ops.diagonals": "as_rows, diagonal_of, on_diagonal, scale_columns",
    "calque_linalg.ops.factorizations": "lu_solve",
    "calque_linalg.ops.matrices": (
        "adjoint, conjugated, hermitian_of, identity_like, lower_triangle, matrix_product, transposed, upper_triangle"
    ),
    "calque_linalg.ops.matrix_functions": "column_by_column, with_diagonal",
}

__all__ = [
    # products, transposes, triangles
    "matrix_product", "transposed", "adjoint", "conjugated", "lower_triangle", "upper_triangle", "hermitian_of",
    "identity_like",
    # diagonals, rows, columns
    "diagonal_of", "on_diagonal", "with_diagonal", "as_rows", "scale_columns",
    # equations
    "lu_solve", "column_by_column",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(__name__, _LATE)
