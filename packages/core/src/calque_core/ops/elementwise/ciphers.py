"""The block ciphers behind random numbers: Threefry of two words with 20 rounds, Philox of four words with 10.

One idea: a cipher is a hundred operations on words, so it is one primitive.  Evaluation writes Threefry in place, block
by block, and takes Python's integers for a few counters; a compiler gets the operations.

Source: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).

Read next: `ops/shapes/random_bits.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core.frames.source import where
from calque_core.ops.elementwise.arithmetic import add, mul
from calque_core.ops.elementwise.compare import bitwise_or, bitwise_xor, shift_left, shift_right_logical
from calque_core.ops.elementwise.declare import as_result, elementwise
from calque_core.ops.elementwise.mulhi import mulhi
from calque_core.primitives.primitive import Primitive, bind_checked
from calque_core.types.avals import ShapedArray

Value = Any

threefry2x32_p = Primitive("threefry2x32", multiple_results=True, linearity="constant")
philox4x32_p = Primitive("philox4x32", multiple_results=True, linearity="constant")

_WORD = np.dtype(np.uint32)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MASK = 0xFFFFFFFF
_FEW = 8  # counters that Python's integers encipher in less time than NumPy
_BLOCK = 4096  # counters, whose words stay in the processor's cache
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)  # added to the key after each round


def _type_of_cipher(name: str, words: int) -> Callable[..., list[ShapedArray]]:
    """Return the type rule of a cipher of counters of so many words."""
    type_of_words = elementwise(name, "u")

    def abstract_eval(*avals: ShapedArray) -> list[ShapedArray]:
        aval = type_of_words(*avals)
        if aval.dtype != _WORD:
            raise TypeError(f"{name}{where()}: the words have type {aval}. Use uint32.")
        return [aval] * words

    return abstract_eval


threefry2x32_p.def_abstract_eval(_type_of_cipher("threefry2x32", 2), cached=True)
philox4x32_p.def_abstract_eval(_type_of_cipher("philox4x32", 4), cached=True)


def threefry2x32(first: Value, second: Value, high: Value, low: Value) -> tuple[Value, Value]:
    """Return the ciphers of the counters (high, low) under the key (first, second), also as two words.

    Shapes: each [*s] or [] -> [*s], [*s].  Dtypes: uint32.
    Raises: TypeError for other dtypes; ShapeError if shapes differ.

    >>> import numpy as np
    >>> from calque_core.lax import threefry2x32
    >>> zero = np.uint32(0)
    >>> threefry2x32(zero, zero, zero, np.zeros(1, np.uint32))
    (array([1797259609], dtype=uint32), array([2579123966], dtype=uint32))
    """
    high, low = bind_checked(threefry2x32_p, *map(as_result, (first, second, high, low)))
    return high, low


def threefry2x32_decomposition(first: Value, second: Value, high: Value, low: Value) -> list[Value]:
    keys = (first, second, bitwise_xor(bitwise_xor(first, second), np.uint32(_PARITY)))
    high, low = add(high, keys[0]), add(low, keys[1])
    for block in range(5):
        for places in _ROTATIONS[block % 2]:
            high = add(high, low)
            low = bitwise_xor(_rotated_left(low, places), high)
        high = add(high, keys[(block + 1) % 3])
        low = add(add(low, keys[(block + 2) % 3]), np.uint32(block + 1))
    return [high, low]


def _rotated_left(x: Value, places: int) -> Value:
    left, right = np.uint32(places), np.uint32(32 - places)
    return bitwise_or(shift_left(x, left), shift_right_logical(x, right))


def philox4x32(key: Sequence[Value], counter: Sequence[Value]) -> list[Value]:
    """Return the ciphers of counters of four words under a key of two words, also as four words.

    Shapes: each word [*s] or [] -> 4 times [*s].  Dtypes: uint32.
    Raises: TypeError for other dtypes; ShapeError if shapes differ.

    >>> import numpy as np
    >>> from calque_core.lax import philox4x32
    >>> philox4x32(np.zeros(2, np.uint32), np.zeros(4, np.uint32))
    [np.uint32(1713891541), np.uint32(3781805453), np.uint32(3159862348), np.uint32(2600524760)]
    """
    words: list[Value] = bind_checked(philox4x32_p, *map(as_result, (*key, *counter)))
    return words


def philox4x32_decomposition(first: Value, second: Value, *counter: Value) -> list[Value]:
    words, keys = list(counter), (first, second)
    for _ in range(10):
        upper = [mulhi(words[2 * i], np.uint32(_MULTIPLIERS[i])) for i in range(2)]
        lower = [mul(words[2 * i], np.uint32(_MULTIPLIERS[i])) for i in range(2)]
        mixed = [bitwise_xor(bitwise_xor(upper[1 - i], words[2 * i + 1]), keys[i]) for i in range(2)]
        words = [mixed[0], lower[1], mixed[1], lower[0]]
        keys = (add(keys[0], np.uint32(_WEYL[0])), add(keys[1], np.uint32(_WEYL[1])))
    return words


# Evaluation


def threefry2x32_impl(*words: Value) -> list[Value]:
    arrays = [np.asarray(x) for x in words]
    shape = max([x.shape for x in arrays], key=len)
    flat = [x.reshape(-1) for x in arrays]
    size = max([x.size for x in flat]) if all(shape) else 0
    outs = np.empty((2, size), _WORD)
    if size <= _FEW:
        rows = [x.tolist() * (size if x.size == 1 else 1) for x in flat]
        outs[:] = np.array([_enciphered(*row) for row in zip(*rows)], _WORD).reshape(size, 2).T
    else:
        for start in range(0, size, _BLOCK):
            part = slice(start, start + _BLOCK)
            _encipher([x if x.size == 1 else x[part] for x in flat], *outs[:, part])
    return [out.reshape(shape)[()] for out in outs]


def _enciphered(first: int, second: int, high: int, low: int) -> tuple[int, int]:
    """Return the cipher of one counter, by Python's integers, cut to 32 bits after each sum."""
    keys = (first, second, first ^ second ^ _PARITY)
    high, low = (high + keys[0]) & _MASK, (low + keys[1]) & _MASK
    for block in range(5):
        for places in _ROTATIONS[block % 2]:
            high = (high + low) & _MASK
            low = ((low << places) & _MASK | low >> (32 - places)) ^ high
        high = (high + keys[(block + 1) % 3]) & _MASK
        low = (low + keys[(block + 2) % 3] + block + 1) & _MASK
    return high, low


