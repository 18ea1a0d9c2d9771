"""The upper half of products of integers, against Python's integers of any size."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import lax


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_all_pairs_of_bytes(dtype):
    x, y = np.meshgrid(*[np.arange(256).astype(dtype)] * 2)
    out = lax.mulhi(x, y)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, (x.astype(int) * y.astype(int)) >> 8)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint16", "uint32", "uint64"])
def test_extremes_and_random_numbers(dtype):
    info = np.iinfo(dtype)
    numbers = np.random.default_rng(0).integers(info.min, info.max, 50, dtype, endpoint=True)
    numbers = np.array([info.min, info.max, 0, 1, *numbers], dtype)
    x, y = np.meshgrid(numbers, numbers)
    want = [(int(a) * int(b)) >> info.bits for a, b in zip(x.flat, y.flat)]
    assert lax.mulhi(x, y).ravel().tolist() == want
    assert lax.mulhi(numbers[0], numbers[1]) == (int(info.min) * int(info.max)) >> info.bits


@pytest.mark.parametrize("x", [1.5, True])
def test_only_integers_have_an_upper_half(x):
    with pytest.raises(TypeError, match=r"mulhi of .* at .*: not defined for"):
        lax.mulhi(x, x)
