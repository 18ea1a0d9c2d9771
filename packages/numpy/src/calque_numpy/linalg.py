"""Linear algebra: NumPy's functions by their names, with its results, for stacks of matrices.

Read next: `equations.py`, `factors.py`, `spectra.py`, `least_squares.py`, `norms.py`, `stacks.py`.
"""

from __future__ import annotations

import numpy as np

from calque_numpy.equations import det, inv, slogdet, solve, tensorinv, tensorsolve
from calque_numpy.evaluation import evaluated_by_numpy
from calque_numpy.factors import cholesky, matrix_power, multi_dot, qr
from calque_numpy.least_squares import lstsq, matrix_rank, pinv
from calque_numpy.norms import cond, matrix_norm, norm, vector_norm
from calque_numpy.spectra import eig, eigh, eigvals, eigvalsh, svd, svdvals
from calque_numpy.stacks import cross, diagonal, matmul, matrix_transpose, outer, tensordot, trace, vecdot

__all__ = [
    "eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals",
    "solve", "inv", "det", "slogdet", "tensorsolve", "tensorinv",
    "cholesky", "qr", "matrix_power", "multi_dot",
    "pinv", "lstsq", "matrix_rank",
    "norm", "vector_norm", "matrix_norm", "cond",
    "diagonal", "trace", "matrix_transpose", "outer", "cross", "vecdot", "matmul", "tensordot",
]  # fmt: skip

globals().update(evaluated_by_numpy(np.linalg, globals()))
