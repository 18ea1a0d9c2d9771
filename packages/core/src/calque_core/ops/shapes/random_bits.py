"""Arrays of random bits, as XLA's generators make them on a CPU: `rng_bit_generator`.

One idea: number i of an array is a cipher of the state plus i, so an array of bits is one cipher of counters.  Both
ciphers are operations of core, so evaluated and compiled bits are equal on every platform.

Read next: `ops/elementwise/ciphers.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from math import prod
from typing import Any

import numpy as np

from calque_core.frames.source import where
from calque_core.ops.elementwise.arithmetic import add
from calque_core.ops.elementwise.ciphers import philox4x32, threefry2x32
from calque_core.ops.elementwise.compare import bitwise_or, lt, shift_left
from calque_core.ops.elementwise.convert import bitcast_convert_type, convert_element_type
from calque_core.ops.shapes.axes import integers
from calque_core.ops.shapes.create import dtype_argument, iota
from calque_core.ops.shapes.joining import stack, unstack
from calque_core.ops.shapes.shape import reshape
from calque_core.ops.shapes.slices import slice_in_dim
from calque_core.types.avals import Shape, typeof

Value = Any

_WORD = np.dtype(np.uint32)
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


class RandomAlgorithm(IntEnum):
    """The cipher of `rng_bit_generator`; the default is Philox."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


def rng_bit_generator(
    key: Value,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT,
) -> tuple[Value, Value]:
    """Return the next state of a generator, and random bits of its state `key`.

    Shapes: key [4] of uint32, or [2] of uint64 -> the same, shape.  Dtype of the bits: `dtype`, unsigned.
    Under `vmap` each state gives its own bits, where jax takes the bits of a batch from its first state.
    Raises: TypeError for another state or dtype; ValueError for an unknown algorithm, a negative size, or more than
    2**32 counters.

    >>> import numpy as np
    >>> from calque_core.lax import rng_bit_generator
    >>> rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (2,))
    (array([1, 2, 4, 4], dtype=uint32), array([ 512747620, 1298009047], dtype=uint32))
    """
    sizes, bits_dtype = integers("rng_bit_generator", "shape", shape), dtype_argument(dtype)
    _check(sizes, bits_dtype)
    state, is_wide = _words_of_state(key), bits_dtype.itemsize == 8
    draw = _threefry_bits if RandomAlgorithm(algorithm) is RandomAlgorithm.RNG_THREE_FRY else _philox_bits
    count, bits = draw(state, sizes, is_wide)
    _, _, low, high = state
    moved = add(low, np.uint32(count & 0xFFFFFFFF))
    words = stack([*state[:2], moved, _with_carry(high, moved, low)], 0)
    is_words = typeof(key).dtype == _WORD
    next_key = words if is_words else bitcast_convert_type(reshape(words, (2, 2)), np.uint64)
    return next_key, convert_element_type(bits, bits_dtype)


def _check(sizes: Shape, dtype: np.dtype[Any]) -> None:
    if any(size < 0 for size in sizes):
        raise ValueError(f"rng_bit_generator{where()}: the shape {sizes} has a negative size. Give sizes of 0 or more.")
    if dtype.name not in _UNSIGNED:
        raise TypeError(f"rng_bit_generator{where()}: dtype is {dtype}. Use {', '.join(_UNSIGNED[:3])} or uint64.")
    if prod(sizes) * max(dtype.itemsize, 4) > 8 << 32:
        raise ValueError(
            f"rng_bit_generator{where()}: {prod(sizes)} numbers from one state are too many. Draw up to 2**32 at a "
            "time, each from the next state."
        )


def _words_of_state(key: Value) -> list[Value]:
    aval = typeof(key)
    if (aval.shape, aval.dtype.name) not in (((4,), "uint32"), ((2,), "uint64")):
        raise TypeError(f"rng_bit_generator{where()}: the key has type {aval}. Give uint32[4], or uint64[2].")
    return unstack(key if aval.dtype == _WORD else reshape(bitcast_convert_type(key, _WORD), (4,)))


def _with_carry(word: Value, total: Value, summand: Value) -> Value:
    """Return a word plus the carry of a sum of lower words."""
    return add(word, convert_element_type(lt(total, summand), _WORD))


def _philox_bits(state: Sequence[Value], shape: Shape, is_wide: bool) -> tuple[int, Value]:
    """Return the number of counters, and their ciphers one after another."""
    size = prod(shape)
    per_counter = 2 if is_wide else 4
    count = -(-size // per_counter)
    words = philox_words(state, iota(_WORD, count))
    rows = stack([_joined(*words[:2]), _joined(*words[2:])] if is_wide else words, 1)
    return count, reshape(slice_in_dim(reshape(rows, (count * per_counter,)), 0, size), shape)


def philox_words(state: Sequence[Value], position: Value) -> list[Value]:
    """Return the ciphers of the counters at positions behind a state, whose first two words are the key.

    Shapes: state 4 times [] or [n], position [n] -> 4 times [n].  Dtypes: uint32.
    """
    low = add(state[2], position)
    high = _with_carry(state[3], low, position)
    third = _with_carry(state[0], high, state[3])
    return philox4x32(state[:2], (low, high, third, _with_carry(state[1], third, state[0])))


def _threefry_bits(state: Sequence[Value], shape: Shape, is_wide: bool) -> tuple[int, Value]:
    """Return the number of counters, and their ciphers: both words in one element, or along an axis side by side."""
    if is_wide:
        size = prod(shape)
        return size, reshape(_joined(*_threefry_words(state, size)), shape)
    sizes = shape or (1,)
    axis = _paired_axis(sizes)
    half = (*sizes[:axis], -(-sizes[axis] // 2), *sizes[axis + 1 :])
    words = [reshape(word, half) for word in _threefry_words(state, prod(half))]
    pairs = reshape(stack(words, axis + 1), (*half[:axis], 2 * half[axis], *half[axis + 1 :]))
    return prod(half), reshape(slice_in_dim(pairs, 0, sizes[axis], axis=axis), shape)


def _paired_axis(shape: Shape) -> int:
    """Return the axis along which the two words of a cipher lie: the first of an even size, or the largest."""
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else shape.index(max(shape))


def _threefry_words(state: Sequence[Value], count: int) -> Sequence[Value]:
    position = iota(_WORD, count)
    low = add(state[2], position)
    return threefry2x32(state[0], state[1], low, _with_carry(state[3], low, position))


def _joined(low: Value, high: Value) -> Value:
    low, high = (convert_element_type(word, np.uint64) for word in (low, high))
    return bitwise_or(low, shift_left(high, np.uint64(32)))
