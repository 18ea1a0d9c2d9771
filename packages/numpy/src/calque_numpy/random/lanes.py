"""One random number from each of many keys, for loops in which each element goes on until it is done.

One idea: many keys are one array of words, first words in the first row and second words in the second; the cipher acts
on each column as on one key, so that column i gives the numbers that its key gives.

Read next: `gammas.py`, `threefry.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_numpy.random.floats import dtype_of_bits, unit_floats
from calque_numpy.random.gaussian import normal_bounds, normal_of
from calque_numpy.random.random_bits import words_to_bits
from calque_numpy.random.threefry import threefry2x32

Value = Any

_ZERO = np.uint32(0)


def split_lanes(keys: Value, num: int) -> list[Value]:
    """Return `num` new keys for each key.

    Shapes: keys [2, n] -> num times [2, n].
    """
    n = typeof(keys).shape[1]
    return [lax.stack(threefry2x32(keys, _ZERO, lax.full((n,), i, np.uint32)), 0) for i in range(num)]


def uniform_lanes(keys: Value, dtype: np.dtype[Any]) -> Value:
    """Return a number in [0, 1) for each key.  Shapes: keys [2, n] -> [n]."""
    n = typeof(keys).shape[1]
    words = threefry2x32(keys, _ZERO, lax.full((n,), 0, np.uint32))
    return unit_floats(words_to_bits(words, dtype_of_bits(dtype)), dtype)


def normal_lanes(keys: Value, dtype: np.dtype[Any]) -> Value:
    """Return a number of the standard normal distribution for each key.  Shapes: keys [2, n] -> [n]."""
    low, high = normal_bounds(dtype)
    return normal_of(lax.max(low, uniform_lanes(keys, dtype) * (high - low) + low), dtype)
