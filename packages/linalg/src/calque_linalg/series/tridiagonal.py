"""The Taylor rule of tridiagonal systems: one more system with the same matrix for each coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_jet.series import Result, Series
from calque_linalg.ops.tridiagonal import tridiagonal_product, tridiagonal_solve, tridiagonal_solve_p
from calque_linalg.series.equations import solution_series

Value = Any


@tridiagonal_solve_p.def_rule("jet")
def tridiagonal_solve_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    dl, d, du, b = primals
    *diagonal_series, b_series = series
    operators = [None if all(c is None for c in three) else three for three in zip(*diagonal_series)]
    return solution_series(
        operators, b, b_series, lambda right: tridiagonal_solve(dl, d, du, right), tridiagonal_product
    )
