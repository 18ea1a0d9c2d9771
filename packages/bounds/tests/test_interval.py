import numpy as np
import pytest

from calque_bounds import Interval, outward
from calque_bounds.interval import enclose, floats, known, magnitudes, no_nan

DTYPES = [np.dtype("float32"), np.dtype("float64")]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_bound_moves_by_one_to_three_ulps(dtype):
    x = np.exp(np.random.default_rng(0).uniform(-40, 40, 1000)).astype(dtype)
    lower, upper = outward(x, x)
    for moved in (x - lower, upper - x):
        ulps = moved / np.spacing(x)
        assert ulps.min() >= 1
        assert ulps.max() <= 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_bound_is_subnormal(dtype):
    smallest = np.finfo(dtype).smallest_normal
    x = np.concatenate([np.geomspace(smallest, floats(dtype).step * 8, 4000), [0.0]]).astype(dtype)
    x = np.concatenate([x, -x, np.array([smallest / 4, -smallest / 4], dtype)])
    for bound in outward(x, x):
        assert np.all((bound == 0.0) | (np.abs(bound) >= smallest))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_largest_float_stays_a_lower_bound_of_what_overflows(dtype):
    x = np.array([np.inf, -np.inf], dtype)
    lower, upper = outward(x, x)
    assert np.isfinite(lower[0])
    assert lower[0] > np.finfo(dtype).max / 2
    assert upper[0] == np.inf
    assert (lower[1], upper[1]) == (-np.inf, -lower[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_subnormal_bound_moves_to_zero_or_to_a_normal_number(dtype):
    smallest = np.finfo(dtype).smallest_normal
    tiny = np.array([smallest / 8, -smallest / 8], dtype)
    lower, upper = enclose(tiny, tiny)
    assert lower.tolist() == [0.0, -smallest]
    assert upper.tolist() == [smallest, 0.0]


def test_infinite_numbers_are_the_numbers_beyond_the_largest_float_and_nan_is_any_number():
    x = np.array([np.inf, -np.inf, np.nan, 1.0])
    lower, upper = enclose(x, x)
    largest = np.finfo(float).max
    assert lower.tolist() == [largest, -np.inf, -np.inf, 1.0]
    assert upper.tolist() == [np.inf, -largest, np.inf, 1.0]


def test_a_plain_constant_is_exact():
    x = np.array([0.0, 1.0])
    assert enclose(x, x).is_exact


def test_magnitudes():
    x = Interval(np.array([-2.0, 1.0, -3.0]), np.array([1.0, 2.0, -2.0]))
    assert [end.tolist() for end in magnitudes(x)] == [[0.0, 1.0, 2.0], [2.0, 2.0, 3.0]]


def test_no_nan():
    assert no_nan(np.array([np.nan, 1.0]), -np.inf).tolist() == [-np.inf, 1.0]


def test_a_value_of_several_numbers_is_not_known():
    assert known(Interval(np.array([1, 2]), np.array([1, 2])), "an index", "").lower.tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"bounds met an index.* depends on the interval.* Give constants\."):
        known(Interval(np.array([1, 2]), np.array([1, 3])), "an index", "Give constants.")
