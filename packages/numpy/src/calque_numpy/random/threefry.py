"""Threefry-2x32, the block cipher behind all random numbers, and the counters that it enciphers.

One idea: number i of an array is the cipher of the counter i under the key, for any shape; so a number depends only on
its key and its position, and a compiled program may compute the numbers in any order.
Source: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), with 20 rounds.

Read next: `keys.py`.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.extend import where

Value = Any
Shape = tuple[int, ...]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_WIDTH = 32


def threefry2x32(key: Value, high: Value, low: Value) -> tuple[Value, Value]:
    """Return the ciphers of the counters (high, low) under `key`, also as two halves.

    Shapes: key [2], high [] or [n], low [n] -> [n], [n].  Dtypes: uint32.  `low` must be an array: arithmetic wraps
    around, and NumPy does so without a warning for arrays only.

    >>> threefry2x32(np.zeros(2, np.uint32), np.uint32(0), np.zeros(1, np.uint32))
    (array([1797259609], dtype=uint32), array([2579123966], dtype=uint32))
    """
    first, second = key[0], key[1]
    keys = (first, second, lax.bitwise_xor(lax.bitwise_xor(first, second), _PARITY))
    high, low = lax.add(high, keys[0]), lax.add(low, keys[1])
    for block in range(5):
        for places in _ROTATIONS[block % 2]:
            high = lax.add(high, low)
            low = lax.bitwise_xor(_rotate_left(low, places), high)
        high = lax.add(high, keys[(block + 1) % 3])
        low = lax.add(lax.add(low, keys[(block + 2) % 3]), np.uint32(block + 1))
    return high, low


def _rotate_left(x: Value, places: int) -> Value:
    left = lax.shift_left(x, np.uint32(places))
    return lax.bitwise_or(left, lax.shift_right_logical(x, np.uint32(_WIDTH - places)))


def random_words(key: Value, shape: Shape) -> tuple[Value, Value]:
    """Return two independent random 32-bit words for each element of `shape`, in row-major order.

    Shapes: key [2] -> [n], [n], where n is the number of elements.
    Raises: ValueError for more than 2**32 elements.
    """
    size = prod(shape)
    if size > 1 << _WIDTH:
        raise ValueError(
            f"{size} random numbers from one key{where()} are too many. Split the key, and draw up to 2**32 at a time."
        )
    return threefry2x32(key, np.uint32(0), lax.iota(np.uint32, size))
