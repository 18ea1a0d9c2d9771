"""Rows of the law of ranges: special functions of `lax` and `scipy.special`."""

from __future__ import annotations

import ranges as r
from mpmath import mp
from ranges import Row, Series

from calque_core import lax


def i0(x: Series) -> Series:
    return r.chain(lambda x: mp.besseli(0, x), i1, x)


def i1(x: Series) -> Series:
    """Return I1(x); its slope is I0(x) - I1(x) / x, and 1/2 at 0."""
    return r.chain(lambda x: mp.besseli(1, x), lambda x: i0(x) - i1(x) / x, x)


ROWS = [
    Row("lax.erf", lax.erf, r.erf),
    Row("lax.erfc", lax.erfc, r.erfc),
]
