"""Interval rules of functions of one number: monotone, even, periodic.

One idea: the page "Ranges of functions" states 8 ulps of the result and the effect of one ulp of the operand, in both
evaluators.  So a rule moves the operand outward by more than an ulp, and the result by 8 ulps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calque_bounds import interval as iv
from calque_bounds.interval import Interval
from calque_core import Primitive, lax, typeof
from calque_core.lax import select

Value = Any
Ends = tuple[float, float]
EVERYWHERE = (-np.inf, np.inf)

# Monotone functions


def def_monotone(primitive: Primitive, domain: Ends, image: Ends, sign: int) -> None:
    """Define the rule of a function that grows, or falls for sign -1, on its domain.

    Only numbers of the domain count; without any, the result is all numbers.
    """

    @primitive.def_rule("bounds")
    def monotone_bounds(x: Interval) -> Interval:
        ends = iv.within(iv.outward(*x, iv.ONE_ULP), *domain)
        lower, upper = [primitive.bind(end) for end in ends][::sign]
        return inside(domain, x, iv.within(iv.outward(lower, upper, iv.STATED_ULPS), *image))


def inside(domain: Ends, x: Interval, out: Interval) -> Interval:
    """Return `out`, but all numbers where no number of x is in the domain."""
    if domain == EVERYWHERE:
        return out
    return iv.whole_where((x.upper < domain[0]) | (x.lower > domain[1]), out)


POSITIVE, WITHIN_ONE = (0.0, np.inf), (-1.0, 1.0)
for _domain, _image, _sign, _primitives in (
    (EVERYWHERE, EVERYWHERE, 1, (lax.cbrt_p, lax.atan_p, lax.sinh_p, lax.asinh_p)),
    (EVERYWHERE, POSITIVE, 1, (lax.exp_p, lax.exp2_p)),
    (EVERYWHERE, (-1.0, np.inf), 1, (lax.expm1_p,)),
    (EVERYWHERE, WITHIN_ONE, 1, (lax.tanh_p, lax.erf_p)),
    (EVERYWHERE, (0.0, 1.0), 1, (lax.logistic_p,)),
    (EVERYWHERE, (0.0, 2.0), -1, (lax.erfc_p,)),
    (POSITIVE, EVERYWHERE, 1, (lax.log_p,)),
    (POSITIVE, POSITIVE, -1, (lax.rsqrt_p,)),
    ((-1.0, np.inf), EVERYWHERE, 1, (lax.log1p_p,)),
    ((1.0, np.inf), POSITIVE, 1, (lax.acosh_p,)),
    (WITHIN_ONE, EVERYWHERE, 1, (lax.asin_p, lax.atanh_p, lax.erf_inv_p)),
    (WITHIN_ONE, POSITIVE, -1, (lax.acos_p,)),
):
    for _primitive in _primitives:
        def_monotone(_primitive, _domain, _image, _sign)


@lax.sqrt_p.def_rule("bounds")
def sqrt_bounds(x: Interval) -> Interval:
    """Round by less than an ulp: a square root is correctly rounded, and the operand does not move."""
    lower, upper = (lax.sqrt(lax.max(end, 0.0)) for end in x)
    return inside(POSITIVE, x, iv.within(iv.outward(lower, upper, iv.ONE_ULP), *POSITIVE))


# Even functions that fall, or grow, with the size of the number


def def_even(primitive: Primitive, image: Ends, sign: int) -> None:
    """Define the rule of an even function that grows, or falls for sign -1, with the size of its operand."""

    @primitive.def_rule("bounds")
    def even_bounds(x: Interval) -> Interval:
        sizes = iv.within(iv.outward(*iv.magnitudes(x), iv.ONE_ULP), *POSITIVE)
        lower, upper = [primitive.bind(end) for end in sizes][::sign]
        return iv.within(iv.outward(lower, upper, iv.STATED_ULPS), *image)


def_even(lax.cosh_p, (1.0, np.inf), 1)
def_even(lax.tanh_slope_p, (0.0, 1.0), -1)
def_even(lax.logistic_slope_p, (0.0, 0.25), -1)

# Periodic functions


def has_whole_number(x: Interval, period: float, offset: float) -> Value:
    """Tell whether x / period - offset may be a whole number: not if the rounded ends exclude it."""
    ends = [lax.div(end, period) for end in x]
    slack = [(abs(end) + 1.0) * (8.0 * iv.floats_of(end).epsilon) for end in ends]
    low, high = ends[0] - slack[0] - offset, ends[1] + slack[1] - offset
    return lax.bitwise_not(lax.floor(high) < low)  # NaN, of an infinite end, is a yes


def def_wave(primitive: Primitive, top: float) -> None:
    """Define the rule of a sine that is largest at `top` turns."""

    @primitive.def_rule("bounds")
    def wave_bounds(x: Interval) -> Interval:
        ends = [primitive.bind(end) for end in x]
        error = iv.magnitudes(x).upper * (2.0 * iv.floats_of(x.lower).epsilon)  # of the operand: no slope exceeds 1
        out = iv.within(iv.outward(iv.least(*ends), iv.greatest(*ends), iv.STATED_ULPS, error), -1.0, 1.0)
        has_top, has_bottom = (has_whole_number(x, 2.0 * math.pi, top + half) for half in (0.0, 0.5))
        return Interval(select(has_bottom, -1.0, out.lower), select(has_top, 1.0, out.upper))


def_wave(lax.sin_p, 0.25)
def_wave(lax.cos_p, 0.0)


@lax.tan_p.def_rule("bounds")
def tan_bounds(x: Interval) -> Interval:
    """Return all numbers if there is a pole."""
    lower, upper = ends = [lax.tan(end) for end in x]
    errors = [(1.0 + t * t) * abs(end) * (2.0 * iv.floats_of(end).epsilon) for t, end in zip(ends, x)]
    out = Interval(iv.down(lower, iv.STATED_ULPS, errors[0]), iv.up(upper, iv.STATED_ULPS, errors[1]))
    return iv.whole_where(has_whole_number(x, math.pi, 0.5), out)


@lax.atan2_p.def_rule("bounds")
def atan2_bounds(y: Interval, x: Interval) -> Interval:
    """Take the angles of the corners, but all angles for a box that meets the half line of the angle pi."""
    y, x = iv.outward(*y, iv.ONE_ULP), iv.outward(*x, iv.ONE_ULP)
    corners = [lax.atan2(a, b) for a in y for b in x]
    out = iv.outward(iv.least(*corners), iv.greatest(*corners), iv.STATED_ULPS)
    is_cut = (x.lower <= 0.0) & (y.lower <= 0.0) & (y.upper >= 0.0)
    pi = typeof(out.lower).dtype.type(np.nextafter(math.pi, 4.0))  # above pi, in both dtypes
    return iv.within(Interval(select(is_cut, -pi, out.lower), select(is_cut, pi, out.upper)), -pi, pi)
