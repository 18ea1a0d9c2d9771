"""The Taylor rules of the scaled Bessel functions, from the series of exp(-|x|) I_0 and exp(-|x|) I_1 together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.lax import bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p, div, eq, select, sign
from calque_jet.rules.arithmetic import Result
from calque_jet.series import Coefficient, Series, coefficient, derivative, minus, over, times

Value = Any


def bessel_series(x: Value, xs: Series) -> tuple[Series, Series]:
    """Return the series of y = exp(-|x|) I_0 and z = exp(-|x|) I_1: y' = (z - s y) x' and z' = (y - z / x - s z) x'.

    w = z / x has (x w)' = z', so its coefficients follow from those of z; s is the sign of x.
    """
    side, dx = sign(x), derivative([x, *xs])
    ys: Series = [bessel_i0e(x)]
    zs: Series = [bessel_i1e(x)]
    is_zero = eq(x, 0.0)
    divisor = select(is_zero, 1.0, x)
    quotients: Series = [select(is_zero, 0.5, div(zs[0], divisor))]
    y_slopes, z_slopes = Series(), Series()
    for k in range(len(xs)):
        y_slopes.append(minus(zs[k], times(side, ys[k])))
        z_slopes.append(minus(minus(ys[k], quotients[k]), times(side, zs[k])))
        ys.append(over(coefficient(y_slopes, dx, k), k + 1))
        zs.append(over(coefficient(z_slopes, dx, k), k + 1))
        remainder: Coefficient = minus(zs[k + 1], coefficient(xs, quotients, k))
        quotients.append(None if remainder is None else div(remainder, divisor))
    return ys, zs


@bessel_i0e_p.def_rule("jet")
def bessel_i0e_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    ys, _ = bessel_series(primals[0], series[0])
    return ys[0], ys[1:]


@bessel_i1e_p.def_rule("jet")
def bessel_i1e_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    _, zs = bessel_series(primals[0], series[0])
    return zs[0], zs[1:]
