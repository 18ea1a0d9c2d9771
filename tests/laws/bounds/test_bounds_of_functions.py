"""No value of a function of `lax` lies outside of its bounds: a million points, beside mpmath.

The rows are those of the law of ranges.
"""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np
import pytest
from boxes import around, boxes, outside, right_values
from ranges_elementwise import ROWS

from calque_bounds import bounds
from calque_xla_backend import jit

OF_LAX = [row for row in ROWS if row.name.startswith("lax.")]
COUNT, PARTS = 1000, 7  # points of a case, and cases of a row and a dtype


def test_there_are_a_million_points():
    assert len(OF_LAX) * 2 * PARTS * COUNT >= 10**6


@cache
def bounds_of(row):
    """Return the bounds of a row, evaluated and compiled."""
    f = row.function if row.second is None else lambda p: row.function(*p)
    return bounds(f), jit(bounds(f))


@pytest.mark.sampled(keep=0.006)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", OF_LAX, ids=lambda row: row.name)
def test_no_value_lies_outside(row, dtype, part):
    rng = np.random.default_rng([part, zlib.crc32(row.name.encode())])
    lower, upper, x = boxes(np.dtype(dtype), COUNT, row.near, rng)
    y = None if row.second is None else row.second(x).astype(dtype)
    if y is not None:
        lower, upper = zip((lower, upper), around(np.where(np.isfinite(y), y, 1).astype(dtype), rng))
        y = np.where(np.isfinite(y), y, 1).astype(dtype)
    right = right_values(row, x, y)
    for bounded in bounds_of(row):
        low, high = bounded(lower, upper)
        assert low.dtype == high.dtype == dtype
        is_outside = outside(low, high, right)
        assert not is_outside.any(), list(
            zip(x[is_outside], *([] if y is None else [y[is_outside]]), right[is_outside])
        )
