"""Permutations hold every element once, in every order equally often, along the axis that was named."""

from collections import Counter

import numpy as np
import pytest

from calque_core import TracerIntegerConversionError, config, make_jaxpr
from calque_numpy import random

KEY = random.PRNGKey(0)


@pytest.mark.parametrize("n", [0, 1, 2, 10, 2_000])
def test_an_integer_stands_for_the_numbers_below_it(n):
    order = random.permutation(KEY, n)
    assert sorted(order.tolist()) == list(range(n))
    np.testing.assert_array_equal(random.permutation(KEY, np.arange(n)), order)
    np.testing.assert_array_equal(random.permutation(KEY, np.int32(n)), order)


def test_every_order_is_equally_likely():
    counts = Counter(tuple(random.permutation(key, 3).tolist()) for key in random.split(KEY, 1_200))
    assert len(counts) == 6
    assert all(140 < count < 260 for count in counts.values())


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_slices_stay_whole(axis):
    x = np.arange(60).reshape(3, 4, 5)
    order = random.permutation(KEY, x.shape[axis])
    np.testing.assert_array_equal(random.permutation(KEY, x, axis), np.take(x, order, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_independent_lines_have_orders_of_their_own(axis):
    x = np.broadcast_to(np.arange(20), (20, 20)) if axis else np.broadcast_to(np.arange(20)[:, None], (20, 20))
    mixed = np.moveaxis(random.permutation(KEY, x, axis, independent=True), axis, -1)
    np.testing.assert_array_equal(np.sort(mixed, -1), np.broadcast_to(np.arange(20), (20, 20)))
    assert len({tuple(line) for line in mixed.tolist()}) == 20


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex64"])
def test_elements_of_any_dtype_are_permuted(dtype):
    x = np.arange(8).astype(dtype)
    assert random.permutation(KEY, x).dtype == dtype
    assert Counter(random.permutation(KEY, x).tolist()) == Counter(x.tolist())


def test_the_default_integer_follows_the_settings():
    assert random.permutation(KEY, 3).dtype == np.int64
    with config.default_dtype_bits(32):
        assert random.permutation(KEY, 3).dtype == np.int32


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: random.permutation(KEY, 2.0),
            TypeError,
            "x has type ~float64[]. Give an integer, or an array with axes.",
        ),
        (
            lambda: random.permutation(KEY, True),
            TypeError,
            "x has type ~bool[]. Give an integer, or an array with axes.",
        ),
        (lambda: random.permutation(KEY, -3), ValueError, "x is -3. Give an integer of zero or more."),
        (lambda: random.permutation(KEY, [1, 2]), TypeError, "[1, 2] of type list is not an array or a scalar."),
        (lambda: random.permutation(KEY, np.ones(3), 1), ValueError, "axis 1 is out of range for ndim 1"),
        (lambda: random.permutation(KEY, np.ones(3), 0.0), TypeError, "the axis is 0.0. Give an integer."),
        (
            lambda: make_jaxpr(lambda n: random.permutation(KEY, n))(3),
            TracerIntegerConversionError,
            "an integer was asked of a traced value",
        ),
    ],
)
def test_a_value_without_an_order_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)
