"""The generators of random numbers: how each numbers the keys of a key, folds a number in, and draws bits.

One idea: a generator is one row of a table.  A key of threefry is its two words; a key of another generator stays in
its `KeyArray`, which names the generator, so that functions of keys take both.

Read next: `keys.py`; `key_arrays.py`, the class of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from calque_core import lax
from calque_core.engine import philox_words
from calque_core.extend import where
from calque_numpy.key_arrays import KEY_WORDS, KeyArray
from calque_numpy.random.threefry import Shape, random_words, threefry2x32, words_to_bits

Value = Any
DType = np.dtype[Any]
Words = Sequence[Value]  # of one key, scalars; or of many keys, arrays

_ZERO = np.uint32(0)
_STRIDE = 10  # of the keys of unsafe_rbg: all others of its counters are not used


@dataclass(frozen=True)
class Generator:
    """A generator: key number i of keys, a key with a number folded in, the bits of one key, one number of each key."""

    numbered: Callable[[Words, Value], Words]
    folded: Callable[[Words, Value], Words]
    bits: Callable[[Value, Shape, DType], Value]
    bits_of_each: Callable[[Words, Value, DType], Value]
    most_keys: int = 1 << 32


def _threefry_of(words: Words, position: Value) -> tuple[Value, Value]:
    return threefry2x32(words, _ZERO, position)


def _halves(words: Words, position: Value) -> Words:
    return (*_threefry_of(words[:2], position), *_threefry_of(words[2:], position))


def _every_tenth(words: Words, position: Value) -> Words:
    return philox_words(words, lax.mul(position, np.uint32(_STRIDE)))


def _mixed(words: Words, data: Value) -> Words:
    """Return a key combined with the last of the first ten ciphers of the key whose seed is `data`."""
    seeded = [lax.zeros_like(data), data] * 2
    ciphers = philox_words(seeded, lax.full_like(data, _STRIDE - 1))
    return [lax.bitwise_xor(word, cipher) for word, cipher in zip(words, ciphers)]


def _threefry_bits(key: Value, shape: Shape, dtype: DType) -> Value:
    return lax.reshape(words_to_bits(random_words(key, shape), dtype), shape)


def _philox_bits(key: Value, shape: Shape, dtype: DType) -> Value:
    return lax.rng_bit_generator(key, shape, dtype)[1]


def _threefry_number(words: Words, zeros: Value, dtype: DType) -> Value:
    return words_to_bits(_threefry_of(words, zeros), dtype)


def _philox_number(words: Words, zeros: Value, dtype: DType) -> Value:
    low, high, _, _ = philox_words(words, zeros)
    return words_to_bits((high, low), dtype) if dtype.itemsize == 8 else lax.convert_element_type(low, dtype)


GENERATORS = {
    "threefry2x32": Generator(_threefry_of, _threefry_of, _threefry_bits, _threefry_number),
    "rbg": Generator(_halves, _halves, _philox_bits, _philox_number),
    "unsafe_rbg": Generator(_every_tenth, _mixed, _philox_bits, _philox_number, (1 << 32) // _STRIDE),
}


def impl_and_words(key: Value) -> tuple[str, Value]:
    """Return the name of the generator of a checked key, and the words of the key."""
    return (key.impl, key.words) if type(key) is KeyArray else ("threefry2x32", key)


def as_checked(impl: str, words: Value) -> Value:
    """Return words as a checked key: bare for threefry, in a `KeyArray` for other generators."""
    return words if impl == "threefry2x32" else KeyArray(words, impl)


def words_of_each(key: Value, shape: Shape) -> Words:
    """Return the words of new keys of a checked key, one key for each element of `shape`.

    Shapes: one key -> for each word an array of `shape`.
    Raises: ValueError for more keys than the generator numbers.
    """
    impl, words = impl_and_words(key)
    generator, count = GENERATORS[impl], prod(shape)
    if count > generator.most_keys:
        raise ValueError(
            f"{count} keys from one key{where()} are too many for {impl}. Split the key, and make up to "
            f"{generator.most_keys} at a time."
        )
    numbered = generator.numbered(_each(words, impl), lax.iota(np.uint32, count))
    return [lax.reshape(word, shape) for word in numbered]


def split_key(key: Value, shape: Shape) -> Value:
    """Return new keys of a checked key, checked likewise.  Shapes: one key -> shape."""
    return as_checked(impl_and_words(key)[0], lax.stack(words_of_each(key, shape), len(shape)))


def _each(words: Value, impl: str) -> Words:
    return [words[i] for i in range(KEY_WORDS[impl])]


def fold(key: Value, data: Value) -> Value:
    """Return a checked key with an integer folded in.  Shapes: one key, data [1] of uint32 -> one key."""
    impl, words = impl_and_words(key)
    folded = GENERATORS[impl].folded(_each(words, impl), data)
    return as_checked(impl, lax.concatenate(folded, 0))


def random_bits(key: Value, shape: Shape, dtype: DType) -> Value:
    """Return random bits of a checked key; the arguments are checked already."""
    impl, words = impl_and_words(key)
    return GENERATORS[impl].bits(words, shape, dtype)
