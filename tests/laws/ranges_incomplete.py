"""Rows of the law of ranges: incomplete gamma functions, in the number and in the order.

Read next: `ranges_parameters.py`, other functions of several operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import ranges as r
from mpmath import mp
from ranges import Row, Series
from ranges_special import HUGE, given, log_gamma

from calque_core import lax
from calque_numpy.scipy import special

Number = Any
Reference = Callable[[Series], Series]
INF = np.inf
SMALL = mp.mpf(2) ** -400  # beside 1 it is nothing, to all digits that a result has


def typed(function: Callable[..., Any], *numbers: float) -> Callable[[Any], Any]:
    """Return the function of one operand: an Ellipsis stands for it, numbers are taken in its dtype."""
    return lambda x: function(*(x if y is ... else np.asarray(y, np.dtype(x.dtype))[()] for y in numbers))


def row(name: str, function: Callable[..., Any], numbers: Sequence[Any], reference: Reference, **more: Any) -> Row:
    """Return the row of a function whose operands are numbers, save the asked one."""
    operands = ", ".join("x" if y is ... else f"{y:g}" for y in numbers)
    return Row(f"{name} of ({operands})", typed(function, *numbers), reference, **more)


def known(values: Callable[[Number], Sequence[Number]]) -> Reference:
    """Return the reference of a function with fewer derivatives: the other ones are NaN."""
    return given(lambda x: [*values(x), mp.nan, mp.nan, mp.nan][:4])


# Incomplete gamma functions


def gamma_density(a: Number) -> Reference:
    return lambda x: r.exp(r.log(x) * (a - 1) - x - log_gamma(a))


def lower_gamma(a: Number) -> Callable[[Number], Number]:
    """Return P(a, x), near zero by two terms of its series."""

    def value(x: Number) -> Number:
        if x < 0:
            return mp.nan
        if x < SMALL:
            return r.exp(Series([a * mp.log(x) - log_gamma(a + 1)])).value * (1 - a * x / (a + 1))
        return mp.mpf(1) if x > HUGE else mp.gammainc(a, 0, x, regularized=True)

    return value


def upper_gamma(a: Number) -> Callable[[Number], Number]:
    """Return Q(a, x); far in its tail the first term, below all numbers."""

    def value(x: Number) -> Number:
        if x < SMALL:
            return 1 - lower_gamma(a)(x)
        return gamma_density(a)(Series([x])).value if x > HUGE else mp.gammainc(a, x, mp.inf, regularized=True)

    return value


def by_differences(
    value: Callable[[Number], Number], lost: Callable[[Number], Number] = lambda x: 0, least: float = 0.0
) -> Reference:
    """Return the function with three derivatives by central differences; `lost(x)` bits of the value cancel.

    Steps are relative to x, or to `least` where the function is smooth at 0.
    """

    def derivatives(x: Number) -> list[Number]:
        digits = mp.prec // 2 + 40
        with mp.workprec(int(5 * digits // 2 + 60 + lost(x))):
            step = max(abs(x), least) * mp.mpf(2) ** -(digits // 2)
            far_below, below, here, above, far_above = (value(x + k * step) for k in range(-2, 3))
            odd, far_odd = above - below, far_above - far_below
            return [here, odd / (2 * step), (above - 2 * here + below) / step**2, (far_odd - 2 * odd) / (2 * step**3)]

    return given(derivatives)


def bits(x: Number) -> int:
    """Return how many bits a difference of numbers of the size of x log(x) may lose."""
    return 2 * max(0, int(mp.log(abs(x) + 1, 2)))


def lower_gamma_of(a: Number, x: Number) -> Number:
    """Return P(a, x) by DLMF 8.5.1, whose terms have one sign."""
    return mp.exp(a * mp.log(x) - x - log_gamma(a + 1)) * mp.hyp1f1(1, a + 1, x)


def lower_gamma_in_a(x: Number) -> Reference:
    upper, far = upper_gamma_in_a(x), by_differences(lambda a: lower_gamma_of(a, x))
    return lambda a: 1 - upper(a) if a.value < x else far(a) if a.value < HUGE else below_all(a)


def upper_gamma_in_a(x: Number) -> Reference:
    near, lost = upper_near_zero(x), lambda a: max(0, -mp.log(a, 2)) + 2 * x
    middle = by_differences(lambda a: 1 - lower_gamma_of(a, x), lost)
    return lambda a: near(a) if a.value < TINY else middle(a) if a.value < HUGE else 1 - below_all(a)


def below_all(x: Series) -> Series:
    """Return a falling function that is less than all numbers."""
    return r.constant(mp.mpf(2) ** -30000, x) / x


TINY = mp.mpf(2) ** -100


def upper_near_zero(x: Number) -> Reference:
    """Return Q(a, x) for tiny a: linear, but for a curvature that is asked at `TINY`."""

    @cache
    def slopes(precision: int) -> list[Number]:
        return [mp.e1(x), by_differences(lambda a: 1 - lower_gamma_of(a, x), lambda a: 200 + 2 * x)(
            Series([TINY, 0, 0])).terms[2] * 2]  # fmt: skip

    def derivatives(a: Number) -> list[Number]:
        slope, curvature = slopes(mp.prec)
        return [a * slope + a * a * curvature / 2, slope + a * curvature, curvature]

    return known(derivatives)


def tail_of_gamma(a: Series, x: Number) -> Series:
    """Return Q(a, x) over the density by its asymptotic series (DLMF 8.11.2)."""
    term = total = r.constant(1, a)
    for k in range(1, 4000):
        term = term * (a - k) / x
        total = total + term
        if all(abs(t) <= abs(s) * mp.eps / 16 for t, s in zip(term.terms, total.terms)):
            break
    return total


def slopes_by_order(a: Number, x: Number) -> tuple[Number, Number]:
    """Return the derivatives of P(a, x) and of the density in a, over the density."""
    turn = mp.log(x) - mp.psi(0, a)
    if x > max(mp.prec, 8 * a):
        tail = tail_of_gamma(Series([a, mp.mpf(1)]), x)
        return -(tail.terms[1] + tail.value * turn), turn
    side = upper_gamma_in_a(x) if x > a else lower_gamma_in_a(x)
    slope = side(Series([a, mp.mpf(1)])).terms[1] / gamma_density(a)(Series([x])).value
    return -slope if x > a else slope, turn


def grad_a(a: Number) -> Callable[[Number], list[Number]]:
    """Return dP/da with its derivatives in x: those of the density in a are the density times log(x) - psi(a)."""

    def values(x: Number) -> list[Number]:
        if x < 0:
            return [mp.nan] * 4
        start = Series([x, mp.mpf(1), mp.mpf(0)])
        slope = gamma_density(a)(start)
        slopes = slope * (r.log(start) - mp.psi(0, a))
        return [slopes_by_order(a, x)[0] * slope.value, *(slopes.terms[k] * mp.factorial(k) for k in range(3))]

    return values


def sample_grad(a: Number) -> Callable[[Number], list[Number]]:
    """Return -(dP/da) / density, and its derivative in x, which tells the effect of an ulp."""

    def values(x: Number) -> list[Number]:
        if x < 0:
            return [mp.nan] * 4
        out, turn = slopes_by_order(a, x)
        return [-out, 1 / x if x > mp.mpf(2) ** 60 else -turn + out * ((a - 1) / x - 1)]

    return values


# The orders: near zero, of the size of x, and beyond 200, where another expansion serves.
OF_GAMMA = [
    row(name, function, (a, ...), lambda x, a=a, v=value, s=sign: r.chain(v(mp.mpf(a)), lambda x: s * gamma_density(
        mp.mpf(a))(x), x), domain=(0.0, INF), near=(1.1, *[a] * (a > 2)), kinks=(0.0,))
    for name, function, value, sign in (
        ("special.gammainc", special.gammainc, lower_gamma, 1),
        ("special.gammaincc", special.gammaincc, upper_gamma, -1),
    )
    for a in (0.125, 1.0, 2.5, 30.0, 1000.0)
]  # fmt: skip
OF_GAMMA += [
    row(name, function, (..., x), reference(mp.mpf(x)), domain=(0.0, INF), derivatives=1, kinks=(0.0,), near=near)
    for name, function, reference in (
        ("special.gammainc", special.gammainc, lower_gamma_in_a),
        ("special.gammaincc", special.gammaincc, upper_gamma_in_a),
    )
    for x, near in ((0.03125, ()), (1.5, (1.5,)), (50.0, (50.0,)), (300.0, (300.0,)))
]
OF_GAMMA += [
    row("lax.igamma_grad_a", lax.igamma_grad_a, (a, ...), given(grad_a(mp.mpf(a))), domain=(0.0, INF), kinks=(0.0,))
    for a in (0.125, 2.5, 30.0, 1000.0)
]
OF_GAMMA += [
    row("lax.random_gamma_grad", lax.random_gamma_grad, (a, ...), known(sample_grad(mp.mpf(a))), domain=(0.0, INF),
        ends={(0.0, 0): 0.0, (INF, 0): np.nan}, derivatives=0)
    for a in (0.125, 2.5, 30.0, 1000.0)
]  # fmt: skip
