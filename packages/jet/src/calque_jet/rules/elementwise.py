"""The Taylor rules of arithmetic, signs, powers, exponentials and trigonometry.

One idea: a function with y' = h(y) x' gives its coefficients one after the other, each from the coefficients before it.

Where a derivative does not exist, the conventions of the derivative rules hold at every order: max and min share
equally at a tie, abs has the coefficients of its operand at 0.
Source: Griewank & Walther, Evaluating Derivatives (2008), table 13.2.  A rule that uses another equation states it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive, is_tracer, typeof
from calque_core.lax import (
    abs,
    abs_p,
    add_any_p,
    add_p,
    conj,
    cos,
    cos_p,
    div,
    div_p,
    eq,
    exp,
    exp_p,
    expm1,
    expm1_p,
    ge,
    gt,
    integer_pow,
    integer_pow_p,
    le,
    log,
    log1p,
    log1p_p,
    log_p,
    lt,
    max,
    max_p,
    min,
    min_p,
    neg,
    pow,
    pow_p,
    real,
    rem,
    rem_p,
    round,
    rsqrt,
    rsqrt_p,
    select,
    sign,
    sign_p,
    sin,
    sin_p,
    sqrt,
    sqrt_p,
    square,
    square_p,
    sub,
    sub_p,
    tan,
    tan_p,
    tanh,
    tanh_p,
)
from calque_core.ops.broadcast import spread
from calque_core.ops.selection import share
from calque_jet.series import (
    Coefficient,
    Series,
    Slopes,
    coefficient,
    derivative,
    integral,
    minus,
    over,
    plus,
    power,
    quotient,
    raised,
    solution,
    square_coefficient,
    times,
    whole_power,
)

Value = Any
Result = tuple[Value, Series]
Combine = Callable[[Coefficient, Coefficient], Coefficient]


def spread_each(coefficients: Sequence[Coefficient], out: Value) -> Series:
    """Return coefficients of an operand in the shape of the result: those of rank 0 are broadcast."""
    return [None if c is None else spread(c, out) for c in coefficients]


# Arithmetic; neg is declared linear and mul bilinear


def def_termwise(primitive: Primitive, combine: Combine) -> None:
    """Define the rule of a sum or a difference."""

    @primitive.def_rule("jet")
    def jet_rule(primals: Sequence[Value], series: Sequence[Series]) -> Result:
        out = primitive.bind(*primals)
        xs, ys = (spread_each(s, out) for s in series)
        return out, [combine(x, y) for x, y in zip(xs, ys)]


def_termwise(add_p, plus)
def_termwise(add_any_p, plus)
def_termwise(sub_p, minus)


@div_p.def_rule("jet")
def div_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    (x, y), (xs, ys) = primals, series
    out = div(x, y)
    return out, quotient([x, *xs], [y, *ys], out)[1:]


@rem_p.def_rule("jet")
def rem_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    """Expand x - n y, with a whole number n that is constant."""
    (x, y), (xs, ys) = primals, series
    out = rem(x, y)
    count = round(div(sub(x, out), y)) if any(c is not None for c in ys) else None
    return out, spread_each([minus(a, times(count, b)) for a, b in zip(xs, ys)], out)


def weighed(coefficients: Series, weight: Callable[[], Value]) -> Series:
    """Return the coefficients times the weight of their operand, computed only for nonzero coefficients."""
    if all(c is None for c in coefficients):
        return coefficients
    share_of_each = weight()
    return [times(share_of_each, c) for c in coefficients]


@max_p.def_rule("jet")
def max_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    (x, y), (xs, ys) = primals, series
    out = max(x, y)
    x_terms = weighed(xs, lambda: share(ge(x, y), gt(x, y), out))
    y_terms = weighed(ys, lambda: share(le(x, y), lt(x, y), out))
    return out, [plus(a, b) for a, b in zip(x_terms, y_terms)]


@min_p.def_rule("jet")
def min_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    (x, y), (xs, ys) = primals, series
    out = min(x, y)
    x_terms = weighed(xs, lambda: share(le(x, y), lt(x, y), out))
    y_terms = weighed(ys, lambda: share(ge(x, y), gt(x, y), out))
    return out, [plus(a, b) for a, b in zip(x_terms, y_terms)]


# Size and sign


@abs_p.def_rule("jet")
def abs_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    (x,), (xs,) = primals, series
    if is_complex(x):
        sizes, _ = sizes_and_signs(x, xs)
        return sizes[0], sizes[1:]
    is_kept = ge(x, 0.0)
    return abs(x), [None if c is None else select(is_kept, c, neg(c)) for c in xs]


@sign_p.def_rule("jet")
def sign_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    (x,), (xs,) = primals, series
    if is_complex(x):
        _, signs = sizes_and_signs(x, xs)
        return signs[0], signs[1:]
    return sign(x), [None] * len(xs)


def is_complex(x: Value) -> bool:
    """Tell whether `x` holds complex numbers."""
    return bool(typeof(x).dtype.kind == "c")


def sizes_and_signs(x: Value, xs: Series) -> list[Series]:
    """Return the series of y = |x| and s = x / y for complex x, each from the other: y' = re(conj(s) x'), y s = x.

    Both are constant where x = 0.
    """
    dx, ys, signs = derivative([x, *xs]), [abs(x)], [sign(x)]
    is_zero = eq(ys[0], 0.0)
    divisor = select(is_zero, 1.0, ys[0])
    for k, newest in enumerate(xs):
        slope = coefficient([s if s is None else conj(s) for s in signs], dx, k)
        ys.append(None if slope is None else over(real(slope), k + 1))
        remainder = minus(newest, coefficient(ys[1:], signs, k))
        signs.append(None if remainder is None else select(is_zero, 0.0, div(remainder, divisor)))
    return [ys, signs]


# Powers and roots

MAX_PRODUCTS = 64  # whole powers up to this exponent are products, which have derivatives at x = 0, too


@square_p.def_rule("jet")
def square_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    xs = [*primals, *series[0]]
    return square(*primals), [square_coefficient(xs, k) for k in range(1, len(xs))]


@integer_pow_p.def_rule("jet")
def integer_pow_jet(primals: Sequence[Value], series: Sequence[Series], *, y: int) -> Result:
    (x,) = primals
    out, xs = integer_pow(x, y), [x, *series[0]]
    if y == 0:
        return out, [None] * len(series[0])
    return out, (whole_power(xs, y) if y > 0 else power(out, xs, float(y)))[1:]


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
    return log1p(*primals), integral(None, quotient(derivative(xs), [raised(xs[0], 0, 1.0), *xs[1:]]))[1:]


# Trigonometry


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


def_solution(tan_p, tan, lambda y: [raised(newest_square(y), len(y) - 1, 1.0)])
def_solution(tanh_p, tanh, lambda y: [raised(minus(None, newest_square(y)), len(y) - 1, 1.0)])
