"""The Taylor rules of hyperbolic functions, from equations as in `exponential.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.lax import (
    acosh,
    acosh_p,
    add,
    asinh,
    asinh_p,
    atanh,
    atanh_p,
    cosh,
    cosh_p,
    mul,
    rsqrt,
    sinh,
    sinh_p,
    sub,
    tanh,
    tanh_p,
)
from calque_jet.rules.exponential import def_solution, newest_square
from calque_jet.rules.trigonometric import def_integral, reciprocal, squares
from calque_jet.series import Result, Series, add_number, minus, power, solution

Value = Any

# Hyperbolic functions


@sinh_p.def_rule("jet")
def sinh_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    sines, _ = hyperbolic_pair(primals[0], series[0])
    return sines[0], sines[1:]


@cosh_p.def_rule("jet")
def cosh_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    _, cosines = hyperbolic_pair(primals[0], series[0])
    return cosines[0], cosines[1:]


def hyperbolic_pair(x: Value, xs: Series) -> list[Series]:
    """Return the series of sinh and cosh, each computed from the other."""
    return solution([sinh(x), cosh(x)], lambda s, c: [c[-1], s[-1]], [x, *xs])


def_solution(tanh_p, tanh, lambda y: [add_number(minus(None, newest_square(y)), len(y) - 1, 1.0)])

# Inverses of the hyperbolic functions


def asinh_slopes(x: Value, xs: Series) -> Series:
    """Return the series of 1 / sqrt(1 + x**2)."""
    square = add(1.0, mul(x, x))
    return power(rsqrt(square), squares(square, xs), -0.5)


def acosh_slopes(x: Value, xs: Series) -> Series:
    """Return the series of 1 / (sqrt(x - 1) sqrt(x + 1)), which has the branch of acosh."""
    start = mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0)))
    return power(start, squares(mul(sub(x, 1.0), add(x, 1.0)), xs), -0.5)


def_integral(asinh_p, asinh, asinh_slopes)
def_integral(acosh_p, acosh, acosh_slopes)
def_integral(atanh_p, atanh, lambda x, xs: reciprocal(squares(mul(sub(1.0, x), add(1.0, x)), xs, minus)))
