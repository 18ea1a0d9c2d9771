"""The Taylor rules of the gamma function's logarithm and of its derivatives.

One idea: all derivatives are known functions of the primal, so the rule composes two power series.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any, NoReturn

from calque_core import Primitive
from calque_core.extend import where
from calque_core.lax import add, mul, neg
from calque_jet.series import Result, Series, coefficient, over, plus, spread_each
from calque_special.ops.gamma import digamma, digamma_p, lgamma, lgamma_p, polygamma, polygamma_p, zeta, zeta_p

Value = Any


def composed(terms: Sequence[Value], xs: Series) -> Series:
    """Return the coefficients, from 1 on, of the sum of terms[k - 1] (x - x0)**k / k!, by Horner's rule in series."""
    count, total = len(xs), Series()
    for k, term in reversed(list(enumerate(terms, 1))):
        total = [coefficient([None, *xs], total, n) for n in range(count + 1)] if total else [None] * (count + 1)
        total[0] = plus(total[0], over(term, factorial(k)))
    return [coefficient(xs, total, n) for n in range(count)]


def order_is_constant(primitive: Primitive, series: Series) -> None:
    """Refuse a series of an operand that has no derivative."""
    if any(c is not None for c in series):
        refuse(primitive)


def refuse(primitive: Primitive) -> NoReturn:
    raise NotImplementedError(
        f"{primitive.name}{where()}: no Taylor series with respect to its first operand is implemented. "
        "Keep it constant: stop_gradient."
    )


def def_from_derivatives(primitive: Primitive, fun: Callable[..., Value], derivative: Callable[..., Value]) -> None:
    """Define the rule of fun(*orders, x), whose derivative of order k in x is `derivative(k, *orders, x)`."""

    @primitive.def_rule("jet")
    def jet_rule(primals: Sequence[Value], series: Sequence[Series]) -> Result:
        for coefficients in series[:-1]:
            order_is_constant(primitive, coefficients)
        out = fun(*primals)
        terms = [derivative(k, *primals) for k in range(1, len(series[-1]) + 1)]
        return out, spread_each(composed(terms, series[-1]), out)


def zeta_derivative(k: int, x: Value, q: Value) -> Value:
    """Return (-1)**k x (x + 1) ... (x + k - 1) zeta(x + k, q)."""
    factor = zeta(add(x, float(k)), q)
    for i in range(k):
        factor = mul(factor, neg(add(x, float(i))))
    return factor


def_from_derivatives(lgamma_p, lgamma, lambda k, x: polygamma(float(k - 1), x))
def_from_derivatives(digamma_p, digamma, lambda k, x: polygamma(float(k), x))
def_from_derivatives(zeta_p, zeta, zeta_derivative)
def_from_derivatives(polygamma_p, polygamma, lambda k, m, x: polygamma(add(m, float(k)), x))
