"""Keys are arrays of two words; a wrong key, seed or number of keys is refused by name."""

import numpy as np
import pytest

from calque_core import TracerIntegerConversionError, config, eval_jaxpr, make_jaxpr
from calque_numpy import random

KEY = random.key(0)
TAKERS = {
    "split": random.split,
    "fold_in": lambda key: random.fold_in(key, 1),
    "bits": random.bits,
    "uniform": random.uniform,
    "randint": lambda key: random.randint(key, (), 0, 2),
    "normal": random.normal,
    "bernoulli": random.bernoulli,
    "permutation": lambda key: random.permutation(key, 3),
}


def test_every_public_function_that_takes_a_key_is_in_the_table():
    assert set(random.__all__) == {*TAKERS, "key"}


@pytest.mark.parametrize(
    ("not_a_key", "kind"),
    [
        (0, "int64[]"),
        (np.zeros(2), "float64[2]"),
        (np.zeros(2, np.int32), "int32[2]"),
        (np.zeros(3, np.uint32), "uint32[3]"),
        (np.zeros((4, 2), np.uint32), "uint32[4,2]"),
        (np.uint32(1), "uint32[]"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", TAKERS)
def test_a_value_that_is_no_key_is_refused(name, not_a_key, kind):
    with pytest.raises(TypeError) as caught:
        TAKERS[name](not_a_key)
    assert str(caught.value).startswith(f"{name} at test_random_keys.py:")
    assert f"the key has type {kind}, but one key is uint32[2]. Make keys with key(seed)" in str(caught.value)


def test_a_list_is_no_key():
    with pytest.raises(TypeError, match=r"\[0, 1\] of type list is not an array"):
        random.split([0, 1])


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64])
@pytest.mark.parametrize("seed", [0, 5, 100])
def test_a_seed_of_any_integer_dtype_counts_by_its_value(seed, kind):
    np.testing.assert_array_equal(random.key(kind(seed)), random.key(seed))
    jaxpr = make_jaxpr(random.key)(kind(seed))
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, kind(seed))[0], random.key(seed))


def test_a_negative_seed_is_its_bits():
    assert random.key(-1).tolist() == [2**32 - 1, 2**32 - 1]
    assert random.key(np.int64(-1)).tolist() == [2**32 - 1, 2**32 - 1]
    assert random.key(np.int32(-1)).tolist() == [0, 2**32 - 1]
    with config.enable_x64(False):
        assert random.key(-1).tolist() == random.key(np.int64(-1)).tolist() == [0, 2**32 - 1]


def test_keys_are_all_different():
    keys = [KEY[None], *[random.split(random.key(seed), 500) for seed in range(2)]]
    assert len(np.unique(np.concatenate(keys), axis=0)) == 1_001


def test_fold_in_of_a_number_is_its_key_in_a_split():
    for place, key in enumerate(random.split(KEY, 5)):
        np.testing.assert_array_equal(random.fold_in(KEY, place), key)
        np.testing.assert_array_equal(random.fold_in(KEY, np.int64(place + 2**32)), key)


def test_the_numbers_of_two_keys_are_unrelated():
    first, second = (random.normal(key, (10_000,)) for key in random.split(KEY))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: random.key(0.5), TypeError, "the seed has type float64[]. Give an integer"),
        (lambda: random.key(True), TypeError, "the seed has type bool[]. Give an integer"),
        (lambda: random.key(np.arange(2)), TypeError, "the seed has type int64[2]. Give an integer; map over several"),
        (lambda: random.key(2**63), OverflowError, "the seed 9223372036854775808 has more than 64 bits"),
        (lambda: random.split(KEY, 2.0), TypeError, "num is 2.0. Give an integer."),
        (lambda: random.split(KEY, -1), ValueError, "num is -1. Give a number of zero or more."),
        (lambda: random.split(KEY, (2, "3")), TypeError, "num is (2, '3'). Give a sequence of integers."),
        (lambda: random.split(KEY, (2, -3)), ValueError, "num is (2, -3). Give a number of zero or more."),
        (
            lambda: random.fold_in(KEY, 1.0),
            TypeError,
            "data has type float64[]. Give an integer; map over several with vmap.",
        ),
        (lambda: random.fold_in(KEY, np.arange(2)), TypeError, "data has type int64[2]."),
        (lambda: random.fold_in(KEY, -1), OverflowError, "data is -1. Give an integer from 0 to 2**32 - 1."),
        (lambda: random.fold_in(KEY, 2**32), OverflowError, "data is 4294967296. Give an integer from 0 to 2**32 - 1."),
        (
            lambda: make_jaxpr(lambda n: random.split(KEY, n))(2),
            TracerIntegerConversionError,
            "an integer was asked of",
        ),
    ],
)
def test_a_value_that_is_no_seed_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 2**40, 2**32])
def test_a_traced_seed_gives_the_key_of_the_python_integer(seed):
    jaxpr = make_jaxpr(random.key)(1)
    for value in (seed, np.int64(seed)):
        assert np.array_equal(eval_jaxpr(jaxpr, jaxpr.consts, value)[0], random.key(seed))
