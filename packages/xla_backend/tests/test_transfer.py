import math
from contextlib import nullcontext

import numpy as np
import pytest

from calque_core.config import enable_x64
from calque_xla_backend import compile, device_put, jit
from calque_xla_backend.calls import transfer


def test_many_calls_with_small_numpy_arrays_compile_once(monkeypatch):
    compiled = []
    load_or_compile = compile.load_or_compile
    monkeypatch.setattr(compile, "load_or_compile", lambda *args: compiled.append(args) or load_or_compile(*args))
    fun = lambda a, b, c, d, e: (a + b, c * 2, d, e)
    f = jit(fun)
    wide = np.arange(12.0).reshape(3, 4)
    for k in range(50):
        args = (np.full(3, k), float(k), wide.T, np.int32(k), device_put(float(k)))
        for got, want in zip(f(*args), fun(*args)):
            assert got.dtype == np.asarray(want).dtype
            np.testing.assert_array_equal(got, want)
    assert len(compiled) == 1


@pytest.mark.parametrize("donate", [None, 0])
def test_numpy_arguments_are_copied(donate):
    f = jit(lambda x, y: (x, x + y), donate_argnums=donate)
    x, y = np.ones(4), np.ones(4)
    for _ in range(3):  # by the general path, then by the route of known inputs
        same, out = f(x, y)
        x[:] = 100.0
        np.testing.assert_array_equal(same, np.ones(4))
        np.testing.assert_array_equal(out, np.full(4, 2.0))
        x[:] = 1.0


def test_inputs_are_known_under_the_settings_of_their_call():
    f = jit(lambda x, y: (x, y))
    for _ in range(3):
        with enable_x64(False):
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


def test_a_numpy_array_that_no_result_depends_on_is_not_transferred(monkeypatch):
    transferred = []
    put = transfer.put
    monkeypatch.setattr(transfer, "put", lambda x, target: transferred.append(x.shape) or put(x, target))
    f = jit(lambda x, y, z, n: (x + 1.0, z))
    size = transfer.SMALL_BYTES
    x, y, z, n = np.ones(size), np.ones(size + 1), np.ones(size + 2), 7
    f(x, y, z, n)
    assert transferred == []  # the first call goes by the general path
    for _ in range(2):
        out, same = f(x, y, z, n)
        np.testing.assert_array_equal(out, x + 1.0)
        np.testing.assert_array_equal(same, z)
    assert transferred == [x.shape, z.shape, (), x.shape, z.shape]  # a scalar once
    assert f(x, np.ones(5), z, n)[1].shape == z.shape
    assert f.cache_info().traces == 2


def test_an_integer_that_does_not_fit_is_refused_where_no_result_depends_on_it():
    f = jit(lambda x, n: x)
    for value, refuses in ((2**70, True), (1, False), (2**70, True)):
        with pytest.raises(OverflowError) if refuses else nullcontext():
            f(np.ones(2), value)
