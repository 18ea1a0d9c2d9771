"""The Taylor rules of the special functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import Any

from calque_core import Primitive
from calque_core.lax import erf, erf_inv, erf_inv_p, erf_p, erfc, erfc_p, exp, logistic, logistic_p, mul, neg, square
from calque_jet.rules.elementwise.exponential import def_solution, newest_square
from calque_jet.series import Coefficient, Result, Series, coefficient, minus, solution, times

Value = Any

def_solution(logistic_p, logistic, lambda y: [minus(y[-1], newest_square(y))])


def def_gaussian_integral(primitive: Primitive, fun: Callable[[Value], Value], factor: float) -> None:
    """Define the rule of y = fun(x) with y' = e x', where e = factor exp(-x**2), so that e' = -2 x e x'."""

    @primitive.def_rule("jet")
    def jet_rule(primals: Sequence[Value], series: Sequence[Series]) -> Result:
        (x,), xs = primals, [*primals, *series[0]]

        def slopes(y: Series, e: Series) -> Sequence[Coefficient]:
            return [e[-1], times(-2.0, coefficient(xs, e, len(e) - 1))]

        out = fun(x)
        return out, solution([out, mul(factor, exp(neg(square(x))))], slopes, xs)[0][1:]


def_gaussian_integral(erf_p, erf, 2 / sqrt(pi))
def_gaussian_integral(erfc_p, erfc, -2 / sqrt(pi))


@erf_inv_p.def_rule("jet")
def erf_inv_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Solve y' = e x', where e = sqrt(pi)/2 exp(y**2), so that e' = 2 y e y' = 2 (y e) e x'."""
    out, products = erf_inv(*primals), Series()

    def slopes(y: Series, e: Series) -> Sequence[Coefficient]:
        products.append(coefficient(y, e, len(y) - 1))
        return [e[-1], times(2.0, coefficient(products, e, len(y) - 1))]

    start = mul(sqrt(pi) / 2, exp(square(out)))
    return out, solution([out, start], slopes, [*primals, *series[0]])[0][1:]
