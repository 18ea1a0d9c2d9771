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


# The special functions
DIFFERENCE = "a difference of two functions: its terms cancel by less than two digits"
SUM_NEAR_ROOT = "the derivative is a sum beside its own root: the error is of the terms"
DENSITY = "exp(-x**2 / 2) has the relative error x**2 ulps of its exponent"
POWER_BY_LOGARITHM = "exp(p log(x)) has the relative error p log(x) ulps of its exponent"
RECURRENCE = "a product of up to 8 factors, and a power"

SPECIAL = [
    Allowance(("special.i0e", "special.i1e"), (1, 2), 64, DIFFERENCE, low=0.25, high=64.0),
    Allowance(("special.i1e",), (1,), 32, SUM_NEAR_ROOT, low=1.0, high=2.2, of=0.25),
    Allowance(("special.dawsn",), (1,), 16, SUM_NEAR_ROOT, low=0.6, high=2.1, of=0.5),
    Allowance(("special.dawsn",), (1,), 512, DIFFERENCE, low=0.6, high=7.5),
    Allowance(("special.dawsn",), (2,), 256, SUM_NEAR_ROOT, low=1.0, high=7.5, of=0.25),
    Allowance(("special.erfcx",), (1, 2), 32, DIFFERENCE, low=0.5, high=8.0),
    Allowance(("special.ndtr", "special.log_ndtr"), (0, 1, 2), 512, DENSITY, low=4.0, high=16.0),
    Allowance(("special.ndtr", "special.log_ndtr"), (0, 1, 2), 3200, DENSITY, low=16.0, high=40.0),
    Allowance(("special.gammaln",), (0, 1), 16, SUM_NEAR_ROOT, low=0.25, high=64.0, of=4.0),
    Allowance(("special.digamma",), (0,), 16, SUM_NEAR_ROOT, low=0.25, high=64.0, of=4.0),
    Allowance(("special.gamma",), (1,), 32, SUM_NEAR_ROOT, low=0.25, high=3.0, of=4.0),
    Allowance(("special.gamma",), (0, 1, 2), 64, RECURRENCE),
    Allowance(
        tuple(f"special.{name} of power {p}" for name in ("boxcox", "boxcox1p") for p in (-1.5, 0.5, 3)),
        (0, 1, 2),
        1600,
        POWER_BY_LOGARITHM,
    ),
]

ALLOWANCES: list[Allowance] = [*SPECIAL]
