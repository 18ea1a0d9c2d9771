"""The cipher gives the answers that its authors published, and places are enciphered one by one."""

import numpy as np
import pytest

from calque_core import count_eqns, make_jaxpr
from calque_numpy import random
from calque_numpy.random.threefry import random_words, threefry2x32

# Source: the file kat_vectors of Random123 (Salmon, Moraes, Dror & Shaw): threefry2x32, 20 rounds.
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "counter", "cipher"), KNOWN)
def test_the_cipher_gives_the_published_answers(key, counter, cipher):
    high, low = (np.array([word], np.uint32) for word in counter)
    got = threefry2x32(np.array(key, np.uint32), high, low)
    assert [int(word[0]) for word in got] == list(cipher)


def test_a_number_depends_on_its_place_alone():
    key = random.PRNGKey(5)
    long = random.bits(key, (1000,), np.uint32)
    np.testing.assert_array_equal(random.bits(key, (10, 3), np.uint32).ravel(), long[:30])


def test_a_program_is_the_same_length_for_every_size():
    lengths = {count_eqns(make_jaxpr(lambda k, n=n: random.bits(k, (n,)))(random.PRNGKey(0))) for n in (1, 10, 100_000)}
    assert len(lengths) == 1


def test_more_places_than_counters_are_refused():
    with pytest.raises(ValueError, match=r"4294967297 random numbers from one key at .* are too many. Split the key"):
        random_words(random.PRNGKey(0), (2**32 + 1,))
