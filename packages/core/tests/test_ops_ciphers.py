"""The ciphers behind random numbers; packages/numpy/tests has the numbers made of them."""

import numpy as np
import pytest

from calque_core import ShapeError, check_jaxpr, lax, make_jaxpr
from calque_core.lax import RandomAlgorithm, philox4x32, rng_bit_generator, threefry2x32

# Source: the file kat_vectors of Random123 (Salmon, Moraes, Dror & Shaw): threefry2x32, 20 rounds; philox4x32, 10.
KNOWN_PHILOX = [
    ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0xA4093822, 0x299F31D0),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]
DECOMPOSITION = lax.threefry2x32_p.rules["decomposition"]
PHILOX_DECOMPOSITION = lax.philox4x32_p.rules["decomposition"]


def words(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 32, shape, np.uint32)


@pytest.mark.parametrize(("key", "counter", "cipher"), KNOWN)
@pytest.mark.parametrize("size", [1, 8, 9, 5000])
def test_the_cipher_gives_the_published_answers_for_any_number_of_counters(key, counter, cipher, size):
    high, low = threefry2x32(*np.uint32(key), *[np.full(size, word, np.uint32) for word in counter])
    assert {(int(a), int(b)) for a, b in zip(high, low, strict=True)} == {cipher}


@pytest.mark.parametrize("shapes", [
    ((), (), (), ()), ((), (), (), (9,)), ((), (), (3, 4), (3, 4)), ((4,), (4,), (), (4,)), ((4097,), (4097,), (), ()),
    ((), (), (2, 4096), ()), ((), (), (0, 3), (0, 3)), ((20,), (), (20,), ()),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:overflow encountered in scalar add")  # of the decomposition
def test_evaluation_agrees_with_the_operations(shapes):
    operands = [words(shape, seed) for seed, shape in enumerate(shapes)]
    shape = max(shapes, key=len)
    before = [np.array(x) for x in operands]
    outs = threefry2x32(*operands)
    wanted = DECOMPOSITION(*operands)
    for got, want in zip(outs, wanted, strict=True):
        assert (got.shape, got.dtype) == (shape, np.uint32)
        np.testing.assert_array_equal(got, want)
    np.testing.assert_equal(operands, before)


def test_it_is_one_equation():
    jaxpr = make_jaxpr(threefry2x32)(*[words(())] * 2, *[words((3,))] * 2)
    check_jaxpr(jaxpr)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["threefry2x32"]


def test_other_dtypes_and_shapes_are_refused():
    x = words((3,))
    with pytest.raises(TypeError, match=r"threefry2x32 at test_ops_ciphers\.py:\d+ .*type uint64\[3\]\. Use uint32\."):
        threefry2x32(*[x.astype(np.uint64)] * 4)
    with pytest.raises(TypeError, match="threefry2x32 of float32"):
        threefry2x32(*[x.astype(np.float32)] * 4)
    with pytest.raises(ShapeError, match="threefry2x32"):
        threefry2x32(x, x, words((2,)), x)


@pytest.mark.parametrize(("key", "counter", "cipher"), KNOWN_PHILOX)
def test_philox_gives_the_published_answers(key, counter, cipher):
    words = philox4x32(np.uint32(key), [np.full(3, word, np.uint32) for word in counter])
    assert [set(word.tolist()) for word in words] == [{word} for word in cipher]


@pytest.mark.parametrize(
    "shapes", [((),) * 6, ((), (), (9,), (), (), ()), ((3, 4), (), (), (), (), (3, 4)), ((0,),) * 6]
)
@pytest.mark.filterwarnings("ignore:overflow encountered")  # of the decomposition
def test_philox_agrees_with_its_operations(shapes):
    operands = [words(shape, seed) for seed, shape in enumerate(shapes)]
    for got, want in zip(philox4x32(operands[:2], operands[2:]), PHILOX_DECOMPOSITION(*operands), strict=True):
        assert (got.shape, got.dtype) == (max(shapes, key=len), np.uint32)
        np.testing.assert_array_equal(got, want)


# Recorded from jax 0.10.2 on a CPU: the bits of the state (1, 2, 2**32 - 1, 2**32 - 1), and the state after them.
STATE = np.array([1, 2, 2**32 - 1, 2**32 - 1], np.uint32)
RECORDED = [
    (0, (5,), "uint32", [1, 2, 1, 0], [875035680, 2457449792, 952865925, 536199321, 67759320]),
    (2, (3,), "uint64", [1, 2, 1, 0], [10554666489077038112, 2302958548785271941, 1141394929143639256]),
    (2, (), "uint8", [1, 2, 0, 0], [32]),
    (1, (3,), "uint64", [1, 2, 2, 0], [11251980885262141764, 10065618714822106931, 5203543169901498931]),
    (1, (3,), "uint16", [1, 2, 1, 0], [2372, 4351, 57139]),
    (1, (3, 2), "uint32", [1, 2, 2, 0], [3850963268, 2619805951, 629071667, 2343584484, 2271449651, 1211544305]),
    (1, (1, 3), "uint32", [1, 2, 1, 0], [3850963268, 2619805951, 629071667]),
    (1, (), "uint32", [1, 2, 0, 0], [3850963268]),
]


@pytest.mark.parametrize(("algorithm", "shape", "dtype", "state", "bits"), RECORDED)
def test_bits_are_those_of_xla(algorithm, shape, dtype, state, bits):
    after, got = rng_bit_generator(STATE, shape, dtype, algorithm)
    np.testing.assert_array_equal(after, np.array(state, np.uint32), strict=True)
    np.testing.assert_array_equal(got, np.reshape(np.array(bits, dtype), shape), strict=True)
    wide, same = rng_bit_generator(STATE.view(np.uint64), shape, dtype, RandomAlgorithm(algorithm))
    np.testing.assert_array_equal(wide.view(np.uint32), after, strict=True)
    np.testing.assert_array_equal(same, got)


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_bits_go_on_where_they_ended(dtype):
    state, first = rng_bit_generator(STATE[[2, 0, 0, 1]], (8,), dtype)
    np.testing.assert_array_equal(
        np.concatenate([first, rng_bit_generator(state, (8,), dtype)[1]]),
        rng_bit_generator(STATE[[2, 0, 0, 1]], (16,), dtype)[1],
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((STATE[:3], (2,)), TypeError, r"the key has type uint32\[3\]\. Give uint32\[4\], or uint64\[2\]"),
        ((STATE, (2,), np.int32), TypeError, "dtype is int32. Use uint8, uint16, uint32 or uint64"),
        ((STATE, (2, -1)), ValueError, r"the shape \(2, -1\) has a negative size"),
        ((STATE, (1 << 33, 5)), ValueError, "42949672960 numbers from one state are too many"),
        ((STATE, (2,), np.uint32, 3), ValueError, "3 is not a valid RandomAlgorithm"),
    ],
)
def test_no_bits_of_other_states_dtypes_or_sizes(arguments, error, message):
    with pytest.raises(error, match=message):
        rng_bit_generator(*arguments)
