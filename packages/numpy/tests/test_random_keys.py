"""Keys are two words, in a KeyArray or bare; a wrong key, seed or number of keys is refused by name."""

import json
from pathlib import Path

import numpy as np
import pytest

from calque_core import TracerIntegerConversionError, config, eval_jaxpr, make_jaxpr
from calque_numpy import random

KEY = random.PRNGKey(0)
CASES = json.loads((Path(__file__).parent / "recorded_random.json").read_text())["cases"]
MAKERS = {"KeyArray", "prng_key", "key", "PRNGKey", "wrap_key_data"}
TAKERS = {name: {"call": name, "args": []} for name in ("clone", "key_data", "key_impl")}
TAKERS |= {case["call"]: case for case in CASES if case["x64"] and case["call"] != "key"}
ANY_NUMBER = {"clone", "key_data", "key_impl"}  # of keys


def test_every_public_function_that_takes_a_key_is_in_the_table():
    assert set(random.__all__) == TAKERS.keys() | MAKERS


@pytest.mark.parametrize("name", TAKERS)
def test_a_key_and_its_words_give_the_same_numbers(name, call_recorded):
    numbers, same = (call_recorded(TAKERS[name], make(3)) for make in (random.key, random.PRNGKey))
    if name in ("split", "fold_in", "clone"):
        assert (type(numbers), type(same)) == (random.KeyArray, np.ndarray)
        numbers, same = random.key_data(numbers), random.key_data(same)
    np.testing.assert_array_equal(numbers, same)


@pytest.mark.parametrize(
    ("not_a_key", "kind"),
    [
        (0, "~int64[]"),
        (np.zeros(2), "float64[2]"),
        (np.zeros(2, np.int32), "int32[2]"),
        (np.zeros(3, np.uint32), "uint32[3]"),
        (np.zeros((4, 2), np.uint32), "uint32[4,2]"),
        (np.uint32(1), "uint32[]"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", sorted(TAKERS.keys() - ANY_NUMBER))
def test_a_value_that_is_no_key_is_refused(name, not_a_key, kind, call_recorded):
    with pytest.raises(TypeError) as caught:
        call_recorded(TAKERS[name], not_a_key)
    assert str(caught.value).startswith(f"{name} at conftest.py:")
    assert f"the key has type {kind}, but one key is uint32[2]. Make keys with key(seed)" in str(caught.value)


@pytest.mark.parametrize("not_a_key", [[0, 1], "seed", None, np.random.default_rng(0)], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("draw", [random.split, random.normal])
def test_a_value_of_another_type_is_no_key(draw, not_a_key):
    words = rf"at .*: the key is a value of type {type(not_a_key).__name__}, but one key is uint32\[2\]\. Make keys"
    with pytest.raises(TypeError, match=words):
        draw(not_a_key)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64])
@pytest.mark.parametrize("seed", [0, 5, 100])
def test_a_seed_of_any_integer_dtype_counts_by_its_value(seed, kind):
    np.testing.assert_array_equal(random.PRNGKey(kind(seed)), random.PRNGKey(seed))
    jaxpr = make_jaxpr(random.PRNGKey)(kind(seed))
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, kind(seed))[0], random.PRNGKey(seed))


def test_a_negative_seed_is_its_bits():
    assert random.PRNGKey(-1).tolist() == [2**32 - 1, 2**32 - 1]
    assert random.PRNGKey(np.int64(-1)).tolist() == [2**32 - 1, 2**32 - 1]
    assert random.PRNGKey(np.int32(-1)).tolist() == [0, 2**32 - 1]
    with config.enable_x64(False):
        assert random.PRNGKey(-1).tolist() == random.PRNGKey(np.int64(-1)).tolist() == [0, 2**32 - 1]


