"""The Taylor rule of systems of equations: one more system with the same matrix for each coefficient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_jet.series import Result, Series, coefficient, minus
from calque_linalg.ops.equations import solve, solve_p
from calque_linalg.ops.matrices import matrix_product, transposed

Value = Any


def solution_series(
    operators: Series, right: Value, rights: Series, solve_for: Callable[[Value], Value], multiply: Any
) -> Result:
    """Solve a0 xk = bk - a1 x[k-1] - ... - ak x0, from the coefficients of the operator after the first."""
    xs: Series = [solve_for(right)]
    for k, c in enumerate(rights, 1):
        remainder = minus(c, coefficient([None, *operators], [*xs, None], k, multiply))
        xs.append(None if remainder is None else solve_for(remainder))
    return xs[0], xs[1:]


@solve_p.def_rule("jet")
def solve_jet(primals: Sequence[Value], series: Sequence[Series], *, transpose_a: bool) -> Result:
    (a, b), (a_series, b_series) = primals, series
    operators = [transposed(c) if transpose_a and c is not None else c for c in a_series]
    return solution_series(
        operators, b, b_series, lambda right: solve(a, right, transpose_a=transpose_a), matrix_product
    )
