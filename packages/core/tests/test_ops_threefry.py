"""The cipher behind random numbers; packages/numpy/tests has the numbers made of it."""

import numpy as np
import pytest

from calque_core import ShapeError, check_jaxpr, lax, make_jaxpr
from calque_core.lax import threefry2x32

# Source: the file kat_vectors of Random123 (Salmon, Moraes, Dror & Shaw): threefry2x32, 20 rounds.
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]
DECOMPOSITION = lax.threefry2x32_p.rules["decomposition"]


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
    with pytest.raises(TypeError, match=r"threefry2x32 at test_ops_threefry\.py:\d+ .*type uint64\[3\]\. Use uint32\."):
        threefry2x32(*[x.astype(np.uint64)] * 4)
    with pytest.raises(TypeError, match="threefry2x32 of float32"):
        threefry2x32(*[x.astype(np.float32)] * 4)
    with pytest.raises(ShapeError, match="threefry2x32"):
        threefry2x32(x, x, words((2,)), x)
