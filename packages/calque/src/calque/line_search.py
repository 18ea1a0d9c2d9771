"""A step along a line that satisfies the strong Wolfe conditions.

One idea: the search for an interval and the search in it are one loop.  `low` is the best point so far, `high` the
other end of an interval that has a good step; at first `high` is at infinity, and the step doubles.

Read next: `minimizing.py`, which takes such steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from calque_core import finfo, typeof
from calque_core.lax import while_loop
from calque_numpy import isfinite, maximum, minimum, sign, sqrt, where

Value = Any

DECREASE, CURVATURE = 1e-4, 0.9  # the constants c1 and c2 of the conditions
MARGIN = 0.1  # of an interval, which an interpolated step keeps from its ends


class Point(NamedTuple):
    """A step along the line, and the value, the slope along the line and the gradient there."""

    step: Value
    value: Value
    slope: Value
    gradient: Value


def wolfe_step(
    fun: Callable[[Value], tuple[Value, Value]], x: Value, start: Point, direction: Value, first: Value, most: int
) -> tuple[Point, Value]:
    """Return the point that the search ends with, and how often it called `fun`, which returns value and gradient.

    `start` is the point at step 0, and has the step 0 again if no lower value was seen in `most` calls.  A rounding
    error of the value counts as no rise: near a minimum the slope is more precise.
    Source: Nocedal & Wright (2006), algorithms 3.5 and 3.6.
    """
    slack = finfo(typeof(x).dtype).eps * abs(start.value)

    def is_low(trial: Point, low: Point) -> Value:
        bound = start.value + DECREASE * trial.step * start.slope
        return isfinite(trial.value) & (trial.value <= bound + slack) & (trial.value <= low.value + slack)

    def search(state: tuple[Any, ...]) -> tuple[Any, ...]:
        step, low, high, _, count = state
        value, gradient = fun(x + step * direction)
        trial = Point(step, value, gradient @ direction, gradient)
        descends = is_low(trial, low)
        passed = trial.slope * sign(high.step - low.step) >= 0.0  # the minimum lies between low and trial
        new_high = _choose(descends, _choose(passed, low, high), trial)
        new_low = _choose(descends, trial, low)
        is_done = descends & (abs(trial.slope) <= -CURVATURE * start.slope)
        is_bounded = isfinite(new_high.step)
        end = new_high._replace(step=where(is_bounded, new_high.step, new_low.step))
        step = where(is_bounded, _between(new_low, end), 2.0 * step)
        return step, new_low, new_high, is_done, count + 1

    high = start._replace(step=start.step + np.inf)
    state = first, start, high, False, 0
    _, low, _, _, count = while_loop(lambda state: ~state[3] & (state[4] < most), search, state)
    return low, count


def _choose(condition: Value, yes: Point, no: Point) -> Point:
    return Point(*(where(condition, x, y) for x, y in zip(yes, no)))


def _between(low: Point, high: Point) -> Value:
    """Return the minimum of the cubic through both points, or the middle if it is near an end or there is none.

    Source: Nocedal & Wright (2006), equation 3.59.
    """
    a, b = minimum(low.step, high.step), maximum(low.step, high.step)
    middle = a + 0.5 * (b - a)
    width = where(high.step == low.step, 1.0, high.step - low.step)
    d1 = low.slope + high.slope - 3.0 * (high.value - low.value) / width
    d2 = sign(width) * sqrt(maximum(d1 * d1 - low.slope * high.slope, 0.0))
    under = high.slope - low.slope + 2.0 * d2
    cubic = high.step - width * (high.slope + d2 - d1) / where(under == 0.0, 1.0, under)
    is_inside = (cubic >= a + MARGIN * (b - a)) & (cubic <= b - MARGIN * (b - a)) & (under != 0.0)
    return where(is_inside, cubic, middle)
