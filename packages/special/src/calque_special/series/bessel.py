"""The Taylor rules of the scaled Bessel functions, from the series of exp(-|x|) I_0 and exp(-|x|) I_1 together."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

from calque_core.lax import abs, div, exp, full_like, lt, mul, neg, select, sign
from calque_jet.series import (
    Coefficient,
    Result,
    Series,
    add_number,
    coefficient,
    derivative,
    instantiate,
    minus,
    over,
    square_coefficient,
    times,
)
from calque_special.ops.bessel import bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p

Value = Any


def bessel_series(x: Value, xs: Series) -> tuple[Series, Series]:
    """Return the series of y = exp(-|x|) I_0 and z = exp(-|x|) I_1: y' = (z - s y) x' and z' = (y - z / x - s z) x'.

    w = z / x has (x w)' = z', so its coefficients follow from those of z, where x is not near 0; s is the sign of x.
    """
    side, dx = sign(x), derivative([x, *xs])
    ys: Series = [bessel_i0e(x)]
    zs: Series = [bessel_i1e(x)]
    is_near = lt(abs(x), 0.25)
    near, divisor = quotient_near_0(select(is_near, x, 0.0), xs), select(is_near, 1.0, x)
    quotients: Series = [select(is_near, near[0], div(zs[0], divisor))]
    y_slopes, z_slopes = Series(), Series()
    for k in range(len(xs)):
        y_slopes.append(minus(zs[k], times(side, ys[k])))
        z_slopes.append(minus(minus(ys[k], quotients[k]), times(side, zs[k])))
        ys.append(over(coefficient(y_slopes, dx, k), k + 1))
        zs.append(over(coefficient(z_slopes, dx, k), k + 1))
        far: Coefficient = over(minus(zs[k + 1], coefficient(xs, quotients, k)), divisor)
        is_zero = near[k + 1] is None and far is None
        quotients.append(None if is_zero else select(is_near, instantiate(x, near[k + 1]), instantiate(x, far)))
    return ys, zs


def quotient_near_0(x: Value, xs: Series) -> Series:
    """Return the series of exp(-|x|) I_1(x) / x: exp(-|x|) times a power series in x**2 (DLMF 10.25.2)."""
    orders, points = range(len(xs) + 1), [x, *xs]
    squares = [square_coefficient(points, k) for k in orders]
    terms = [0.5 / (4**n * factorial(n) * factorial(n + 1)) for n in range(9)]
    series: Series = [full_like(x, terms[-1]), *[None] * len(xs)]
    for term in reversed(terms[:-1]):
        series = [add_number(coefficient(series, squares, k), k, term) for k in orders]
    side, dx = sign(x), derivative(points)
    decay: Series = [exp(neg(mul(side, x)))]
    for k in range(len(xs)):
        decay.append(over(times(neg(side), coefficient(decay, dx, k)), k + 1))
    return [coefficient(series, decay, k) for k in orders]


@bessel_i0e_p.def_rule("jet")
def bessel_i0e_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    ys, _ = bessel_series(primals[0], series[0])
    return ys[0], ys[1:]


@bessel_i1e_p.def_rule("jet")
def bessel_i1e_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    _, zs = bessel_series(primals[0], series[0])
    return zs[0], zs[1:]