def test_keys_are_all_different():
    keys = [KEY[None], *[random.split(random.PRNGKey(seed), 500) for seed in range(2)]]
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
        (lambda: random.PRNGKey(0.5), TypeError, "the seed has type ~float64[]. Give an integer"),
        (lambda: random.PRNGKey(True), TypeError, "the seed has type ~bool[]. Give an integer"),
        (
            lambda: random.PRNGKey(np.arange(2)),
            TypeError,
            "the seed has type int64[2]. Give an integer; map over several",
        ),
        (lambda: random.PRNGKey(2**63), OverflowError, "the seed 9223372036854775808 has more than 64 bits"),
        (lambda: random.split(KEY, 2.0), TypeError, "num is 2.0. Give an integer."),
        (lambda: random.split(KEY, -1), ValueError, "num is -1. Give a number of zero or more."),
        (lambda: random.split(KEY, (2, "3")), TypeError, "num is (2, '3'). Give a sequence of integers."),
        (lambda: random.split(KEY, (2, -3)), ValueError, "num is (2, -3). Give a number of zero or more."),
        (
            lambda: random.fold_in(KEY, 1.0),
            TypeError,
            "data has type ~float64[]. Give an integer; map over several with vmap.",
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
    jaxpr = make_jaxpr(random.PRNGKey)(1)
    for value in (seed, np.int64(seed)):
        assert np.array_equal(eval_jaxpr(jaxpr, jaxpr.consts, value)[0], random.PRNGKey(seed))


def test_an_unknown_generator_is_refused():
    for make in (random.key, random.PRNGKey, lambda seed, impl: random.wrap_key_data(KEY, impl=impl)):
        with pytest.raises(
            ValueError, match=r"impl is 'philox'\. The generators are 'threefry2x32', 'rbg', 'unsafe_rbg'"
        ):
            make(1, impl="philox")


@pytest.mark.parametrize("words", [np.zeros(3, np.uint32), np.zeros(2), np.uint32(1)])
def test_words_of_another_type_are_no_keys(words):
    for function in (random.wrap_key_data, random.key_data, random.key_impl):
        with pytest.raises(TypeError, match=r"are no words of keys\. Give uint32 with a last axis of size 2 or 4"):
            function(words)


def test_an_array_of_keys_is_not_one_key():
    with pytest.raises(TypeError, match=r"normal at .* the key has shape \(3,\), but one key is uint32\[2\]"):
        random.normal(random.split(random.key(0), 3))


def test_a_clone_of_no_key_is_refused():
    with pytest.raises(TypeError, match=r"^clone at test_random_keys.py:\d+ .*: 'spam' of type str is not an array"):
        random.clone("spam")


RECORDED = {  # from jax 0.10.2 on a CPU: the words of a split, of a number folded in, and random bits of key(42)
    "threefry2x32": (
        [[1832780943, 270669613], [64467757, 2916123636]],
        [2547012911, 1371500959],
        [2098992034, 2919706841, 2646866425],
    ),
    "rbg": (
        [[1832780943, 270669613, 1832780943, 270669613], [64467757, 2916123636, 64467757, 2916123636]],
        [2547012911, 1371500959, 2547012911, 1371500959],
        [2620864722, 2991908441, 282133475],
    ),
    "unsafe_rbg": (
        [[2620864722, 2991908441, 282133475, 2589630650], [4105776319, 298289174, 864345282, 274752888]],
        [2104303640, 250182049, 1106406590, 1983638428],
        [2620864722, 2991908441, 282133475],
    ),
}


@pytest.mark.parametrize("impl", RECORDED)
def test_a_generator_gives_the_keys_and_the_bits_of_jax(impl):
    key = random.key(42, impl=impl)
    keys, folded, bits = RECORDED[impl]
    assert random.split(key, 2).words.tolist() == keys
    assert random.fold_in(key, 7).words.tolist() == folded
    assert random.bits(key, (3,), np.uint32).tolist() == bits
    for made in (random.split(key), random.fold_in(key, 7), random.clone(key), key.reshape(1), np.stack([key, key])):
        assert (made.impl, random.key_impl(made)) == (impl, impl)


def test_bare_words_are_of_the_default_generator():
    key = random.key(42, impl="rbg")
    with config.default_prng_impl("rbg"):
        words = random.PRNGKey(42)
        assert words.shape == (4,)
        assert random.key_impl(words) == "rbg"
        np.testing.assert_array_equal(random.split(words), random.split(key).words)
        assert (random.key(42) == key).all()
        assert (random.wrap_key_data(words) == key).all()
    with pytest.raises(TypeError, match=r"a key of four words is of 'rbg' or of 'unsafe_rbg', .*wrap_key_data"):
        random.normal(words)
    with pytest.raises(ValueError, match=r"default_prng_impl was set to 'philox'\. Use 'threefry2x32', 'rbg'"):
        config.default_prng_impl("philox")


def test_keys_of_two_generators_are_not_joined_or_compared():
    first, second = random.key(0, impl="rbg"), random.key(0, impl="unsafe_rbg")
    for function in (lambda: np.stack([first, second]), lambda: first == second):
        with pytest.raises(TypeError, match="of keys of rbg and of unsafe_rbg: their words have different meanings"):
            function()
    assert repr(first) == "KeyArray(array([0, 0, 0, 0], dtype=uint32), impl='rbg')"


def test_more_keys_than_a_generator_numbers_are_refused():
    with pytest.raises(ValueError, match=r"500000000 keys from one key at .* are too many for unsafe_rbg"):
        random.split(random.key(0, impl="unsafe_rbg"), 500_000_000)
