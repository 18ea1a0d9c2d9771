"""Truncated power series: the arithmetic of Taylor rules.

One idea: x(t) = x0 + x1 t + x2 t**2 + ... is a primal x0 and the list of its coefficients x1, x2, ..., all of one type.
A zero coefficient is None, and costs nothing.  Products are convolutions, and an equation between derivatives
gives one coefficient after the other, so that the number of operations is quadratic in the order.

It is public: a package with primitives of its own writes their Taylor rules with it.

Source: Griewank & Walther, Evaluating Derivatives (2008), section 13.2.  Read next: `rules/elementwise/exponential.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import typeof
from calque_core.engine import spread, zeros_of
from calque_core.lax import add, add_any, div, mul, neg, sub

Value = Any
Coefficient = Any  # an array, or None
Series = list[Coefficient]
Result = tuple[Value, Series]  # of a Taylor rule: the result, and its coefficients
Times = Callable[[Value, Value], Value]

# One coefficient


def instantiate(primal: Value, x: Coefficient) -> Value:
    """Return a coefficient of a value with this primal, zeros for None."""
    return zeros_of(typeof(primal).to_tangent_aval()) if x is None else x


def plus(x: Coefficient, y: Coefficient) -> Coefficient:
    """Return x + y."""
    if x is None:
        return y
    return x if y is None else add_any(x, y)


def minus(x: Coefficient, y: Coefficient) -> Coefficient:
    """Return x - y."""
    if y is None:
        return x
    return neg(y) if x is None else sub(x, y)


def times(factor: Value, x: Coefficient) -> Coefficient:
    """Return a number or an array times a coefficient."""
    return None if x is None else mul(factor, x)


def over(x: Coefficient, divisor: Value) -> Coefficient:
    """Return a coefficient divided by a number or an array."""
    if x is None or (type(divisor) is int and divisor == 1):
        return x
    return div(x, float(divisor) if type(divisor) is int else divisor)


def coefficient(xs: Sequence[Coefficient], ys: Sequence[Coefficient], k: int, multiply: Times = mul) -> Coefficient:
    """Return coefficient k of the product of two series, both from coefficient 0 on."""
    total = None
    for x, y in zip(xs[: k + 1], reversed(ys[: k + 1])):
        if x is not None and y is not None:
            total = plus(total, multiply(x, y))
    return total


def square_coefficient(xs: Sequence[Coefficient], k: int) -> Coefficient:
    """Return coefficient k of the square of a series: each pair of different coefficients is multiplied once."""
    half = coefficient(xs[: (k + 1) // 2], xs[k // 2 + 1 : k + 1], (k + 1) // 2 - 1)
    middle = xs[k // 2] if k % 2 == 0 else None
    return plus(times(2.0, half), None if middle is None else mul(middle, middle))


# Whole series, from coefficient 0 on


def derivative(xs: Sequence[Coefficient]) -> Series:
    """Return the series of x'(t), which is one coefficient shorter."""
    return [x if k == 1 else times(float(k), x) for k, x in enumerate(xs) if k]


def integral(start: Value, slopes: Sequence[Coefficient]) -> Series:
    """Return the series that begins with `start` and has the derivative `slopes`."""
    return [start, *(over(x, k + 1) for k, x in enumerate(slopes))]


def quotient(xs: Sequence[Coefficient], ys: Sequence[Coefficient], start: Value = None) -> Series:
    """Return the series of q = x / y, from q y = x; `start` is its first coefficient, if it is known."""
    qs: Series = [] if start is None else [start]
    for k in range(len(qs), len(xs)):
        qs.append(over(minus(xs[k], coefficient(ys[1:], qs, k - 1)), ys[0]))
    return qs


def power(start: Value, xs: Sequence[Coefficient], exponent: Value) -> Series:
    """Return the series of y = x**r, which begins with `start`, for a constant r, from x y' = r y x'."""
    slopes, ys, y_slopes = derivative(xs), [start], Series()
    for k, _ in enumerate(slopes):
        lower_terms = coefficient(xs[1:], y_slopes, k - 1)
        y_slopes.append(over(minus(times(exponent, coefficient(ys, slopes, k)), lower_terms), xs[0]))
        ys.append(over(y_slopes[k], k + 1))
    return ys


def whole_power(xs: Sequence[Coefficient], exponent: int) -> Series:
    """Return the series of x**n for n > 0 by repeated squaring.  It does not divide, so x0 may be 0."""
    product: Series | None = None
    base = list(xs)
    while True:
        if exponent & 1:
            product = base if product is None else [coefficient(product, base, k) for k in range(len(base))]
        exponent >>= 1
        if not exponent:
            assert product is not None
            return product
        base = [square_coefficient(base, k) for k in range(len(base))]


Slopes = Callable[..., Sequence[Coefficient]]


def solution(starts: Sequence[Value], slopes: Slopes, xs: Sequence[Coefficient]) -> list[Series]:
    """Return the series of functions y_i of x(t) that begin with `starts` and satisfy y_i' = h_i x'.

    `slopes` takes the coefficients of each y_i up to k, and returns coefficient k of each h_i.

    >>> solution([1.0], lambda y: [y[-1]], [0.0, 1.0, None, None])[0][1:]  # exp(t)
    [np.float64(1.0), np.float64(0.5), np.float64(0.16666666666666666)]
    """
    dx = derivative(xs)
    solutions, factors = [[y] for y in starts], [Series() for _ in starts]
    for k, _ in enumerate(dx):
        for h, newest in zip(factors, slopes(*solutions)):
            h.append(newest)
        for y, h in zip(solutions, factors):
            y.append(over(coefficient(h, dx, k), k + 1))
    return solutions


def add_number(x: Coefficient, k: int, start: float) -> Coefficient:
    """Return coefficient k of a series with a number added: to coefficient 0 alone."""
    return add(x, start) if k == 0 else x


def spread_each(coefficients: Sequence[Coefficient], out: Value) -> Series:
    """Return coefficients of an operand in the shape of the result: coefficients of rank 0 are broadcast."""
    return [None if c is None else spread(c, out) for c in coefficients]


# Arithmetic; neg is declared linear and mul bilinear
