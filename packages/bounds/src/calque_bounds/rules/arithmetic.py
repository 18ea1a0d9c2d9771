"""Interval rules of arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_bounds import interval as iv
from calque_bounds.interval import Interval
from calque_bounds.table import EXACT, def_floats, def_growing
from calque_core import lax
from calque_core.lax import select

Value = Any

# Sums


def neg_bounds(x: Interval) -> Interval:
    return Interval(-x.upper, -x.lower) if not x.is_exact else iv.one(-x.lower)


def add_bounds(x: Interval, y: Interval) -> Interval:
    return iv.outward(x.lower + y.lower, x.upper + y.upper)


def sub_bounds(x: Interval, y: Interval) -> Interval:
    if x is y:
        return iv.one(lax.zeros_like(x.lower))
    return iv.outward(x.lower - y.upper, x.upper - y.lower)


# Products


def mul_bounds(x: Interval, y: Interval) -> Interval:
    """Take the extreme products of the bounds; zero times infinity is zero, since the factors are finite numbers."""
    if x is y:
        return square_bounds(x)
    products = [iv.no_nan(a * b, 0.0) for a in ends(x) for b in ends(y)]
    is_positive = ((x.lower >= 0.0) & (y.lower >= 0.0)) | ((x.upper <= 0.0) & (y.upper <= 0.0))
    is_negative = ((x.lower >= 0.0) & (y.upper <= 0.0)) | ((x.upper <= 0.0) & (y.lower >= 0.0))
    return signed(iv.outward(iv.least(*products), iv.greatest(*products)), is_positive, is_negative)


def ends(x: Interval) -> tuple[Value, ...]:
    return x[:1] if x.is_exact else x


def signed(x: Interval, is_positive: Value, is_negative: Value) -> Interval:
    """Return an interval, cut at zero where no number is negative, or none is positive."""
    lower = select(is_positive, lax.max(x.lower, 0.0), x.lower)
    return Interval(lower, select(is_negative, lax.min(x.upper, 0.0), x.upper))


def square_bounds(x: Interval) -> Interval:
    size = iv.magnitudes(x)
    return iv.within(iv.outward(size.lower * size.lower, size.upper * size.upper), 0.0, np.inf)


def integer_pow_bounds(x: Interval, *, y: int) -> Interval:
    if y == 0:
        return iv.one(lax.ones_like(x.lower))
    if y < 0:
        return div_bounds(iv.one(lax.ones_like(x.lower)), integer_pow_bounds(x, y=-y))
    base = iv.magnitudes(x) if y % 2 == 0 else x
    lower, upper = (lax.integer_pow(end, y) for end in base)
    return signed(iv.outward(lower, upper, max(iv.STATED_ULPS, y)), base.lower >= 0.0, base.upper <= 0.0)


# Quotients


def div_bounds(x: Interval, y: Interval) -> Interval:
    """Divide the ends of x by the sizes of y; all numbers where zero lies inside of y.

    A compiler may multiply by the reciprocal, which is flushed to zero if it is subnormal: such a divisor is rounded
    down to a smaller number, or up to infinity.
    """
    limit = 0.25 / iv.floats_of(x.lower, y.lower).smallest
    is_negative = y.upper <= 0.0
    size = iv.magnitudes(y)
    smaller, larger = lax.abs(lax.min(size.lower, limit)), select(size.upper > limit, np.inf, size.upper)
    low, high = select(is_negative, -x.upper, x.lower), select(is_negative, -x.lower, x.upper)
    quotients = iv.outward(
        lax.div(low, select(low < 0.0, smaller, larger)),
        lax.div(high, select(high > 0.0, smaller, larger)),
        iv.ONE_ULP,
    )
    has_zero = ((y.lower < 0.0) & (y.upper > 0.0)) | (size.upper <= 0.0)
    return iv.whole_where(has_zero, signed(quotients, low >= 0.0, high <= 0.0))


def rem_bounds(x: Interval, y: Interval) -> Interval:
    """Subtract the multiple of y, if it is the same for all numbers; the size of y and the sign of x are limits."""
    quotient = div_bounds(x, y)
    multiple, limit = truncated(quotient.lower), iv.magnitudes(y).upper
    remainder = sub_bounds(x, mul_bounds(Interval(multiple, multiple), y))
    remainder = iv.whole_where(multiple != truncated(quotient.upper), remainder)
    lower, upper = lax.max(lax.min(x.lower, 0.0), -limit), lax.min(lax.max(x.upper, 0.0), limit)
    return Interval(lax.max(remainder.lower, lower), lax.min(remainder.upper, upper))


def truncated(x: Value) -> Value:
    """Return the whole number next to x on the side of zero."""
    return select(x < 0.0, lax.ceil(x), lax.floor(x))


# Powers of any exponent


def pow_bounds(x: Interval, y: Interval) -> Interval:
    """Take the extremes at the corners: a power is monotone in each operand.

    A negative number has powers for whole exponents only: of any other exponent, the numbers that are not negative
    count.
    """
    size = iv.magnitudes(x)
    of_sizes, exponent = power_of_sizes(size, y), y.lower
    is_even = (y.lower == y.upper) & (exponent * 0.5 == lax.floor(exponent * 0.5))
    positive = power_of_sizes(iv.within(x, 0.0, np.inf), y)
    lower = select(is_even, of_sizes.lower, -of_sizes.upper)
    is_plain = x.lower >= 0.0
    return Interval(select(is_plain, positive.lower, lower), select(is_plain, positive.upper, of_sizes.upper))


def power_of_sizes(x: Interval, y: Interval) -> Interval:
    base, exponent = iv.within(iv.outward(*x, iv.ONE_ULP), 0.0, np.inf), iv.outward(*y, iv.ONE_ULP)
    corners = [lax.pow(a, b) for a in base for b in exponent]
    return iv.within(iv.outward(iv.least(*corners), iv.greatest(*corners), iv.STATED_ULPS), 0.0, np.inf)


# Where a number lies


def abs_bounds(x: Interval) -> Interval:
    return iv.one(lax.abs(x.lower)) if x.is_exact else iv.magnitudes(x)


for _primitive, _rule in (
    (lax.neg_p, neg_bounds),
    (lax.add_p, add_bounds),
    (lax.add_any_p, add_bounds),
    (lax.sub_p, sub_bounds),
    (lax.mul_p, mul_bounds),
    (lax.square_p, square_bounds),
    (lax.integer_pow_p, integer_pow_bounds),
    (lax.div_p, div_bounds),
    (lax.rem_p, rem_bounds),
    (lax.pow_p, pow_bounds),
    (lax.abs_p, abs_bounds),
):
    def_floats(_primitive, _rule)
def_growing(lax.max_p, lax.min_p, lax.sign_p, lax.floor_p, lax.ceil_p, lax.round_p, lax.reduce_precision_p)
EXACT.update((lax.neg_p, lax.abs_p))
