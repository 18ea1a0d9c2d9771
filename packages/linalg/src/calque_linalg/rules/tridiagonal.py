"""Derivatives of solutions of tridiagonal systems, as of all systems of equations."""

from __future__ import annotations

from typing import Any

from calque_core import UndefinedPrimal, typeof
from calque_core.extend import check_known, defleading, deftranspose
from calque_linalg.ops.tridiagonal import shifted_rows, tridiagonal_product, tridiagonal_solve, tridiagonal_solve_p
from calque_linalg.rules.equations import defsolution

Value = Any


def tridiagonal_solve_transpose(ct: Value, dl: Value, d: Value, du: Value, b: UndefinedPrimal) -> list[Value]:
    """Exchange the outer diagonals, which are stored beside the rows that they belong to."""
    check_known(tridiagonal_solve_p, dl, d, du)
    axis = typeof(d).ndim - 1
    return [None, None, None, tridiagonal_solve(shifted_rows(du, 1, axis), d, shifted_rows(dl, -1, axis), ct)]


defsolution(tridiagonal_solve_p, tridiagonal_product)
deftranspose(tridiagonal_solve_p, tridiagonal_solve_transpose)
defleading(tridiagonal_solve_p)
