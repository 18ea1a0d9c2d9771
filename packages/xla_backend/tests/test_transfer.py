import math

import numpy as np
import pytest

from calque_core.config import enable_x64
from calque_xla_backend import device_put, jit
from calque_xla_backend.transfer import SMALL_BYTES


def joining_of(f):
    """Return what runs the one program of a jitted function."""
    (entry,) = f.clear_cache.__self__.programs.values()
    return entry.joining


def test_small_numpy_arrays_are_joined_after_many_calls_and_results_stay_the_same():
    fun = lambda a, b, c, d, e: (a + b, c * 2, d, e)
    f = jit(fun)
    wide = np.arange(12.0).reshape(3, 4)

    def call(k):
        args = (np.full(3, k), float(k), wide.T, np.int32(k), device_put(float(k)))
        for got, want in zip(f(*args), fun(*args)):
            assert got.dtype == np.asarray(want).dtype
            np.testing.assert_array_equal(got, want)

    call(0.0)
    joining = joining_of(f)
    joining.costs = 1e9
    for k in range(5):
        call(float(k))
    assert joining.join is not None
    assert [len(group) for _, group in joining.join.groups] == [3, 1]


def test_joined_arguments_are_copied():
    f = jit(lambda x, y: x + y)
    x, y = np.ones(4), np.ones(4)
    f(x, y)
    joining_of(f).costs = 1e9
    f(x, y)
    out = f(x, y)
    x[:] = 100.0
    np.testing.assert_array_equal(out, np.full(4, 2.0))


def test_what_cannot_be_joined_is_not():
    single, donating = jit(lambda x: x + 1.0), jit(lambda x, y: x + y, donate_argnums=0)
    single(1.0)
    donating(1.0, 2.0)
    assert joining_of(single).costs == joining_of(donating).costs == -math.inf


def test_large_arrays_and_device_arrays_are_left_out_of_a_join():
    f = jit(lambda x, y, z, w: (x, y, z, w))
    args = 1.0, np.zeros(SMALL_BYTES), device_put(np.ones(2)), np.float64(2.0)
    f(*args)
    joining_of(f).costs = 1e9
    for _ in range(2):
        for got, want in zip(f(*args), args):
            np.testing.assert_array_equal(got, want)
    assert joining_of(f).join.others == [1, 2]


def test_joining_is_part_of_the_settings_it_was_made_under():
    f = jit(lambda x, y: (x, y))
    with enable_x64(False):
        f(np.ones(3), 2.0)
        joining_of(f).costs = 1e9
        for _ in range(3):
            assert [out.dtype for out in f(np.ones(3), 2.0)] == [np.float32, np.float32]
    assert [out.dtype for out in f(np.ones(3), 2.0)] == [np.float64, np.float64]


@pytest.mark.parametrize("donate", [None, 0])
def test_scalars_that_are_the_same_object_again_keep_their_value(donate):
    f = jit(lambda x, y: x + y, donate_argnums=donate)
    x, y, zero, minus_zero = np.float64(2.0), 3.0, 0.0, -0.0
    for _ in range(3):
        assert f(x, y) == 5.0
        assert f(x, 4.0) == 6.0
        assert f(np.float64(1.0), y) == 4.0
        assert [math.copysign(1.0, f(np.float64(-0.0), z)) for z in (zero, minus_zero)] == [1.0, -1.0]


def test_a_0d_array_may_change_between_calls():
    f = jit(lambda x: x + 1.0)
    x = np.zeros(())
    for k in range(4):
        x[()] = k
        assert f(x) == k + 1.0
