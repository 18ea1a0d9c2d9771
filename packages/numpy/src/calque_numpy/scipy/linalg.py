"""Linear algebra by scipy's names: what `scipy.linalg` has and `numpy.linalg` has not, or has with other parameters.

Options that concern memory, such as `overwrite_a` and `check_finite`, are left out.

Read next: `systems.py`, `exponential.py`.
"""

from __future__ import annotations

from calque_numpy.linalg import det, inv
from calque_numpy.scipy.exponential import expm
from calque_numpy.scipy.systems import (
    cho_factor,
    cho_solve,
    cholesky,
    lu,
    lu_factor,
    lu_solve,
    qr,
    solve,
    solve_triangular,
)

__all__ = [
    "solve", "solve_triangular", "inv", "det",
    "lu", "lu_factor", "lu_solve", "cholesky", "cho_factor", "cho_solve", "qr",
    "expm",
]  # fmt: skip
