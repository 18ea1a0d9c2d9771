"""The Taylor rules of powers, roots, exponentials and logarithms.

One idea: a function with y' = h(y) x' gives its coefficients one after the other, each from the coefficients before it.
Source: Griewank & Walther, Evaluating Derivatives (2008), table 13.2.  A rule that uses another equation states it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive, is_tracer, typeof
from calque_core.lax import (
    cbrt,
    cbrt_p,
    eq,
    exp,
    exp2,
    exp2_p,
    exp_p,
    expm1,
    expm1_p,
    log,
    log1p,
    log1p_p,
    log_p,
    pow,
    pow_p,
    rsqrt,
    rsqrt_p,
    select,
    sqrt,
    sqrt_p,
)
from calque_jet.rules.arithmetic import is_complex
from calque_jet.series import (
    Coefficient,
    Result,
    Series,
    Slopes,
    add_number,
    coefficient,
    derivative,
    integral,
    minus,
    over,
    power,
    quotient,
    solution,
    square_coefficient,
    times,
    whole_power,
)

Value = Any

# Powers and roots

MAX_PRODUCTS = 64  # whole powers up to this exponent are products, which have derivatives at x = 0, too


@sqrt_p.def_rule("jet")
def sqrt_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Solve 2 y y' = x'."""
    out, dx = sqrt(*primals), derivative([*primals, *series[0]])
    ys, dys = [out], Series()
    for k, slope in enumerate(dx):
        dys.append(over(minus(times(0.5, slope), coefficient(ys[1:], dys, k - 1)), out))
        ys.append(over(dys[k], k + 1))
    return out, ys[1:]


@rsqrt_p.def_rule("jet")
def rsqrt_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    out = rsqrt(*primals)
    return out, power(out, [*primals, *series[0]], -0.5)[1:]


@cbrt_p.def_rule("jet")
def cbrt_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    out = cbrt(*primals)
    return out, power(out, [*primals, *series[0]], 1 / 3)[1:]


@pow_p.def_rule("jet")
def pow_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Take the recurrence for a constant exponent, which divides by x; expand exp(y log x) for any other."""
    (x, y), (xs, ys) = primals, series
    out = pow(x, y)
    if any(c is not None for c in ys):
        return out, solution([out], lambda p: [p[-1]], exponent_series(x, xs, y, ys))[0][1:]
    count = whole_number(y)
    if count is None:
        return out, power(out, [x, *xs], y)[1:]
    return out, whole_power([x, *xs], count)[1:] if count else [None] * len(xs)


def exponent_series(x: Value, xs: Series, y: Value, ys: Series) -> Series:
    """Return the series of y log(x); where x = 0 and is constant, y has no influence on the power."""
    if all(c is None for c in xs):
        logs = [log(select(eq(x, 0.0), 1.0, x)), *xs]
    else:
        start = log(x)
        logs = integral(start, quotient(derivative([x, *xs]), [x, *xs]))
    return [coefficient(logs, [y, *ys], k) for k in range(len(logs))]


def whole_number(y: Value) -> int | None:
    """Return the exponent if it is known, whole and at most `MAX_PRODUCTS`, otherwise None."""
    if is_tracer(y) or typeof(y).shape or is_complex(y) or not 0 <= y <= MAX_PRODUCTS:
        return None
    return int(y) if int(y) == y else None


# Exponentials and logarithms


def def_solution(primitive: Primitive, fun: Callable[[Value], Value], slope: Slopes) -> None:
    """Define the rule of y = fun(x), where y' = h x' and `slope(ys)` gives the newest coefficient of h, as a list."""

    @primitive.def_rule("jet")
    def jet_rule(primals: Sequence[Value], series: Sequence[Series]) -> Result:
        out = fun(*primals)
        return out, solution([out], slope, [*primals, *series[0]])[0][1:]


def newest_square(ys: Series) -> Coefficient:
    """Return the coefficient of y**2 of the order of the newest coefficient of y."""
    return square_coefficient(ys, len(ys) - 1)


def_solution(exp_p, exp, lambda y: [y[-1]])
def_solution(exp2_p, exp2, lambda y: [times(math.log(2), y[-1])])


@expm1_p.def_rule("jet")
def expm1_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Take the coefficients of exp: the two differ in coefficient 0 alone."""
    return expm1(*primals), solution([exp(*primals)], lambda y: [y[-1]], [*primals, *series[0]])[0][1:]


@log_p.def_rule("jet")
def log_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Integrate y' = x' / x."""
    xs = [*primals, *series[0]]
    return log(*primals), integral(None, quotient(derivative(xs), xs))[1:]


@log1p_p.def_rule("jet")
def log1p_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Integrate y' = x' / (1 + x)."""
    xs = [*primals, *series[0]]
    return log1p(*primals), integral(None, quotient(derivative(xs), [add_number(xs[0], 0, 1.0), *xs[1:]]))[1:]
