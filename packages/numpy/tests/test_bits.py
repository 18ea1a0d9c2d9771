"""Bits in bytes are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core.config import disable_jit

AXES = [None, 0, 1, -1]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_packed_bits_are_numpys(dtype, axis, agree, numbers):
    x = numbers((9, 4), dtype) % 3 if dtype != "bool" else numbers((9, 4), dtype)
    agree(lambda m, x: [m.packbits(x, axis), m.packbits(x, axis, "little"), m.packbits(x[:0], axis)], x)
    agree(lambda m, x: m.packbits(x[0, 0]), x)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("count", [None, 0, 5, -3, 100])
def test_unpacked_bits_are_numpys(axis, count, agree, numbers):
    x = numbers((3, 4), "uint8", 3) * 21
    agree(lambda m, x: [m.unpackbits(x, axis, count), m.unpackbits(x, axis, count, "little")], x)


def test_wrong_arguments_are_refused():
    with disable_jit():
        with pytest.raises(TypeError, match=r"packbits of float64\[2\].*Give integers or bools"):
            cnp.packbits(np.ones(2))
        with pytest.raises(TypeError, match=r"unpackbits of int64\[2\].*Give uint8"):
            cnp.unpackbits(np.ones(2, int))
        with pytest.raises(ValueError, match=r"packbits.*the bitorder is 'x'. Use 'big' or 'little'"):
            cnp.packbits(np.ones(2, bool), bitorder="x")
        with pytest.raises(ValueError, match=r"unpackbits.*count is -9, and there are 8 bits"):
            cnp.unpackbits(np.ones(1, np.uint8), count=-9)
