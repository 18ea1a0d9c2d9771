import gc
import threading
import weakref

import numpy as np
import pytest

from calque_core import ShapeDtypeStruct, lax, pure_callback
from calque_xla_backend import device_put, jit, live_arrays
from calque_xla_backend.calls.transfer import SMALL_BYTES
from calque_xla_backend.runtime.runtime import XlaRuntimeError

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def arenas_of(f):
    """Return the arenas of the last program of a jitted function."""
    return f.jit_function.programs.last.inputs.arenas


def arenas_at_rest(f):
    return list(arenas_of(f)._at_rest)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5, 7), (2, 1, 3)])
def test_an_arena_holds_arrays_of_every_dtype_and_layout(shape):
    f = jit(lambda xs: xs[::-1])
    for k in range(4):
        numbers = np.asfortranarray(np.arange(np.prod(shape, dtype=int)).reshape(shape)) + k
        xs = [numbers.astype(dtype, order="K") for dtype in DTYPES]
        for out, want in zip(f(xs), xs[::-1]):
            assert out.dtype == want.dtype
            np.testing.assert_array_equal(out, want)
    assert len(f.jit_function.programs.last.inputs.small) == len(DTYPES)


def test_the_caller_may_overwrite_an_array_while_a_long_program_reads_it():
    def late(x, y):
        for _ in range(8):
            y = lax.dot(y, y)  # XLA runs a program with large products in a thread of its own
        return x + y[0, 0], x

    f = jit(late)
    x, y = np.zeros(8), device_put(np.zeros((200, 200)))
    wanted, outs = [], []
    for k in range(10):
        x[:] = k
        wanted.append(x.copy())
        outs.append(f(x, y))
        x[:] = -1.0
    for want, (total, same) in zip(wanted, outs):
        np.testing.assert_array_equal(total, want)
        np.testing.assert_array_equal(same, want)


def test_results_do_not_share_the_memory_that_the_next_call_writes():
    f = jit(lambda x: (x, x.reshape(2, 2), x + 1.0))
    outs = [f(np.full(4, float(k))) for k in range(6)]
    for k, (x, y, z) in enumerate(outs):
        np.testing.assert_array_equal(x, np.full(4, k))
        np.testing.assert_array_equal(y, np.full((2, 2), k))
        np.testing.assert_array_equal(z, np.full(4, k + 1))


def test_threads_do_not_write_to_one_arena():
    f = jit(lambda x, y: x * 1000.0 + y)
    f(np.zeros(16), 0.0)
    wrong = []

    def work(k):
        for i in range(300):
            out = np.asarray(f(np.full(16, float(k)), float(i)))
            if not (out == 1000.0 * k + i).all():
                wrong.append((k, i, out))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(arenas_at_rest(f)) <= len(threads) + 2


def test_calls_in_turn_share_two_arenas():
    f = jit(lambda x: x + 1.0)
    for k in range(10):
        assert f(float(k)) == k + 1.0
    assert len(arenas_at_rest(f)) == 2


def test_an_integer_that_does_not_fit_is_refused_and_the_next_call_works():
    f = jit(lambda n, x: n + x)
    for value in (1, 2**70, 2, 2**70, 3):
        if value > 100:
            with pytest.raises(OverflowError, match="does not fit int64"):
                f(value, np.int64(1))
        else:
            assert f(value, np.int64(1)) == value + 1


def test_large_donated_and_unread_arrays_and_those_that_python_sees_are_not_in_an_arena():
    large, small = np.ones(SMALL_BYTES), np.ones(2)
    f = jit(lambda large, small, unread, device, empty: (large + small[0], device, empty))
    for _ in range(3):
        f(large, small, small, device_put(1.0), np.zeros((0, 3)))
    assert f.jit_function.programs.last.inputs.small == [1]
    donating = jit(lambda x: x + 1.0, donate_argnums=0)
    calling = jit(lambda x: pure_callback(np.negative, ShapeDtypeStruct((2,), np.float64), x))
    for g, want in ((donating, small + 1.0), (calling, -small)):
        for _ in range(3):
            np.testing.assert_array_equal(g(small), want)
        assert arenas_of(g) is None


def test_a_captured_array_precedes_the_arguments():
    large = np.arange(float(SMALL_BYTES))
    f = jit(lambda x, unread, y: (large * x, y))
    for k in range(4):
        out, same = f(float(k), 7.0, np.full(3, k))
        np.testing.assert_array_equal(out, large * k)
        np.testing.assert_array_equal(same, np.full(3, k))
    assert f.jit_function.programs.last.inputs.small == [0, 2]


def test_the_memory_of_an_arena_is_no_live_array_and_dies_with_the_function():
    f = jit(lambda x: x * 2.0)
    before = len(live_arrays())
    for _ in range(4):
        f(np.ones(7))
    assert len(live_arrays()) == before
    memory = weakref.ref(arenas_at_rest(f)[0].views[0].base)
    gc.disable()
    try:
        del f
        device_put(1.0)  # jaxlib frees at its next call
        assert memory() is None
    finally:
        gc.enable()


def test_a_program_that_failed_leaves_its_arena_to_the_next_call():
    class Failed:
        def block_until_ready(self):
            raise XlaRuntimeError("INTERNAL: the last program failed")

    f = jit(lambda x: x + 1.0)
    for k in range(3):
        f(float(k))
    for arena in arenas_at_rest(f):
        arena.token = Failed()
    assert f(5.0) == 6.0


def test_an_interrupted_call_gives_no_arena_back():
    f = jit(lambda x: x + 1.0)
    for k in range(3):
        f(float(k))
    compiled = f.jit_function.programs.last
    run = compiled.run_with_token

    def interrupted(buffers):
        run(buffers)
        raise KeyboardInterrupt

    compiled.run_with_token = interrupted
    with pytest.raises(KeyboardInterrupt):
        f(3.0)
    compiled.run_with_token = run
    assert len(arenas_at_rest(f)) == 1
    assert [float(f(float(k))) for k in range(4)] == [1.0, 2.0, 3.0, 4.0]
