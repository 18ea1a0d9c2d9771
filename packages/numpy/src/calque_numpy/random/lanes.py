"""One random number from each of many keys, for loops in which each element goes on until it is done.

One idea: many keys are one array of words, with a row for each word; the ciphers act on each column as on one key, so
that column i gives the numbers that its key gives.

Read next: `gammas.py`, `generators.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_numpy.random.floats import dtype_of_bits, unit_floats
from calque_numpy.random.gaussian import normal_bounds, normal_of
from calque_numpy.random.generators import GENERATORS

Value = Any


def split_lanes(impl: str, keys: Value, num: int) -> list[Value]:
    """Return `num` new keys for each key.

    Shapes: keys [words, n] -> num times [words, n].
    """
    n, numbered = typeof(keys).shape[1], GENERATORS[impl].numbered
    return [lax.stack(numbered(keys, lax.full((n,), i, np.uint32)), 0) for i in range(num)]


def uniform_lanes(impl: str, keys: Value, dtype: np.dtype[Any]) -> Value:
    """Return a number in [0, 1) for each key.  Shapes: keys [words, n] -> [n]."""
    zeros = lax.full((typeof(keys).shape[1],), 0, np.uint32)
    return unit_floats(GENERATORS[impl].bits_of_each(keys, zeros, dtype_of_bits(dtype)), dtype)


def normal_lanes(impl: str, keys: Value, dtype: np.dtype[Any]) -> Value:
    """Return a number of the standard normal distribution for each key.  Shapes: keys [words, n] -> [n]."""
    low, high = normal_bounds(dtype)
    return normal_of(lax.max(low, uniform_lanes(impl, keys, dtype) * (high - low) + low), dtype)
