"""The names that functions of matrices in another package are written with, beside the public ones of this package.

`calque_numpy` writes `numpy.linalg` and `scipy.linalg` with them.  They act on batches: the last two axes are the rows
and the columns of a matrix, all axes before them count the matrices.  They may change in any
release, as `calque_core.engine` may.

Read next: `ops/matrices.py`, `ops/diagonals.py`.
"""

from calque_core.extend import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "products, transposes, triangles": {
        "calque_linalg.ops.matrices": (
            "matrix_product, transposed, adjoint, conjugated, lower_triangle, upper_triangle, hermitian_of, "
            "identity_like"
        ),
    },
    "diagonals, rows, columns": {
        "calque_linalg.ops.diagonals": "diagonal_of, on_diagonal, as_rows, scale_columns",
        "calque_linalg.ops.matrix_functions": "with_diagonal",
    },
    "equations": {
        "calque_linalg.ops.factorizations": "lu_solve",
        "calque_linalg.ops.matrix_functions": "column_by_column",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
