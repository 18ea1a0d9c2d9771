"""Rows: verified bounds beside the plain function, and beside the intervals of mpmath, which are scalars.

One idea: bounds of a function take several operations for each of its own.  An array shares their overhead among its
elements, and a compiled program has none.
Read next: `eager.py`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from kits import installed
from measure import Effort, Samples, race
from table import row

LOWER, UPPER, COUNT = 1.0, 1.1, 10_000
bounds_row = partial(row, needs="calque_bounds")


def f(x: Any) -> Any:
    return np.exp(np.sin(x)) / x + 0.5 * x * x


def ends() -> tuple[np.ndarray, np.ndarray]:
    lower = np.random.default_rng(0).uniform(1.0, 2.0, COUNT)
    return lower, lower + 0.1


@bounds_row("bounds of a number", "us", mpmath=1.0)
def bounds_of_a_number(effort: Effort) -> Samples:
    from calque_bounds import bounds

    bounded, x = bounds(f), np.float64(LOWER)
    contestants = {"calque": partial(bounded, LOWER, UPPER), "numpy": partial(f, x)}
    if installed("mpmath"):
        from mpmath import iv

        interval, half = iv.mpf([LOWER, UPPER]), iv.mpf(0.5)
        contestants["mpmath"] = lambda: iv.exp(iv.sin(interval)) / interval + half * interval * interval
    return race(effort, contestants, per=1, unit=1e-6)


@bounds_row("bounds of degree 2 of a number", "us")
def bounds_of_a_degree(effort: Effort) -> Samples:
    from calque_bounds import bounds

    bounded, x = bounds(f, 2), np.float64(LOWER)
    return race(effort, {"calque": partial(bounded, LOWER, UPPER), "numpy": partial(f, x)}, per=1, unit=1e-6)


@bounds_row("bounds of 10,000 numbers, each", "ns")
def bounds_of_an_array(effort: Effort) -> Samples:
    from calque_bounds import bounds

    bounded, (lower, upper) = bounds(f), ends()
    return race(effort, {"calque": partial(bounded, lower, upper), "numpy": partial(f, lower)}, per=COUNT, unit=1e-9)


@bounds_row("bounds of 10,000 numbers, compiled, each", "ns")
def compiled_bounds(effort: Effort) -> Samples:
    from calque import jit
    from calque_bounds import bounds

    bounded, (lower, upper) = jit(bounds(f)), ends()

    def call() -> Any:
        return bounded(lower, upper)[1].block_until_ready()

    return race(effort, {"calque": call, "numpy": partial(f, lower)}, per=COUNT, unit=1e-9)


@bounds_row("the plain function of 10,000 numbers, compiled, each", "ns")
def compiled_function(effort: Effort) -> Samples:
    from calque import jit

    compiled, (lower, _) = jit(f), ends()
    contestants = {"calque": lambda: compiled(lower).block_until_ready(), "numpy": partial(f, lower)}
    return race(effort, contestants, per=COUNT, unit=1e-9)
