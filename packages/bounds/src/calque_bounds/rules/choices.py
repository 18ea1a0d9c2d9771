"""Interval rules of comparisons, of logic, of choices and of conversions.

One idea: a comparison of intervals is an interval of bools, False to True where both may be; a choice by it encloses
both cases.  At the end are the primitives that bounds refuse, each with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_bounds import interval as iv
from calque_bounds.interval import Interval
from calque_bounds.table import EXACT, all_unless, def_growing, grow
from calque_core import Primitive, lax, typeof
from calque_core.extend import where
from calque_core.lax import bitwise_not, convert_element_type, le, lt, select

Value = Any

# Comparisons


def less(x: Interval, y: Interval, compare: Callable[[Value, Value], Value]) -> Interval:
    """Compare by `lt` or `le`: surely, and possibly."""
    return Interval(compare(x.upper, y.lower), compare(x.lower, y.upper))


def equal(x: Interval, y: Interval) -> Interval:
    is_equal = (x.lower == y.upper) & (x.upper == y.lower)
    return Interval(is_equal, (x.lower <= y.upper) & (y.lower <= x.upper))


def inverse(x: Interval) -> Interval:
    return iv.one(bitwise_not(x.lower)) if x.is_exact else Interval(bitwise_not(x.upper), bitwise_not(x.lower))


def def_comparison(primitive: Primitive, rule: Callable[[Interval, Interval], Interval]) -> None:
    """Define the rule of a comparison; of a value with itself, the answer is known."""

    @primitive.def_rule("bounds")
    def comparison_bounds(x: Interval, y: Interval) -> Interval:
        if x is y or (x.is_exact and y.is_exact):
            return iv.one(primitive.bind(x.lower, y.lower))
        return rule(x, y)


def_comparison(lax.lt_p, lambda x, y: less(x, y, lt))
def_comparison(lax.le_p, lambda x, y: less(x, y, le))
def_comparison(lax.gt_p, lambda x, y: less(y, x, lt))
def_comparison(lax.ge_p, lambda x, y: less(y, x, le))
def_comparison(lax.eq_p, equal)
def_comparison(lax.ne_p, lambda x, y: inverse(equal(x, y)))


# The numbers are real: all are finite.  Beyond the largest float, evaluation may differ.
lax.is_finite_p.def_rule("bounds", lambda x: Interval(iv.least(*map(lax.is_finite, x)), lax.eq(x.lower, x.lower)))


# Logic


def of_bits(primitive: Primitive, *xs: Interval) -> Interval:
    """Apply a primitive to integers, whose bits must be known."""
    return grow(primitive, *[iv.known(x, f"'{primitive.name}' of bits", "Compute them from constants.") for x in xs])  # type: ignore[no-any-return]


def of_bools(primitive: Primitive, rule: Callable[..., Interval], *xs: Interval) -> Interval:
    """Apply a rule for bools."""
    return rule(*xs) if typeof(xs[0].lower).dtype == bool else of_bits(primitive, *xs)


for _primitive in (lax.shift_left_p, lax.shift_right_logical_p, lax.shift_right_arithmetic_p, lax.clz_p):
    _primitive.def_rule("bounds", partial(of_bits, _primitive))
lax.population_count_p.def_rule("bounds", partial(of_bits, lax.population_count_p))
lax.and_p.def_rule("bounds", partial(of_bools, lax.and_p, partial(grow, lax.and_p)))
lax.or_p.def_rule("bounds", partial(of_bools, lax.or_p, partial(grow, lax.or_p)))
lax.xor_p.def_rule("bounds", partial(of_bools, lax.xor_p, lambda x, y: inverse(equal(x, y))))
lax.not_p.def_rule("bounds", partial(of_bools, lax.not_p, inverse))

# Choices


@lax.select_n_p.def_rule("bounds")
def select_n_bounds(which: Interval, *cases: Interval) -> Interval:
    """Enclose the cases that the selector allows."""
    if which.is_exact:
        return grow(lax.select_n_p, which, *cases)  # type: ignore[no-any-return]
    lower, upper = (lax.select_n(which.lower, *ends) for ends in zip(*cases))
    for is_possible, case in zip(possible_cases(which, len(cases)), cases):
        lower = lax.select_n(is_possible, lower, iv.least(lower, case.lower))
        upper = lax.select_n(is_possible, upper, iv.greatest(upper, case.upper))
    return Interval(lower, upper)


def possible_cases(which: Interval, count: int) -> Sequence[Value]:
    """Tell for each case whether a selector may choose it; a number out of range chooses the nearest case."""
    if typeof(which.lower).dtype == bool:
        return [bitwise_not(which.lower), which.upper][:count]
    lower, upper = (lax.clamp(0, end, count - 1) for end in which)
    return [(lower <= number) & (upper >= number) for number in range(count)]


# Conversions


@lax.convert_element_type_p.def_rule("bounds")
def convert_bounds(x: Interval, *, new_dtype: np.dtype[Any], weak_type: bool) -> Interval:
    old, convert = typeof(x.lower), partial(convert_element_type, new_dtype=new_dtype)
    iv.check_dtype(convert(x.lower), "a conversion to numbers")
    if new_dtype.kind == "b":
        return inverse(equal(x, iv.one(lax.zeros_like(x.lower))))
    if new_dtype.kind == "f":
        return to_floats(x, old.dtype, new_dtype)
    if old.kind == "f":
        return to_integers(x, new_dtype)
    if x.is_exact:
        return iv.one(convert(x.lower))
    if np.can_cast(old.dtype, new_dtype):
        return Interval(convert(x.lower), convert(x.upper))
    return all_unless(lax.eq(*x), *map(convert, x))


def to_floats(x: Interval, old: np.dtype[Any], new: np.dtype[Any]) -> Interval:
    """Convert to floats; outward, unless a float of the new dtype has the number."""
    lower, upper = convert_element_type(x.lower, new), convert_element_type(x.upper, new)
    if old.kind == "b" or old.itemsize < new.itemsize or old == new:
        return Interval(lower, lower) if x.is_exact else Interval(lower, upper)
    if old.kind == "f":
        return iv.outward(lower, upper, iv.HALF_AN_ULP)
    largest = 1.0 / iv.floats(new).epsilon  # up to here, a float has each whole number
    out = iv.outward(lower, upper, iv.HALF_AN_ULP)
    return Interval(select(abs(lower) < largest, lower, out.lower), select(abs(upper) < largest, upper, out.upper))


def to_integers(x: Interval, new: np.dtype[Any]) -> Interval:
    """Convert floats, which are cut toward zero; beyond the range of the dtype, any integer may result."""
    info = np.iinfo(new)
    low, high = float(info.min), float(info.max) * (1.0 - iv.floats_of(x.lower).epsilon)
    is_inside = (x.lower >= low) & (x.upper <= high)
    ends = [convert_element_type(lax.clamp(low, end, high), new) for end in x]
    return all_unless(is_inside, *ends)


EXACT.update((lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p, lax.eq_p, lax.ne_p, lax.is_finite_p, lax.select_n_p))
EXACT.update((lax.and_p, lax.or_p, lax.xor_p, lax.not_p, lax.convert_element_type_p))
def_growing(iv.normal_below_p, lax.clamp_p, lax.stop_gradient_p, lax.discard_p, lax.name_p, lax.optimization_barrier_p)

# Refusals


def refuse(primitive: Primitive, reason: str) -> None:
    """Define a rule that raises; of constants, the result is a constant."""
    EXACT.add(primitive)

    @primitive.def_rule("bounds")
    def refused(*_: Interval, **__: Any) -> None:
        raise TypeError(f"bounds do not exist for '{primitive.name}'{where()}: {reason}")


for _reason, _primitives in {
    "its result is the solution of an equation, which a solver approximates. Bound the residual instead.": (
        *(lax.custom_linear_solve_p, lax.custom_root_p),
    ),
    "bits of a number do not grow with it. Compute them from constants.": (lax.bitcast_convert_type_p, lax.nextafter_p),
    "complex numbers have no order. Bound the real and the imaginary parts.": (
        *(lax.complex_p, lax.real_p, lax.imag_p, lax.conj_p),
    ),
    "the position of an extreme element jumps within the intervals. Bound the element itself.": (
        *(lax.argmax_p, lax.argmin_p, lax.top_k_p),
    ),
}.items():
    for _primitive in _primitives:
        refuse(_primitive, _reason)
