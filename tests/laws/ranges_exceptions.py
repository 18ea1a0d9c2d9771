"""The exceptions of the law of ranges, in one table; the page `docs/ranges.md` shows it.

An exception says how many ulps a function may be off in a region.  It cannot allow NaN, an infinity or zero where the
right result is a normal number: `ranges.ulps_off` counts these as infinitely many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EVALUATED, COMPILED, KNOWN = "evaluated", "compiled", "known"
WAYS = (EVALUATED, COMPILED, KNOWN)


@dataclass(frozen=True)
class Allowance:
    """`ulps` for the rows `names`, where `low <= |x| <= high`; of numbers of at least the size `of`."""

    names: tuple[str, ...]
    orders: tuple[int, ...]
    ulps: float
    reason: str
    ways: tuple[str, ...] = WAYS
    dtypes: tuple[str, ...] = ("float32", "float64")
    low: float = 0.0
    high: float = np.inf
    of: float = 0.0


ALLOWANCES: list[Allowance] = []
