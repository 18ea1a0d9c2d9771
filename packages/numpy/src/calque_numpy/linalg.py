"""Linear algebra: NumPy's functions by their names, with its results, for stacks of matrices.

Read next: `equations.py`, `factors.py`, `spectra.py`, `least_squares.py`, `norms.py`, `condition.py`, `stacks.py`.
"""

from calque_core.extend import late_chapters as _late_chapters
from calque_core.extend import late_function as _late_function

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "eigenvalues and singular values": {"calque_numpy.spectra": "eigh, eigvalsh, eig, eigvals, svd, svdvals"},
    "systems of equations, determinants": {
        "calque_numpy.equations": "solve, inv, det, slogdet, tensorsolve, tensorinv",
    },
    "factors and powers": {"calque_numpy.factors": "cholesky, qr, matrix_power, multi_dot"},
    "least squares": {"calque_numpy.least_squares": "pinv, lstsq, matrix_rank"},
    "norms": {
        "calque_numpy.norms": "norm, vector_norm, matrix_norm",
        "calque_numpy.condition": "cond",
    },
    "functions of NumPy for stacks of matrices": {
        "calque_numpy.stacks": "diagonal, trace, matrix_transpose, outer, cross, vecdot, matmul, tensordot",
    },
}

__getattr__, __dir__, __all__ = _late_chapters(
    __name__, _CHAPTERS, adapt=_late_function("calque_numpy.evaluation", "evaluated_by_numpy")
)
