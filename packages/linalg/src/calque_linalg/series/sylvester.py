"""The Taylor rule of a x + x b = c: one more equation with the same matrices for each coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_jet.series import Result, Series
from calque_linalg.ops.sylvester import sylvester_product, sylvester_solve, sylvester_solve_p
from calque_linalg.series.equations import solution_series

Value = Any


@sylvester_solve_p.def_rule("jet")
def sylvester_solve_jet(primals: Sequence[Value], series: Sequence[Series], *, hermitian: bool) -> Result:
    (a, b, c), (a_series, b_series, c_series) = primals, series
    operators = [None if all(x is None for x in two) else two for two in zip(a_series, b_series)]
    solve_for = lambda right: sylvester_solve(a, b, right, hermitian=hermitian)
    return solution_series(operators, c, c_series, solve_for, sylvester_product)
