"""Intervals: pairs of floats, or of bools, that enclose a number; and how rounding errors are kept outside of them.

One idea: every operation rounds to the nearest float, in evaluation and in compiled programs, so a computed bound moves
outward by more than its error: by `|z| c + step`, computed with the operations of the program itself.

- `c` counts the ulps of the operation, and one for the rounding of the move.  No step of the proof needs an order of
  operations or a rounding that a compiler may change: two operations that it contracts to one leave out a rounding.
- `step` is twice the smallest normal number over the machine epsilon.  It covers results that a compiled program
  flushes to zero.  Floats of this size are multiples of the smallest normal number: so no bound is subnormal, and a
  compiled program takes none for zero when it reads it.
- Where the sign of a result is known, a bound does not move beyond zero.
- A bound is never NaN; a lower bound is never +inf, and an upper bound never -inf.

Read next: `bounds_trace.py` for the trace; `rules` for the rules.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np

from calque_core import Primitive, is_tracer, lax, typeof
from calque_core.extend import where

Value = Any
HALF_AN_ULP = 0.5  # the error of + - * and of conversions
ONE_ULP = 1.0  # of division, which a compiler may replace by a product with a reciprocal, and of roots
STATED_ULPS = 8.0  # of other functions, stated by the page "Ranges of functions", in both evaluators


class Interval(NamedTuple):
    """All numbers from `lower` to `upper`; the two are one object if the value is known and exact."""

    lower: Value
    upper: Value

    @property
    def is_exact(self) -> bool:
        """Whether the value is one number, without looking at the numbers."""
        return self.lower is self.upper


def one(x: Value) -> Interval:
    """Return the interval of one number."""
    return Interval(x, x)


class Floats(NamedTuple):
    """Constants of a float dtype."""

    epsilon: float
    smallest: float  # normal number
    step: float
    largest: float


@cache
def floats(dtype: np.dtype[Any]) -> Floats:
    """Return the constants of float32 or float64."""
    info = np.finfo(dtype)
    return Floats(*map(float, (info.eps, info.smallest_normal, 2 * info.smallest_normal / info.eps, info.max)))


def floats_of(*xs: Value) -> Floats:
    """Return the constants of the dtype that operands have together: a Python scalar takes that of an array."""
    avals = [typeof(x) for x in xs]
    return floats(next((aval for aval in avals if not aval.weak_type), avals[0]).dtype)


# Outward rounding


def down(z: Value, ulps: float, error: Value = 0.0) -> Value:
    """Return a number below each number that differs from `z` by `ulps` and by `error`."""
    epsilon, _, step, largest = floats_of(z)
    z = lax.min(z, largest)
    return z - (abs(z) * ((ulps + 1.0) * epsilon) + (error + step))


def up(z: Value, ulps: float, error: Value = 0.0) -> Value:
    """Return a number above each number that differs from `z` by `ulps` and by `error`."""
    epsilon, _, step, largest = floats_of(z)
    z = lax.max(z, -largest)
    return z + (abs(z) * ((ulps + 1.0) * epsilon) + (error + step))


def outward(lower: Value, upper: Value, ulps: float = HALF_AN_ULP, error: Value = 0.0) -> Interval:
    """Return an interval that contains all numbers that round to a float from `lower` to `upper`."""
    return Interval(down(lower, ulps, error), up(upper, ulps, error))


def within(x: Interval, low: float, high: float) -> Interval:
    """Return an interval, cut at the ends of the range of a function."""
    lower = x.lower if low == -np.inf else lax.max(x.lower, low)
    return Interval(lower, x.upper if high == np.inf else lax.min(x.upper, high))


def whole_where(condition: Value, x: Interval) -> Interval:
    """Return `x`, but all numbers where a condition holds."""
    return Interval(lax.select(condition, -np.inf, x.lower), lax.select(condition, np.inf, x.upper))


def no_nan(z: Value, instead: float) -> Value:
    """Return `z` with `instead` in the place of each NaN."""
    return lax.select(lax.ne(z, z), instead, z)


# Intervals of other intervals


def least(*xs: Value) -> Value:
    """Return the smallest of numbers or bools."""
    return reduce(lax.bitwise_and if typeof(xs[0]).kind == "b" else lax.min, xs)


def greatest(*xs: Value) -> Value:
    """Return the largest of numbers or bools."""
    return reduce(lax.bitwise_or if typeof(xs[0]).kind == "b" else lax.max, xs)


def magnitudes(x: Interval) -> Interval:
    """Return the absolute values of the numbers of an interval."""
    lower = lax.max(lax.max(x.lower, -x.upper), 0.0)
    return Interval(lower, lax.max(-x.lower, x.upper))


# Intervals of arrays


def enclose(lower: Value, upper: Value) -> Interval:
    """Return the interval between two arrays of one type.

    A subnormal bound moves outward to zero or to a normal number, an infinite number to the numbers beyond the largest
    float, and NaN to infinity.
    """
    if typeof(lower).kind != "f":
        return Interval(lower, upper)
    if is_plain(lower) and (lower is upper or is_plain(upper)):
        return Interval(lower, upper)
    lower, upper = (lax.convert_element_type(x, typeof(x).dtype) for x in (lower, upper))
    return Interval(normal_below_p.bind(lower), -normal_below_p.bind(-upper))


def is_plain(x: Value) -> bool:
    """Tell whether all elements are zero or normal, which only an array of NumPy's shows."""
    if is_tracer(x) or not isinstance(x, (float, np.generic, np.ndarray)):
        return False
    size = np.abs(x)
    return bool(np.all((size == 0.0) | ((size >= floats_of(x).smallest) & (size <= floats_of(x).largest))))


# The next lower number that is zero or normal.  Bits tell, since compiled programs take a subnormal number for zero.
normal_below_p = Primitive("normal_below")
normal_below_p.def_abstract_eval(lambda x_aval: x_aval)


@normal_below_p.def_rule("decomposition")
def normal_below(x: Value) -> Value:
    dtype = typeof(x).dtype
    integer, digits = np.dtype(f"int{8 * dtype.itemsize}"), np.finfo(dtype).nmant
    bits = lax.bitcast_convert_type(x, integer)
    size = bits & np.iinfo(integer).max
    is_subnormal = (size > 0) & (size < 1 << digits)
    lower = lax.select(is_subnormal & (bits < 0), -floats(dtype).smallest, lax.select(is_subnormal, 0.0, x))
    return no_nan(lax.min(lower, floats(dtype).largest), -np.inf)


# Refusals


def check_dtype(x: Value, name: str) -> None:
    """Check that bounds are defined for the dtype of `x`.

    Raises: TypeError for complex numbers and for floats that are neither float32 nor float64.
    """
    aval = typeof(x)
    if aval.kind not in "fiub" or (aval.kind == "f" and aval.dtype.itemsize not in (4, 8)):
        raise TypeError(
            f"bounds got {name} of type {aval}{where()}. It is defined for float32, float64, integers and bools; "
            "convert the numbers first, or bound the real and the imaginary parts."
        )


def known(x: Interval, name: str, remedy: str) -> Interval:
    """Return an interval of one number with one array.  Raises: TypeError if it has, or may have, more numbers."""
    is_known = not is_tracer(x.lower) and not is_tracer(x.upper) and np.array_equal(x.lower, x.upper)
    if not x.is_exact and not is_known:
        raise TypeError(
            f"bounds met {name}{where()} that depends on the interval: it differs for numbers in it, or a compiled or "
            f"mapped program cannot tell. {remedy}"
        )
    return one(x.lower)
