"""The Taylor rules of the incomplete gamma functions in the limit of the integral: y' = h x', h' = r h x'.

h is the density, and r the derivative of its logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive
from calque_core.lax import exp, log, mul, neg, sub
from calque_jet.series import Coefficient, Result, Series, coefficient, quotient, solution, spread_each
from calque_special.ops.gamma import lgamma
from calque_special.ops.incomplete import igamma, igamma_grad_a_p, igamma_p, igammac, igammac_p, random_gamma_grad_p
from calque_special.series.gamma import order_is_constant

Value = Any


def def_from_density(
    primitive: Primitive, fun: Callable[..., Value], density: Callable[..., Value], ratio: Callable[..., Series]
) -> None:
    """Define the rule of fun(*orders, x) from `density(*orders, x)` and the series `ratio(*orders, xs)` of r."""

    @primitive.def_rule("jet")
    def jet_rule(primals: Sequence[Value], series: Sequence[Series]) -> Result:
        for coefficients in series[:-1]:
            order_is_constant(primitive, coefficients)
        out, (*orders, x) = fun(*primals), primals
        xs = [x, *series[-1]]
        ratios = ratio(*orders, xs)

        def slopes(y: Series, h: Series) -> Sequence[Coefficient]:
            return [h[-1], coefficient(ratios, h, len(h) - 1)]

        return out, spread_each(solution([out, density(*primals)], slopes, xs)[0][1:], out)


def gamma_density(a: Value, x: Value) -> Value:
    """Return x**(a - 1) exp(-x) / gamma(a)."""
    return exp(sub(sub(mul(sub(a, 1.0), log(x)), x), lgamma(a)))


def gamma_ratio(a: Value, xs: Series) -> Series:
    """Return the series of (a - 1) / x - 1."""
    ratios = quotient([sub(a, 1.0), *[None] * (len(xs) - 1)], xs)
    return [sub(ratios[0], 1.0), *ratios[1:]]


def_from_density(igamma_p, igamma, gamma_density, gamma_ratio)
def_from_density(igammac_p, igammac, lambda a, x: neg(gamma_density(a, x)), gamma_ratio)
igamma_grad_a_p.def_hole("jet", "it is a derivative already, of which no Taylor series is implemented")
random_gamma_grad_p.def_hole("jet", "it is a derivative already, of which no Taylor series is implemented")
