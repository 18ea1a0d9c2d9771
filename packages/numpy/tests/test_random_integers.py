"""Random integers reach every number of their range and no other, whatever the dtypes of the bounds."""

import numpy as np
import pytest

from calque_core import ShapeError, eval_jaxpr, make_jaxpr
from calque_numpy import random

pytestmark = pytest.mark.sampled(keep=0.1)

KEY = random.PRNGKey(0)
DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_of_the_range_is_equally_likely(dtype):
    x = random.randint(KEY, (7_000,), 3, 10, dtype)
    assert x.dtype == dtype
    numbers, counts = np.unique(x, return_counts=True)
    assert numbers.tolist() == [3, 4, 5, 6, 7, 8, 9]
    assert (abs(counts / 1_000 - 1) < 0.15).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_bound_beyond_the_dtype_is_the_end_of_its_range(dtype):
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    x = random.randint(KEY, (4_000,), low, high + 1, dtype)
    assert abs(np.mean(x.astype(float) / high) - (0.5 if low == 0 else 0)) < 0.05
    np.testing.assert_array_equal(random.randint(KEY, (4_000,), low - 10, high + 10, dtype), x)
    if dtype.endswith("8"):
        assert len(np.unique(x)) == 256


@pytest.mark.parametrize("bound", ["int16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_of_any_dtype_give_the_same_integers(dtype, bound):
    want = random.randint(KEY, (50,), 0, 300, dtype)
    low, high = np.dtype(bound).type(0), np.array(300, bound)
    np.testing.assert_array_equal(random.randint(KEY, (50,), low, high, dtype), want)
    jaxpr = make_jaxpr(lambda k, a, b: random.randint(k, (50,), a, b, dtype))(KEY, low, high)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, KEY, low, high)[0], want)


def test_a_traced_bound_beyond_the_dtype_is_all_of_it():
    want = random.randint(KEY, (9,), 0, 2**32, np.uint32)
    high = np.array([2**32, 2**40, 2**63 - 1] * 3)
    jaxpr = make_jaxpr(lambda k, b: random.randint(k, (9,), 0, b, np.uint32))(KEY, high)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, KEY, high)[0], want)


def test_an_empty_range_gives_its_lower_bound():
    assert random.randint(KEY, (2,), 5, 5).tolist() == [5, 5]
    assert random.randint(KEY, (2,), np.array([5, 7]), 2).tolist() == [5, 7]


def test_bounds_broadcast():
    low = np.array([[0], [100]])
    x = random.randint(KEY, (2, 50), low, low + 10)
    assert ((low <= x) & (x < low + 10)).all()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: random.randint(KEY, (2,), 0, 5, float), TypeError, "randint at test_random_integers.py:"),
        (lambda: random.randint(KEY, (2,), 0, 5, bool), TypeError, "dtype is bool. Use an integer dtype."),
        (lambda: random.randint(KEY, (2,), 0.0, 5), TypeError, "minval has type ~float64[]. Give an integer."),
        (lambda: random.randint(KEY, (2,), 0, True), TypeError, "maxval has type ~bool[]. Give an integer."),
        (lambda: random.randint(KEY, 2, 0, 5), TypeError, "shape is 2. Give a sequence of integers."),
        (lambda: random.randint(KEY, (2,), np.arange(3), 5), ShapeError, "minval has type int64[3], which does not"),
    ],
)
def test_wrong_bounds_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)
