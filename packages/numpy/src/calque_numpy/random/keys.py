"""Random keys: how to make one, and how to make many from one.

One idea: a key is an array of two 32-bit words.  It is an ordinary operand, so `vmap`, `jit` and every transformation
take it; there is no hidden state: a key gives the same numbers at each use.

Read next: `random_bits.py`, the bits of a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import config, lax, typeof
from calque_core.extend import integer, strong, where
from calque_core.extend.numpy_functions import integers
from calque_numpy.random.threefry import Shape, random_words, threefry2x32

Value = Any

_UINT32 = np.dtype("uint32")
_INT64 = np.iinfo(np.int64)
_LOW = 0xFFFFFFFF


def key(seed: Value) -> Value:
    """Return a new key from an integer.

    Shapes: seed [] -> [2].  Dtype: uint32.  All 64 bits of the seed count, or the lower 32 while `enable_x64` is off.
    Raises: TypeError if `seed` is not an integer scalar; OverflowError if it has more than 64 bits.

    >>> from calque_numpy.random import key
    >>> key(42)
    array([ 0, 42], dtype=uint32)
    """
    if type(seed) is int:
        return _key_of_int(seed)
    aval = typeof(seed)
    if aval.shape or aval.dtype.kind not in "iu":
        raise TypeError(f"key{where()}: the seed has type {aval}. Give an integer; map over several with vmap.")
    seed = strong(seed)  # a Python integer that does not fit uint32 could not be converted
    low = lax.reshape(lax.convert_element_type(seed, _UINT32), (1,))
    return lax.concatenate([_upper_word(seed, aval.dtype.itemsize), low], 0)


def _key_of_int(seed: int) -> Value:
    if not _INT64.min <= seed <= _INT64.max:
        raise OverflowError(f"key{where()}: the seed {seed} has more than 64 bits. Give a seed that numpy.int64 holds.")
    upper = (seed >> 32) & _LOW if config.current().enable_x64 else 0
    return np.array([upper, seed & _LOW], _UINT32)


def _upper_word(seed: Value, itemsize: int) -> Value:
    if itemsize < 8:
        return np.zeros(1, _UINT32)
    return lax.reshape(
        lax.convert_element_type(lax.shift_right_logical(seed, typeof(seed).dtype.type(32)), _UINT32), (1,)
    )


def check_key(name: str, key: Value) -> None:
    """Check the argument `key` of the function `name`.

    Raises: TypeError.
    """
    aval = typeof(key)
    if aval.shape != (2,) or aval.dtype != _UINT32:
        raise TypeError(
            f"{name}{where()}: the key has type {aval}, but one key is uint32[2]. "
            "Make keys with key(seed) and split(key); map over several with vmap."
        )


def check_shape(name: str, shape: Sequence[int]) -> Shape:
    """Return the argument `shape` of the function `name` as a tuple.

    Raises: TypeError if it is not a sequence of integers; ValueError if an integer is negative.
    """
    sizes = integers(name, "shape", shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"{name}{where()}: the shape {sizes} has a negative size. Give sizes of zero or more.")
    return sizes


def split(key: Value, num: int | Sequence[int] = 2) -> Value:
    """Return `num` new keys, independent of one another; do not use the old key again.

    Shapes: key [2] -> [num, 2], or [*num, 2] for a sequence of sizes.  Dtype: uint32.
    Raises: TypeError if `key` is not a key, or `num` holds no integers; ValueError if it is negative.

    >>> from calque_numpy.random import key, split
    >>> first, second = split(key(42))
    >>> first
    array([1832780943,  270669613], dtype=uint32)
    """
    check_key("split", key)
    shape = _counts(num)
    words = [lax.expand_dims(x, (1,)) for x in random_words(key, shape)]
    return lax.reshape(lax.concatenate(words, 1), (*shape, 2))


def _counts(num: Any) -> Shape:
    counts = integers("split", "num", num) if isinstance(num, Sequence) else (integer("split", "num", num),)
    if any(count < 0 for count in counts):
        raise ValueError(f"split{where()}: num is {num}. Give a number of zero or more.")
    return counts


def fold_in(key: Value, data: Value) -> Value:
    """Return a new key from a key and a number, such as the number of a step: key number `data` of `split`.

    Shapes: key [2], data [] -> [2].  Dtype: uint32; `data` counts modulo 2**32.
    Raises: TypeError if `key` is not a key or `data` is not an integer scalar; OverflowError if `data` is a Python
    integer that is negative or has more than 32 bits.

    >>> from calque_numpy.random import fold_in, key
    >>> fold_in(key(42), 3)
    array([3134548294,  894150801], dtype=uint32)
    """
    check_key("fold_in", key)
    low = lax.reshape(lax.convert_element_type(_word(data), _UINT32), (1,))
    return lax.concatenate(threefry2x32(key, np.uint32(0), low), 0)


def _word(data: Value) -> Value:
    """Return the integer to fold into a key; a Python integer as a NumPy integer."""
    if type(data) is int:
        if not 0 <= data <= _LOW:
            raise OverflowError(f"fold_in{where()}: data is {data}. Give an integer from 0 to 2**32 - 1.")
        return np.uint32(data)
    aval = typeof(data)
    if aval.shape or aval.dtype.kind not in "iu":
        raise TypeError(f"fold_in{where()}: data has type {aval}. Give an integer; map over several with vmap.")
    return data
