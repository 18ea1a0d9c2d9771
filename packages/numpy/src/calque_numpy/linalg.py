"""Linear algebra: NumPy's functions by their names, with its results, for stacks of matrices.

Read next: `equations.py`, `factors.py`, `spectra.py`, `least_squares.py`, `norms.py`, `condition.py`, `stacks.py`.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_core.extend import late_function as _late_function
from calque_core.extend import late_names as _late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_numpy.condition import cond
    from calque_numpy.equations import det, inv, slogdet, solve, tensorinv, tensorsolve
    from calque_numpy.factors import cholesky, matrix_power, multi_dot, qr
    from calque_numpy.least_squares import lstsq, matrix_rank, pinv
    from calque_numpy.norms import matrix_norm, norm, vector_norm
    from calque_numpy.spectra import eig, eigh, eigvals, eigvalsh, svd, svdvals
    from calque_numpy.stacks import cross, diagonal, matmul, matrix_transpose, outer, tensordot, trace, vecdot
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_numpy.condition": "cond",
    "calque_numpy.equations": "det, inv, slogdet, solve, tensorinv, tensorsolve",
    "calque_numpy.factors": "cholesky, matrix_power, multi_dot, qr",
    "calque_numpy.least_squares": "lstsq, matrix_rank, pinv",
    "calque_numpy.norms": "matrix_norm, norm, vector_norm",
    "calque_numpy.spectra": "eig, eigh, eigvals, eigvalsh, svd, svdvals",
    "calque_numpy.stacks": "cross, diagonal, matmul, matrix_transpose, outer, tensordot, trace, vecdot",
}

__all__ = [
    "eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals",
    "solve", "inv", "det", "slogdet", "tensorsolve", "tensorinv",
    "cholesky", "qr", "matrix_power", "multi_dot",
    "pinv", "lstsq", "matrix_rank",
    "norm", "vector_norm", "matrix_norm", "cond",
    "diagonal", "trace", "matrix_transpose", "outer", "cross", "vecdot", "matmul", "tensordot",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = _late_names(
        __name__, _LATE, adapt=_late_function("calque_numpy.evaluation", "evaluated_by_numpy")
    )
