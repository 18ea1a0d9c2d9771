"""Interval rules of reductions and products.

One idea: a sum of n numbers in any order differs from the exact one by less than n ulps of the sum of their sizes.
Source: Higham, Accuracy and Stability of Numerical Algorithms (2002), section 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from calque_bounds import interval as iv
from calque_bounds.interval import Interval
from calque_bounds.rules.shapes import with_known
from calque_bounds.table import def_floats, def_growing
from calque_core import Primitive, lax, typeof

Value = Any

def_growing(lax.reduce_max_p, lax.reduce_min_p, lax.reduce_and_p, lax.reduce_or_p, lax.cummax_p, lax.cummin_p)

# Sums


def sum_between(lower: Value, upper: Value, sizes: Value, count: int) -> Interval:
    """Return the interval of sums of `count` rounded numbers, from the sums of the bounds and of the sizes.

    A sum of sizes beyond the largest float decides nothing: the parts of the sum may have overflowed.
    """
    epsilon, smallest, step, largest = iv.floats_of(sizes)
    error = sizes * ((count + 4.0) * epsilon) + (step + 2.0 * count * smallest)
    is_known = sizes < largest
    return Interval(lax.select(is_known, lower - error, -np.inf), lax.select(is_known, upper + error, np.inf))


def def_sum(primitive: Primitive, count: Callable[..., int], positions: Sequence[int] = ()) -> None:
    """Define the rule of a sum; `count(*shapes, **params)` is the largest number of its terms."""

    def sum_bounds(*xs: Interval, **params: Any) -> Interval:
        if positions:
            xs = tuple(with_known(primitive, xs, slice(1, 2)))
        n = count(*[typeof(x.lower).shape for x in xs], **params)
        sizes = [x.lower if k in positions else iv.magnitudes(x).upper for k, x in enumerate(xs)]
        lower, upper, size = (primitive.bind(*ends, **params) for ends in (*zip(*xs), sizes))
        return sum_between(lower, upper, size, n)

    def_floats(primitive, sum_bounds)


def_sum(lax.reduce_sum_p, lambda shape, *, axes, **_: math.prod(shape[axis] for axis in axes))
def_sum(lax.cumsum_p, lambda shape, *, axis, **_: shape[axis])
def_sum(lax.scatter_add_p, lambda _, __, updates, **___: math.prod(updates) + 1, (1,))

# Products


def dot_general_bounds(
    x: Interval, y: Interval, *, dimension_numbers: Any, precision: Any, preferred_element_type: Any
) -> Interval:
    """Multiply centres, and add products with radii; of a known factor, both are exact up to rounding.

    An infinite interval has no finite centre: a sum with it gives all numbers.
    Source: Rump, Fast and parallel interval arithmetic (1999), section 3.
    """
    shape = typeof(x.lower).shape
    count = math.prod(shape[axis] for axis in dimension_numbers[0][0])
    dot = partial(
        lax.dot_general,
        dimension_numbers=dimension_numbers,
        precision="highest",
        preferred_element_type=preferred_element_type,
    )
    (a, r), (b, s) = centre_and_radius(x), centre_and_radius(y)
    size_a, size_b = lax.abs(a), lax.abs(b)
    centre, size = dot(a, b), dot(size_a, size_b)
    radius = [dot(size_a, s)] if s is not None else []
    if r is not None:
        radius.append(dot(r, size_b if s is None else size_b + s))
    total = sum(radius[1:], radius[0]) if radius else lax.zeros_like(size)
    return sum_between(centre - total, centre + total, size + total, 2 * count + 8)


def centre_and_radius(x: Interval) -> tuple[Value, Value | None]:
    """Return a number near the middle of an interval, and its distance from the ends, rounded up; None for zero."""
    if x.is_exact:
        return x.lower, None
    epsilon, _, step, _ = iv.floats_of(x.lower)
    centre = x.lower * 0.5 + x.upper * 0.5
    radius = lax.max(centre - x.lower, x.upper - centre)
    return centre, radius * (1.0 + 4.0 * epsilon) + step


def_floats(lax.dot_general_p, dot_general_bounds)