def _encipher(words: Sequence[Value], high: Value, low: Value) -> None:
    """Write the ciphers of counters to `high` and `low`, arrays, whose sums wrap around without a warning."""
    keys = [*words[:2], words[0] ^ words[1] ^ np.uint32(_PARITY)]
    np.add(words[2], keys[0], high)
    np.add(words[3], keys[1], low)
    rotated = np.empty_like(low)
    for block in range(5):
        for left, right in _SHIFTS[block % 2]:
            np.add(high, low, high)
            np.left_shift(low, left, rotated)
            np.right_shift(low, right, low)
            np.bitwise_or(low, rotated, low)
            np.bitwise_xor(low, high, low)
        np.add(high, keys[(block + 1) % 3], high)
        np.add(low, keys[(block + 2) % 3], low)
        np.add(low, _COUNTS[block], low)


# Arrays of rank 0: NumPy converts a number in each call, which takes 0.3 us.
_SHIFTS = [[(np.array(n, _WORD), np.array(32 - n, _WORD)) for n in places] for places in _ROTATIONS]
_COUNTS = [np.array(block + 1, _WORD) for block in range(5)]


def philox4x32_impl(*words: Value) -> list[Value]:
    first, second, *counter = (np.asarray(x) for x in words)
    shape = max([np.shape(x) for x in words], key=len)
    for _ in range(10):
        left, right = (np.multiply(counter[2 * i], _WIDE_MULTIPLIERS[i]) for i in range(2))  # all 64 bits
        counter = [
            np.bitwise_xor(np.bitwise_xor(_upper_word(right), counter[1]), first),
            right.astype(_WORD),
            np.bitwise_xor(np.bitwise_xor(_upper_word(left), counter[3]), second),
            left.astype(_WORD),
        ]
        first, second = np.add(first, _WEYL_WORDS[0]), np.add(second, _WEYL_WORDS[1])
    return [np.broadcast_to(x, shape)[()] for x in counter]


def _upper_word(product: Value) -> Value:
    return np.right_shift(product, _HALF).astype(_WORD)


_WIDE_MULTIPLIERS = [np.array(n, np.uint64) for n in _MULTIPLIERS]
_WEYL_WORDS = [np.array(n, _WORD) for n in _WEYL]
_HALF = np.array(32, np.uint64)

threefry2x32_p.def_impl(threefry2x32_impl, leaf=True, makes_arrays=True)
threefry2x32_p.def_rule("decomposition", threefry2x32_decomposition)
philox4x32_p.def_impl(philox4x32_impl, leaf=True, makes_arrays=True)
philox4x32_p.def_rule("decomposition", philox4x32_decomposition)
