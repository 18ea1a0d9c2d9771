"""Truncated Taylor series of intervals: the arithmetic of rules of kind "taylor".

One idea: a series is a list of coefficients x0, x1, ... of x(t), each computed under the trace of bounds, so that each
encloses the exact coefficient for all numbers of the box.  A coefficient that is exactly zero is None.  All operations
are functions of `lax`: an operator between plain arrays would round to the nearest number.

Source: Griewank & Walther, Evaluating Derivatives (2008), section 13.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import lax, typeof

Value = Any
Coefficient = Any  # an array, or None
Series = list[Coefficient]
Multiply = Callable[[Value, Value], Value]


def plus(x: Coefficient, y: Coefficient) -> Coefficient:
    """Return x + y."""
    if x is None or y is None:
        return y if x is None else x
    return lax.add(x, y)


def times(x: Coefficient, factor: Value) -> Coefficient:
    """Return x times a number or an array."""
    return None if x is None else lax.mul(x, factor)


def minus(x: Coefficient, y: Coefficient) -> Coefficient:
    """Return x - y."""
    if x is None or y is None:
        return x if y is None else lax.neg(y)
    return lax.sub(x, y)


def instantiate(x: Coefficient, like: Value) -> Value:
    """Return a coefficient, zeros for None."""
    return lax.zeros_like(like) if x is None else x


def product(xs: Series, ys: Series, k: int, multiply: Multiply = lax.mul) -> Coefficient:
    """Return coefficient k of a product of two series."""
    total = None
    for x, y in zip(xs[: k + 1], reversed(ys[: k + 1])):
        if x is not None and y is not None:
            total = plus(total, multiply(x, y))
    return total


def square(xs: Series) -> Series:
    """Return the series of a square: the square of a coefficient is not negative, which a product does not know."""
    out = []
    for k in range(len(xs)):
        pairs = product(xs[: (k + 1) // 2], xs[k // 2 + 1 : k + 1], (k + 1) // 2 - 1)
        middle = xs[k // 2] if k % 2 == 0 else None
        out.append(plus(times(pairs, 2.0), None if middle is None else lax.square(middle)))
    return out


def added(xs: Series, number: float) -> Series:
    """Return the series of x + number."""
    return [lax.add(xs[0], number), *xs[1:]]


def negative(xs: Series) -> Series:
    """Return the series of -x."""
    return [None if x is None else lax.neg(x) for x in xs]


def quotient(xs: Series, ys: Series) -> Series:
    """Return the series of q = x / y, from q y = x."""
    out: Series = []
    for k, x in enumerate(xs):
        numerator = minus(x, product(ys[1:], out, k - 1))
        out.append(None if numerator is None else lax.div(numerator, ys[0]))
    return out


def reciprocal(xs: Series) -> Series:
    """Return the series of 1 / x."""
    return quotient([lax.ones_like(xs[0]), *[None] * (len(xs) - 1)], xs)


def solution(starts: Sequence[Value], slopes: Callable[..., Sequence[Coefficient]], xs: Series) -> list[Series]:
    """Return the series of functions y of x(t) that begin with `starts` and satisfy y' = h x' for each.

    `slopes` takes the coefficients of each y up to k, and returns coefficient k of each h.
    """
    ys, hs = [[start] for start in starts], [Series() for _ in starts]
    for k in range(1, len(xs)):
        for h, newest in zip(hs, slopes(*ys)):
            h.append(newest)
        moves = [times(x, float(j)) for j, x in enumerate(xs[1 : k + 1], 1)]
        for y, h in zip(ys, hs):
            total = product(moves, h, k - 1)
            y.append(None if total is None else lax.div(total, float(k)))
    return ys


def integral(start: Value, slope: Series, xs: Series) -> Series:
    """Return the series of y that begins with `start`, where y' = h x' and h is known."""
    return solution([start], lambda y: [slope[len(y) - 1]], xs)[0]


def power(start: Value, xs: Series, exponent: Value, divisor: float = 1.0) -> Series:
    """Return the series of y = x**r, which begins with `start`, for r = exponent / divisor, from x y' = r y x'."""
    ys: Series = [start]
    exponent = lax.convert_element_type(exponent, typeof(xs[0]).dtype)
    for k in range(1, len(xs)):
        total = None
        for j in range(1, k + 1):
            if xs[j] is not None and ys[k - j] is not None:
                factor = lax.sub(lax.mul(exponent, float(j)), divisor * (k - j))
                total = plus(total, lax.mul(lax.mul(xs[j], ys[k - j]), factor))
        ys.append(None if total is None else lax.div(total, lax.mul(xs[0], divisor * k)))
    return ys


def whole_power(xs: Series, exponent: int) -> Series:
    """Return the series of x**n for n > 0, by squares and products."""
    if exponent == 1:
        return xs
    half = square(whole_power(xs, exponent // 2))
    out = [product(half, xs, k) for k in range(len(xs))] if exponent % 2 else half
    return [lax.integer_pow(xs[0], exponent), *out[1:]]
