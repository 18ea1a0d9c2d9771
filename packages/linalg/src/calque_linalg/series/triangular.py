"""The Taylor rule of triangular systems: one more system with the same triangle for each coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_jet.series import Result, Series
from calque_linalg.ops.matrices import matrix_product
from calque_linalg.ops.triangular import operator_tangent, triangular_solve_p
from calque_linalg.series.equations import solution_series

Value = Any


@triangular_solve_p.def_rule("jet")
def triangular_solve_jet(
    primals: Sequence[Value], series: Sequence[Series], *, left_side: bool, **params: Any
) -> Result:
    (a, b), (a_series, b_series) = primals, series

    def solve_for(right: Value) -> Value:
        return triangular_solve_p.bind(a, right, left_side=left_side, **params)

    def multiply(operator: Value, x: Value) -> Value:
        return matrix_product(operator, x) if left_side else matrix_product(x, operator)

    operators = [None if c is None else operator_tangent(c, **params) for c in a_series]
    return solution_series(operators, b, b_series, solve_for, multiply)
