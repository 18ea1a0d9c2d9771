"""Random keys: how to make one, and how to make many from one.

One idea: a key is two 32-bit words, in a `KeyArray` or bare.  It is an ordinary operand, so `vmap`, `jit` and every
transformation take it; there is no hidden state: a key gives the same numbers at each use.

Read next: `random_bits.py`, the bits of a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import config, lax, typeof
from calque_core.engine import strong
from calque_core.engine.numpy_functions import integers
from calque_core.extend import integer, where
from calque_numpy.key_arrays import KeyArray
from calque_numpy.random.arguments import check_key
from calque_numpy.random.threefry import Shape, random_words, threefry2x32

Value = Any

_UINT32 = np.dtype("uint32")
_INT64 = np.iinfo(np.int64)
_LOW = 0xFFFFFFFF
_IMPL = "threefry2x32"


def key(seed: Value, *, impl: str | None = None) -> KeyArray:
    """Return a new key from an integer.

    Shapes: seed [] -> one key.  All 64 bits of the seed count, or the lower 32 while `enable_x64` is off.
    Raises: TypeError if `seed` is not an integer scalar; OverflowError if it has more than 64 bits; ValueError unless
    `impl` is "threefry2x32".

    >>> from calque_numpy.random import key
    >>> key(42)
    KeyArray(array([ 0, 42], dtype=uint32))
    """
    return KeyArray(_words_of_seed("key", seed, impl))


def PRNGKey(seed: Value, *, impl: str | None = None) -> Value:
    """Return a new key from an integer, as its words.

    Shapes: seed [] -> [2].  Dtype: uint32.  All functions take these words as a key, and give such keys for them.
    Raises: as `key`.

    >>> from calque_numpy.random import PRNGKey
    >>> PRNGKey(42)
    array([ 0, 42], dtype=uint32)
    """
    return _words_of_seed("PRNGKey", seed, impl)


def _words_of_seed(name: str, seed: Value, impl: str | None) -> Value:
    _check_impl(name, impl)
    if type(seed) is int:
        return _key_of_int(name, seed)
    aval = typeof(seed)
    if aval.shape or aval.kind not in "iu":
        raise TypeError(f"{name}{where()}: the seed has type {aval}. Give an integer; map over several with vmap.")
    seed = strong(seed)  # a Python integer that does not fit uint32 could not be converted
    low = lax.reshape(lax.convert_element_type(seed, _UINT32), (1,))
    return lax.concatenate([_upper_word(seed, aval.dtype.itemsize), low], 0)


def _check_impl(name: str, impl: Any) -> None:
    if impl not in (None, _IMPL):
        raise ValueError(f"{name}{where()}: impl is {impl!r}. The only generator is {_IMPL!r}.")


def _key_of_int(name: str, seed: int) -> Value:
    if not _INT64.min <= seed <= _INT64.max:
        raise OverflowError(
            f"{name}{where()}: the seed {seed} has more than 64 bits. Give a seed that numpy.int64 holds."
        )
    upper = (seed >> 32) & _LOW if config.current().enable_x64 else 0
    return np.array([upper, seed & _LOW], _UINT32)


def _upper_word(seed: Value, itemsize: int) -> Value:
    if itemsize < 8:
        return np.zeros(1, _UINT32)
    return lax.reshape(
        lax.convert_element_type(lax.shift_right_logical(seed, typeof(seed).dtype.type(32)), _UINT32), (1,)
    )


def split(key: Value, num: int | Sequence[int] = 2) -> Value:
    """Return `num` new keys, independent of one another; do not use the old key again.

    Shapes: one key -> [num] keys, or [*num] for a sequence of sizes; of the words of one key, [*num, 2] words.
    Raises: TypeError if `key` is not a key, or `num` holds no integers; ValueError if it is negative.

    >>> from calque_numpy.random import key, split
    >>> first, second = split(key(42))
    >>> first
    KeyArray(array([1832780943,  270669613], dtype=uint32))
    """
    words = check_key("split", key)
    return like(key, split_words(words, _counts(num)))


def split_words(words: Value, shape: Shape) -> Value:
    """Return the words of new keys.  Shapes: words [2] -> [*shape, 2]."""
    return lax.reshape(lax.stack(random_words(words, shape), 1), (*shape, 2))


def like(key: Value, words: Value) -> Value:
    """Return `words` in the class of `key`: as keys, or as they are."""
    return key.__class__(words) if isinstance(key, KeyArray) else words


def _counts(num: Any) -> Shape:
    counts = integers("split", "num", num) if isinstance(num, Sequence) else (integer("split", "num", num),)
    if any(count < 0 for count in counts):
        raise ValueError(f"split{where()}: num is {num}. Give a number of zero or more.")
    return counts


def fold_in(key: Value, data: Value) -> Value:
    """Return a new key from a key and a number, such as the number of a step: key number `data` of `split`.

    Shapes: one key, data [] -> one key, in the class of `key`.  `data` counts modulo 2**32.
    Raises: TypeError if `key` is not a key or `data` is not an integer scalar; OverflowError if `data` is a Python
    integer that is negative or has more than 32 bits.

    >>> from calque_numpy.random import fold_in, key
    >>> fold_in(key(42), 3)
    KeyArray(array([3134548294,  894150801], dtype=uint32))
    """
    words = check_key("fold_in", key)
    low = lax.reshape(lax.convert_element_type(_word(data), _UINT32), (1,))
    return like(key, lax.concatenate(threefry2x32(words, np.uint32(0), low), 0))


def _word(data: Value) -> Value:
    """Return the integer to fold into a key; a Python integer as a NumPy integer."""
    if type(data) is int:
        if not 0 <= data <= _LOW:
            raise OverflowError(f"fold_in{where()}: data is {data}. Give an integer from 0 to 2**32 - 1.")
        return np.uint32(data)
    aval = typeof(data)
    if aval.shape or aval.kind not in "iu":
        raise TypeError(f"fold_in{where()}: data has type {aval}. Give an integer; map over several with vmap.")
    return data


def clone(key: Value) -> Value:
    """Return the same key; jax's name for a second use on purpose.

    Raises: TypeError if `key` is no key.

    >>> from calque_numpy.random import clone, key
    >>> clone(key(42))
    KeyArray(array([ 0, 42], dtype=uint32))
    """
    _check_words("clone", key.words if isinstance(key, KeyArray) else key)
    return key


def key_data(keys: Value) -> Value:
    """Return the words of keys.

    Shapes: keys [*s] -> [*s, 2].  Dtype: uint32.
    Raises: TypeError if `keys` are no keys.

    >>> from calque_numpy.random import key, key_data
    >>> key_data(key(42))
    array([ 0, 42], dtype=uint32)
    """
    words = keys.words if isinstance(keys, KeyArray) else keys
    _check_words("key_data", words)
    return words


def wrap_key_data(key_bits_array: Value, *, impl: str | None = None) -> KeyArray:
    """Return keys from their words: the inverse of `key_data`.

    Shapes: key_bits_array [*s, 2] -> [*s] keys.
    Raises: TypeError unless the dtype is uint32 and the last axis has size 2; ValueError unless `impl` is
    "threefry2x32".

    >>> import numpy as np
    >>> from calque_numpy.random import wrap_key_data
    >>> wrap_key_data(np.array([[0, 1], [0, 2]], np.uint32)).shape
    (2,)
    """
    _check_impl("wrap_key_data", impl)
    _check_words("wrap_key_data", key_bits_array)
    return KeyArray(key_bits_array)


def key_impl(keys: Value) -> str:
    """Return the name of the generator of keys: "threefry2x32".

    Raises: TypeError if `keys` are no keys.

    >>> from calque_numpy.random import key, key_impl
    >>> key_impl(key(42))
    'threefry2x32'
    """
    key_data(keys)
    return _IMPL


def _check_words(name: str, words: Value) -> None:
    aval = typeof(words)
    if aval.shape[-1:] != (2,) or aval.dtype != _UINT32:
        raise TypeError(f"{name}{where()}: {aval} are no words of keys. Give uint32 with a last axis of size 2.")
