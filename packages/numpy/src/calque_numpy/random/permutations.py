"""Random orders.

One idea: sort by random keys.  Two elements may get the same key, so the sort is repeated with fresh keys, until it is
almost certain that every two elements differed once; three times as many key bits as needed to count them are enough.
"""

from __future__ import annotations

from math import ceil, log
from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_core.engine.numpy_functions import canonical_axis
from calque_core.extend import integer, where
from calque_core.lax import broadcast_in_dim
from calque_numpy.random.arguments import check_key
from calque_numpy.random.generators import random_bits, split_key
from calque_numpy.random.threefry import Shape

Value = Any

_UINT32 = np.dtype("uint32")


def permutation(key: Value, x: Value, axis: int = 0, independent: bool = False) -> Value:
    """Return `x` with its slices along `axis` in random order, or the numbers 0, ..., x - 1 for an integer.

    With `independent`, each line along `axis` gets an order of its own.
    Shapes: one key, x [*s] -> [*s].  Dtype: kept; the default integer for an integer.
    Raises: TypeError if `key` is not a key, or `x` is a scalar that is no integer; ValueError if `x` is negative, or
    `axis` is out of range.

    >>> from calque_numpy.random import key, permutation
    >>> permutation(key(42), 5)
    array([4, 2, 3, 0, 1])
    """
    key = check_key("permutation", key)
    if not typeof(x).shape:
        x = _numbers(x)
    shape = typeof(x).shape
    axis = canonical_axis("permutation", axis, len(shape))
    return _shuffle(key, x, axis, shape if independent else (shape[axis],))


def _numbers(x: Value) -> Value:
    kind = typeof(x).kind
    count = integer("permutation", "x", x) if kind in "iu" else None
    if count is None:
        raise TypeError(f"permutation{where()}: x has type {typeof(x)}. Give an integer, or an array with axes.")
    if count < 0:
        raise ValueError(f"permutation{where()}: x is {count}. Give an integer of zero or more.")
    return lax.iota(int, count)


def _shuffle(key: Value, x: Value, axis: int, key_shape: Shape) -> Value:
    """Return `x` in the order of random keys, one for each element or one for each slice along `axis`."""
    shape = typeof(x).shape
    positions = range(len(shape)) if len(key_shape) == len(shape) else (axis,)
    for _ in range(_rounds(key_shape)):
        keys = split_key(key, (2,))
        key, subkey = keys[0], keys[1]
        order = broadcast_in_dim(random_bits(subkey, key_shape, _UINT32), shape, positions)
        x = lax.sort((order, x), axis)[1]
    return x


def _rounds(shape: Shape) -> int:
    size = max(1, int(np.prod(shape, dtype=object)))
    return ceil(3 * log(size) / log(np.iinfo(_UINT32).max))
