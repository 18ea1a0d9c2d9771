"""The counters that Threefry-2x32, the block cipher behind all random numbers, enciphers.

One idea: number i of an array is the cipher of the counter i under the key, for any shape; so a number depends only on
its key and its position, and a compiled program may compute the numbers in any order.

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

_WIDTH = 32


def threefry2x32(key: Value, high: Value, low: Value) -> tuple[Value, Value]:
    """Return the ciphers of the counters (high, low) under `key`, also as two halves.

    Shapes: key [2] or [2, n], high [] or [n], low [n] -> [n], [n].  Dtypes: uint32.

    >>> threefry2x32(np.zeros(2, np.uint32), np.uint32(0), np.zeros(1, np.uint32))
    (array([1797259609], dtype=uint32), array([2579123966], dtype=uint32))
    """
    return lax.threefry2x32(key[0], key[1], high, low)


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


def words_to_bits(words: tuple[Value, Value], dtype: np.dtype[Any]) -> Value:
    """Return two random words as one unsigned integer: side by side in 64 bits, combined in fewer."""
    high, low = words
    if dtype.itemsize < 8:
        return lax.convert_element_type(lax.bitwise_xor(high, low), dtype)
    high, low = lax.convert_element_type(high, dtype), lax.convert_element_type(low, dtype)
    return lax.bitwise_or(lax.shift_left(high, dtype.type(32)), low)
