"""Random keys: how to make one, and how to make many from one.

One idea: a key is two 32-bit words, or four of the generators rbg and unsafe_rbg, in a `KeyArray` or bare.  It is an
ordinary operand, so `vmap`, `jit` and every transformation take it; there is no hidden state: a key gives the same
numbers at each use.

Read next: `generators.py`, the table of generators; `random_bits.py`, the bits of a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core import config, lax, typeof
from calque_core.engine import strong
from calque_core.engine.numpy_functions import integers
from calque_core.extend import integer, where
from calque_numpy.key_arrays import KEY_WORDS, KeyArray
from calque_numpy.random.arguments import check_key, impl_of_words
from calque_numpy.random.generators import fold, impl_and_words, split_key
from calque_numpy.random.threefry import Shape

Value = Any

_UINT32 = np.dtype("uint32")
_INT64 = np.iinfo(np.int64)
_LOW = 0xFFFFFFFF


def key(seed: Value, *, impl: str | None = None) -> KeyArray:
    """Return a new key from an integer.

    `impl` names the generator of its numbers: "threefry2x32", "rbg" or "unsafe_rbg", by default that of
    `config.default_prng_impl`.
    Shapes: seed [] -> one key.  All 64 bits of the seed count, or the lower 32 while `enable_x64` is off.
    Raises: TypeError if `seed` is not an integer scalar; OverflowError if it has more than 64 bits; ValueError for
    another `impl`.

    >>> from calque_numpy.random import key
    >>> key(42)
    KeyArray(array([ 0, 42], dtype=uint32))
    """
    name = _impl("key", impl)
    return KeyArray(_words_of_seed("key", seed, name), name)


def PRNGKey(seed: Value, *, impl: str | None = None) -> Value:
    """Return a new key from an integer, as its words.

    Shapes: seed [] -> [2], or [4] of rbg and unsafe_rbg.  Dtype: uint32.
    All functions take these words as a key, and give such keys for them.
    Raises: as `key`.

    >>> from calque_numpy.random import PRNGKey
    >>> PRNGKey(42)
    array([ 0, 42], dtype=uint32)
    """
    return _words_of_seed("PRNGKey", seed, _impl("PRNGKey", impl))


def _words_of_seed(name: str, seed: Value, impl: str) -> Value:
    words = _two_words(name, seed)
    return words if KEY_WORDS[impl] == 2 else lax.concatenate([words, words], 0)


def _two_words(name: str, seed: Value) -> Value:
    if type(seed) is int:
        return _key_of_int(name, seed)
    aval = typeof(seed)
    if aval.shape or aval.kind not in "iu":
        raise TypeError(f"{name}{where()}: the seed has type {aval}. Give an integer; map over several with vmap.")
    seed = strong(seed)  # a Python integer that does not fit uint32 could not be converted
    low = lax.reshape(lax.convert_element_type(seed, _UINT32), (1,))
    return lax.concatenate([_upper_word(seed, aval.dtype.itemsize), low], 0)


def _impl(name: str, impl: Any) -> str:
    """Return the name of the generator for the argument `impl` of the function `name`."""
    if impl is None:
        return config.current().default_prng_impl
    if impl not in KEY_WORDS:
        raise ValueError(f"{name}{where()}: impl is {impl!r}. The generators are {', '.join(map(repr, KEY_WORDS))}.")
    return str(impl)


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

    Shapes: one key -> [num] keys, or [*num] for a sequence of sizes; of the words of one key, as many words.
    Raises: TypeError if `key` is not a key, or `num` holds no integers; ValueError if it is negative.

    >>> from calque_numpy.random import key, split
    >>> first, second = split(key(42))
    >>> first
    KeyArray(array([1832780943,  270669613], dtype=uint32))
    """
    return like(key, split_key(check_key("split", key), _counts(num)))


def like(key: Value, keys: Value) -> Value:
    """Return checked keys in the class of `key`: as keys, or as their words."""
    words = impl_and_words(keys)[1]
    return key.with_words(words) if isinstance(key, KeyArray) else words


def _counts(num: Any) -> Shape:
    counts = integers("split", "num", num) if isinstance(num, Sequence) else (integer("split", "num", num),)
    if any(count < 0 for count in counts):
        raise ValueError(f"split{where()}: num is {num}. Give a number of zero or more.")
    return counts


def fold_in(key: Value, data: Value) -> Value:
    """Return a new key from a key and a number, such as the number of a step.

    It is key number `data` of `split`, but for unsafe_rbg.
    Shapes: one key, data [] -> one key, in the class of `key`.  `data` counts modulo 2**32.
    Raises: TypeError if `key` is not a key or `data` is not an integer scalar; OverflowError if `data` is a Python
    integer that is negative or has more than 32 bits.

    >>> from calque_numpy.random import fold_in, key
    >>> fold_in(key(42), 3)
    KeyArray(array([3134548294,  894150801], dtype=uint32))
    """
    checked = check_key("fold_in", key)
    return like(key, fold(checked, lax.reshape(lax.convert_element_type(_word(data), _UINT32), (1,))))


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
    _check_words("clone", key)
    return key


def key_data(keys: Value) -> Value:
    """Return the words of keys.

    Shapes: keys [*s] -> [*s, 2], or [*s, 4] of rbg and unsafe_rbg.  Dtype: uint32.
    Raises: TypeError if `keys` are no keys.

    >>> from calque_numpy.random import key, key_data
    >>> key_data(key(42))
    array([ 0, 42], dtype=uint32)
    """
    _check_words("key_data", keys)
    return keys.words if isinstance(keys, KeyArray) else keys


def wrap_key_data(key_bits_array: Value, *, impl: str | None = None) -> KeyArray:
    """Return keys of the generator `impl` from their words: the inverse of `key_data`.

    Without `impl`, two words are of threefry, and four of `config.default_prng_impl`.
    Shapes: key_bits_array [*s, 2] or [*s, 4] -> [*s] keys.
    Raises: TypeError unless the dtype is uint32 and the last axis has the words of one key; ValueError for an unknown
    `impl`.

    >>> import numpy as np
    >>> from calque_numpy.random import wrap_key_data
    >>> wrap_key_data(np.array([[0, 1], [0, 2]], np.uint32)).shape
    (2,)
    """
    name = None if impl is None else _impl("wrap_key_data", impl)
    _check_words("wrap_key_data", key_bits_array, name)
    return KeyArray(key_bits_array, name or impl_of_words("wrap_key_data", typeof(key_bits_array).shape[-1]))


def key_impl(keys: Value) -> str:
    """Return the name of the generator of keys.

    Raises: TypeError if `keys` are no keys.

    >>> from calque_numpy.random import key, key_impl
    >>> key_impl(key(42))
    'threefry2x32'
    """
    _check_words("key_impl", keys)
    return keys.impl if isinstance(keys, KeyArray) else impl_of_words("key_impl", typeof(keys).shape[-1])


def _check_words(name: str, keys: Value, impl: str | None = None) -> None:
    """Check that a value is keys, or their words."""
    if isinstance(keys, KeyArray) and impl is None:
        return
    aval, sizes = typeof(keys), set(KEY_WORDS.values()) if impl is None else {KEY_WORDS[impl]}
    if not aval.shape or aval.shape[-1] not in sizes or aval.dtype != _UINT32:
        choice = " or ".join(map(str, sorted(sizes)))
        raise TypeError(f"{name}{where()}: {aval} are no words of keys. Give uint32 with a last axis of size {choice}.")
