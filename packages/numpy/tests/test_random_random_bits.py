"""Every bit is 1 as often as 0, in every width; a wrong width is refused."""

import numpy as np
import pytest

from calque_numpy import random

KEY = random.PRNGKey(0)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_every_bit_is_fair(dtype):
    numbers = random.bits(KEY, (20_000,), dtype)
    for place in range(8 * numbers.dtype.itemsize):
        share = np.mean((numbers >> np.dtype(dtype).type(place)) & np.dtype(dtype).type(1))
        assert abs(share - 0.5) < 0.02


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: random.bits(KEY, (2,), np.int32), TypeError, "dtype is int32. Use an unsigned integer dtype"),
        (lambda: random.bits(KEY, (2,), float), TypeError, "dtype is float64. Use an unsigned integer dtype"),
        (lambda: random.bits(KEY, 3), TypeError, "shape is 3. Give a sequence of integers."),
        (lambda: random.bits(KEY, (2.0,)), TypeError, "shape is (2.0,). Give a sequence of integers."),
        (
            lambda: random.bits(KEY, (-1,)),
            ValueError,
            "the shape (-1,) has a negative size. Give sizes of zero or more.",
        ),
    ],
)
def test_a_dtype_without_random_bits_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith("bits at test_random_random_bits.py:")
    assert words in str(caught.value)
