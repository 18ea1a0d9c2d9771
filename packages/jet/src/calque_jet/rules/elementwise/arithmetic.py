"""The Taylor rules of arithmetic, whole powers, sizes and signs.

Where a derivative does not exist, the conventions of the derivative rules hold at every order: max and min share
equally at a tie, abs has the coefficients of its operand at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive, typeof
from calque_core.engine import share
from calque_core.engine.numpy_functions import greater, greater_equal, less, less_equal
from calque_core.lax import (
    abs,
    abs_p,
    add_any_p,
    add_p,
    conj,
    div,
    div_p,
    eq,
    ge,
    integer_pow,
    integer_pow_p,
    max,
    max_p,
    min,
    min_p,
    neg,
    real,
    rem,
    rem_p,
    round,
    select,
    sign,
    sign_p,
    square,
    square_p,
    sub,
    sub_p,
)
from calque_jet.series import (
    Coefficient,
    Result,
    Series,
    coefficient,
    derivative,
    minus,
    over,
    plus,
    power,
    quotient,
    spread_each,
    square_coefficient,
    times,
    whole_power,
)

Value = Any
Combine = Callable[[Coefficient, Coefficient], Coefficient]


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


def weigh(coefficients: Series, weight: Callable[[], Value]) -> Series:
    """Return the coefficients times the weight of their operand, computed only for nonzero coefficients."""
    if all(c is None for c in coefficients):
        return coefficients
    share_of_each = weight()
    return [times(share_of_each, c) for c in coefficients]


@max_p.def_rule("jet")
def max_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    (x, y), (xs, ys) = primals, series
    out = max(x, y)
    x_terms = weigh(xs, lambda: share(greater_equal(x, y), greater(x, y), out))
    y_terms = weigh(ys, lambda: share(less_equal(x, y), less(x, y), out))
    return out, [plus(a, b) for a, b in zip(x_terms, y_terms)]


@min_p.def_rule("jet")
def min_jet(primals: Sequence[Value], series: Sequence[Series]) -> Result:
    (x, y), (xs, ys) = primals, series
    out = min(x, y)
    x_terms = weigh(xs, lambda: share(less_equal(x, y), less(x, y), out))
    y_terms = weigh(ys, lambda: share(greater_equal(x, y), greater(x, y), out))
    return out, [plus(a, b) for a, b in zip(x_terms, y_terms)]


# Whole powers


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
    return bool(typeof(x).kind == "c")


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
