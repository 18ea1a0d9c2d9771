# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_numpy.linalg import (
    eigh as eigh, eigvalsh as eigvalsh, eig as eig, eigvals as eigvals, svd as svd, svdvals as svdvals, solve as solve,
    inv as inv, det as det, slogdet as slogdet, tensorsolve as tensorsolve, tensorinv as tensorinv,
    cholesky as cholesky, qr as qr, matrix_power as matrix_power, multi_dot as multi_dot, pinv as pinv, lstsq as lstsq,
    matrix_rank as matrix_rank, norm as norm, vector_norm as vector_norm, matrix_norm as matrix_norm, cond as cond,
    diagonal as diagonal, trace as trace, matrix_transpose as matrix_transpose, outer as outer, cross as cross,
    vecdot as vecdot, matmul as matmul, tensordot as tensordot,
)

__all__ = [
    "eigh", "eigvalsh", "eig", "eigvals", "svd", "svdvals", "solve", "inv", "det", "slogdet", "tensorsolve",
    "tensorinv", "cholesky", "qr", "matrix_power", "multi_dot", "pinv", "lstsq", "matrix_rank", "norm", "vector_norm",
    "matrix_norm", "cond", "diagonal", "trace", "matrix_transpose", "outer", "cross", "vecdot", "matmul", "tensordot",
]
