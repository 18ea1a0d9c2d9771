"""The Taylor rules of trigonometric functions, from equations as in `exponential.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive
from calque_core.lax import (
    acos,
    acos_p,
    add,
    asin,
    asin_p,
    atan,
    atan2,
    atan2_p,
    atan_p,
    cos,
    cos_p,
    mul,
    rsqrt,
    sin,
    sin_p,
    sub,
    tan,
    tan_p,
)
from calque_jet.rules.exponential import def_solution, newest_square
from calque_jet.series import (
    Coefficient,
    Result,
    Series,
    add_number,
    coefficient,
    derivative,
    integral,
    minus,
    plus,
    power,
    quotient,
    solution,
    spread_each,
    square_coefficient,
)

Value = Any
Factors = Callable[[Value, Series], Series]

# Circular functions


@sin_p.def_rule("jet")
def sin_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    sines, _ = sines_and_cosines(primals[0], series[0])
    return sines[0], sines[1:]


@cos_p.def_rule("jet")
def cos_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    _, cosines = sines_and_cosines(primals[0], series[0])
    return cosines[0], cosines[1:]


def sines_and_cosines(x: Value, xs: Series) -> list[Series]:
    """Return the series of sin and cos, each computed from the other."""
    return solution([sin(x), cos(x)], lambda s, c: [c[-1], minus(None, s[-1])], [x, *xs])


def_solution(tan_p, tan, lambda y: [add_number(newest_square(y), len(y) - 1, 1.0)])

# Inverses of the circular functions


def squares(start: Value, xs: Series, combine: Callable[[Coefficient, Coefficient], Coefficient] = plus) -> Series:
    """Return the series that begins with `start` and has the later coefficients of x**2, or their negatives."""
    return [start, *(combine(None, square_coefficient(xs, k)) for k in range(1, len(xs)))]


def def_integral(
    primitive: Primitive, fun: Callable[[Value], Value], slopes: Callable[[Value, Series], Series]
) -> None:
    """Define the rule of y = fun(x) with y' = h(x) x', where `slopes(x0, xs)` is the series of h(x)."""

    @primitive.def_rule("jet")
    def jet_rule(primals: Sequence[Value], series: Sequence[Series]) -> Result:
        (x,), (xs,) = primals, series
        factors, dx = slopes(x, [x, *xs]), derivative([x, *xs])
        return fun(x), integral(None, [coefficient(factors, dx, k) for k in range(len(dx))])[1:]


def asin_slopes(x: Value, xs: Series) -> Series:
    """Return the series of 1 / sqrt(1 - x**2)."""
    square = mul(sub(1.0, x), add(1.0, x))
    return power(rsqrt(square), squares(square, xs, minus), -0.5)


def_integral(asin_p, asin, asin_slopes)
def_integral(acos_p, acos, lambda x, xs: [minus(None, c) for c in asin_slopes(x, xs)])
def_integral(atan_p, atan, lambda x, xs: reciprocal(squares(add(1.0, mul(x, x)), xs)))


def reciprocal(xs: Series) -> Series:
    """Return the series of 1 / x."""
    return quotient([1.0, *[None] * (len(xs) - 1)], xs)


@atan2_p.def_rule("jet")
def atan2_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Integrate (y x' - x y') / (x**2 + y**2)."""
    out = atan2(*primals)
    xs, ys = (spread_each([p, *s], out) for p, s in zip(primals, series))
    x_slopes, y_slopes = derivative(xs), derivative(ys)
    turns = [minus(coefficient(ys, x_slopes, k), coefficient(xs, y_slopes, k)) for k in range(len(x_slopes))]
    squared = [plus(square_coefficient(xs, k), square_coefficient(ys, k)) for k in range(len(x_slopes))]
    return out, integral(None, quotient(turns, squared))[1:]
