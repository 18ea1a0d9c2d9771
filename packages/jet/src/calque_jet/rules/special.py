"""The Taylor rules of the special functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import Any

from calque_core.lax import erf_inv, erf_inv_p, exp, logistic, logistic_p, mul, square
from calque_jet.rules.arithmetic import Result
from calque_jet.rules.exponential import def_solution, newest_square
from calque_jet.series import Coefficient, Series, coefficient, minus, solution, times

Value = Any

def_solution(logistic_p, logistic, lambda y: [minus(y[-1], newest_square(y))])


@erf_inv_p.def_rule("jet")
def erf_inv_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Solve y' = e x', where e = sqrt(pi)/2 exp(y**2), so that e' = 2 y e y' = 2 (y e) e x'."""
    out, products = erf_inv(*primals), Series()

    def slopes(y: Series, e: Series) -> Sequence[Coefficient]:
        products.append(coefficient(y, e, len(y) - 1))
        return [e[-1], times(2.0, coefficient(products, e, len(y) - 1))]

    start = mul(sqrt(pi) / 2, exp(square(out)))
    return out, solution([out, start], slopes, [*primals, *series[0]])[0][1:]
