"""Compiled programs that call Python functions: values, effects and their order, exceptions, threads, memory."""

import gc
import threading
import weakref
from functools import partial
from types import FunctionType

import numpy as np
import pytest

from calque_core import (
    Primitive,
    ShapeDtypeStruct,
    config,
    debug,
    effects_barrier,
    host_callback,
    io_callback,
    lax,
    make_jaxpr,
    pure_callback,
)
from calque_xla_backend import block_until_ready, compilation_cache, device_put, jit
from calque_xla_backend.compilation_cache import cache
from calque_xla_backend.compile import compile_jaxpr
from calque_xla_backend.runtime import callbacks
from calque_xla_backend.runtime.placement import placement

F64 = ShapeDtypeStruct((), np.float64)
DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


# Values


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_in_and_comes_out(dtype):
    x = (np.arange(12).reshape(3, 4) % 3).astype(dtype)
    f = jit(lambda x: pure_callback(lambda x: x.T, ShapeDtypeStruct((4, 3), dtype), x))
    out = f(x)
    assert out.dtype == dtype
    assert np.array_equal(out, x.T)


def test_short_floats_and_empty_arrays_go_in_and_come_out():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = np.array([1.5, 2.5], bfloat16)
    assert np.array_equal(jit(lambda x: pure_callback(lambda x: x[::-1], x, x))(x), x[::-1])
    assert jit(lambda x: pure_callback(lambda x: x, x, x))(np.zeros((0, 3))).shape == (0, 3)


def test_the_layout_of_operands_is_by_rows():
    x = np.arange(24.0).reshape(2, 3, 4)

    def program(x):
        turned = lax.transpose(x, (2, 0, 1))
        return pure_callback(lambda x: x[0] + 0.0, ShapeDtypeStruct((2, 3), np.float64), turned)

    assert np.array_equal(jit(program)(x), x[..., 0])


def test_arguments_stay_valid_and_cannot_be_written():
    kept = []
    f = jit(lambda x: debug.callback(kept.append, x * 2))
    for i in range(20):
        f(np.full(1000, float(i)))
    assert [x[999] for x in kept] == [2.0 * i for i in range(20)]
    with pytest.raises(ValueError, match="read-only"):
        kept[0][0] = 1.0


def test_results_are_checked_before_their_bytes_are_copied():
    with pytest.raises(TypeError, match=r"returned float32\[2\] as its result, but .* declares float64\[2\]"):
        jit(lambda x: pure_callback(lambda x: x.astype("float32"), x, x))(np.ones(2))
    with pytest.raises(TypeError, match=r"returned float64\[3\] as its result, but .* declares float64\[2\]"):
        jit(lambda x: pure_callback(lambda x: np.ones(3), x, x))(np.ones(2))
    strided = jit(lambda x: pure_callback(lambda x: np.asfortranarray(x)[::-1], x, x))
    assert strided(x := np.arange(6.0).reshape(2, 3)).tolist() == x[::-1].tolist()


def test_settings_of_the_trace_hold_in_the_callback():
    with config.enable_x64(False):
        f = jit(lambda x: pure_callback(lambda x: lax.sin(0.0) + x, F64, x))
        assert f(1.0).dtype == np.float32


def test_single_operations_on_device_arrays_call_with_values_of_the_host():
    kinds = []
    x = device_put(np.arange(3.0))
    out = pure_callback(lambda x: kinds.append(type(x)) or x * 2, x, x)
    debug.callback(lambda x: kinds.append(type(x)), x)
    assert kinds == [np.ndarray] * 2
    assert type(out) is type(x)
    assert out.tolist() == [0.0, 2.0, 4.0]


def test_a_callback_may_compute_with_calque_and_compile():
    inner = jit(lambda x: lax.sin(x) + 1.0)
    f = jit(lambda x: pure_callback(lambda x: inner(x) * 2.0, F64, x))
    assert f(0.0) == 2.0
    assert jit(lambda x: pure_callback(f, F64, x))(0.0) == 2.0


# Effects


def log_into(calls):
    return lambda x: calls.append(int(x))


def everywhere(log, n):
    """Call `log` with 0, 1, 2, ... through every kind of inner program; return the number of calls."""
    tell = lambda i: io_callback(log, None, i, ordered=True)

    def step(count, x):
        tell(count)
        return count + 1, x

    count, _ = lax.scan(step, 0, np.arange(7), unroll=3)
    count = lax.cond(n > 0, lambda c: (tell(c), c + 1)[1], lambda c: c, count)
    count = jit(lambda c: (tell(c), jit(lambda c: (tell(c), c + 1)[1])(c + 1))[1])(count)
    count = lax.while_loop(lambda c: c < n, lambda c: (tell(c), c + 1)[1], count)
    below = lambda c, end: (log(c), c < end)[1]
    holds = lambda c: io_callback(below, ShapeDtypeStruct((), bool), c, n + 5, ordered=True)
    count = lax.while_loop(holds, lambda c: c + 1, count)
    return count + 1


def test_ordered_calls_come_in_order_through_every_inner_program():
    calls = []
    f = jit(lambda n: everywhere(log_into(calls), n))
    for _ in range(3):
        assert f(980) == 986
    assert calls == [*range(986)] * 3
    eager = []
    assert everywhere(log_into(eager), 20) == 26
    assert eager == [*range(26)]


def test_ordered_calls_of_two_kinds_keep_one_order(capsys):
    @jit
    def f(x):
        for i in range(5):
            debug.print("{}", x + 2 * i, ordered=True)
            io_callback(lambda x: print(int(x)), None, x + 2 * i + 1, ordered=True)

    f(0)
    f(10)
    assert capsys.readouterr().out.split() == [str(i) for i in range(20)]


def test_calls_of_programs_come_in_order_while_arguments_are_computed(capsys):
    slow = jit(lambda x: lax.fori_loop(0, 20, lambda _, x: lax.dot(x, x) / 300.0, x)[0, 0])
    show = jit(lambda x, i: debug.print("{}", i + 0 * lax.convert_element_type(x, int), ordered=True))
    x = device_put(np.ones((300, 300)))
    for i in range(3):
        show(slow(x), i)
    debug.print("3", ordered=True)
    assert capsys.readouterr().out.split() == ["0", "1", "2", "3"]


def test_effects_without_results_are_never_removed():
    calls = []
    log = log_into(calls)

    def step(c, _):
        io_callback(log, None, 5)
        return c, None

    @jit
    def f(x):
        io_callback(log, None, 1)
        debug.callback(log, 2)
        lax.cond(x > 0, lambda: io_callback(log, None, 3), lambda: None)
        lax.fori_loop(0, 2, lambda i, _: io_callback(log, None, 4), None)
        lax.scan(step, 0, None, 2)
        return x

    f(1)
    assert sorted(calls) == [1, 2, 3, 4, 4, 5, 5]


def test_a_call_in_the_function_of_a_reduction_is_refused_since_xla_has_no_place_for_it():
    def add(a, b):
        debug.callback(lambda a: None, a)
        return a + b

    message = r"the callback <lambda> .* of debug.callback at .*add\) is called in the function of a reduction"
    with pytest.raises(TypeError, match=message):
        jit(lambda x: lax.reduce(x, 0.0, add, (0,)))(np.ones(4))


def test_so_is_a_primitive_that_calls_python_also_where_its_rule_ran_before():
    double_p = Primitive("double_of_test")
    double_p.def_impl(lambda x, *, by: x * by)
    double_p.def_abstract_eval(lambda x, *, by: x)
    double_p.def_rule("decomposition", host_callback(double_p))
    double = lambda x: double_p.bind(x, by=2)
    assert jit(lambda x: double(x) + double(x + 1))(1.0) == 6.0
    with pytest.raises(TypeError, match="is called in the function of a reduction"):
        jit(lambda x: lax.reduce(x + double(x[0]), 0.0, lambda a, b: double(a) + b, (0,)))(np.ones(4))


def test_equal_calls_with_effects_are_not_merged_and_unused_pure_calls_are_removed():
    calls = []

    @jit
    def f(x):
        pure_callback(lambda x: calls.append("pure"), None, x)
        return [io_callback(lambda x: calls.append("io") or x, F64, x) for _ in range(3)]

    f(1.0)
    assert calls == ["io"] * 3


def test_a_program_knows_its_callbacks():
    def log(x):
        return x

    assert jit(lambda x: x).lower(1.0).callbacks == ()
    lowered = jit(lambda x: io_callback(log, F64, pure_callback(log, F64, x))).lower(1.0)
    assert [function.fun for function in lowered.callbacks] == [log, log]
    assert lowered.as_text().count("xla_ffi_python_cpu_callback") == 2
    assert "has_side_effect = true" in lowered.as_text()


def test_a_program_with_callbacks_is_not_stored_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "MIN_COMPILE_SECONDS", 0.0)
    compilation_cache.set_cache_dir(tmp_path / "programs")
    try:
        assert [float(jit(partial(pure_callback, f, F64))(4.0)) for f in (np.sqrt, np.square)] == [2.0, 16.0]
        assert compilation_cache.cache_info().stored == 0
        jit(lambda x: lax.sin(x) * 3.0)(1.0)
        assert compilation_cache.cache_info().stored == 1
    finally:
        compilation_cache.set_cache_dir(None)


def test_a_primitive_with_an_evaluation_alone_is_compiled_as_a_call():
    median_p = Primitive("median_of_test")
    median_p.def_impl(lambda x, *, scale: np.median(x) * scale)
    median_p.def_abstract_eval(lambda x, *, scale: x.update(shape=()))
    median_p.def_rule("decomposition", host_callback(median_p))
    f = jit(lambda x: lax.sin(median_p.bind(x, scale=2.0)))
    assert f(np.array([1.0, 5.0, 2.0])) == np.sin(4.0)


# Waiting


def test_the_barrier_waits_for_programs_of_other_threads():
    started, release, order = threading.Event(), threading.Event(), []

    def slow(x):
        started.set()
        release.wait(10)
        order.append("effect")

    thread = threading.Thread(target=lambda: jit(lambda x: io_callback(slow, None, x))(1.0))
    thread.start()
    assert started.wait(10)
    waiting = threading.Thread(target=lambda: (effects_barrier(), order.append("barrier")))
    waiting.start()
    release.set()
    waiting.join(10), thread.join(10)
    assert order == ["effect", "barrier"]
    assert not callbacks._running


def test_a_compiled_callback_must_not_wait_for_its_own_program():
    with pytest.raises(RuntimeError, match=r"effects_barrier at .* was called inside a callback"):
        jit(lambda: io_callback(effects_barrier, None))()
    effects_barrier()


# Exceptions


class MineError(Exception):
    pass


def failing_if(x):
    if x < 0:
        raise MineError("negative", float(x))
    return x


CALLS = {
    "pure": lambda x: pure_callback(failing_if, F64, x),
    "io": lambda x: io_callback(failing_if, F64, x, ordered=True),
    "debug": lambda x: debug.callback(failing_if, x),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, c: io_callback(failing_if, F64, c - i), x),
    "nested jit": lambda x: jit(CALLS["io"])(x),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_users_exception_reaches_the_call_and_the_next_call_works(call):
    f = jit(CALLS[call])
    for _ in range(100):
        with pytest.raises(MineError, match="negative") as caught:
            f(-1.0)
        assert caught.value.args[1] < 0
        f(9.0)
    notes = caught.value.__notes__
    kind = {"debug": "debug.callback", "pure": "pure_callback"}.get(call, "io_callback")
    assert notes[0].startswith(
        f"This happened in the callback failing_if (test_callbacks.py:{LINE}) of {kind} at test_"
    )
    assert notes[1].startswith("The callback belongs to the compiled program of <lambda>.")
    assert not callbacks._failures


LINE = failing_if.__code__.co_firstlineno


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, OverflowError, RuntimeError, StopIteration])
def test_exceptions_of_every_class_pass_unchanged(kind):
    calls = []
    error = kind("mine")

    def fail(x):
        calls.append(x)
        raise error

    f = jit(lambda x: io_callback(fail, None, x))
    for argument in (1.0, 1.0, device_put(1.0), 2):
        calls.clear()
        with pytest.raises(kind) as caught:
            f(argument)
        assert caught.value is error
        assert len(calls) == 1


def test_an_exception_while_an_argument_is_computed_reaches_the_call():
    slow = jit(lambda x: lax.fori_loop(0, 20, lambda _, x: lax.dot(x, x) / 300.0, x)[0, 0])
    f = jit(CALLS["pure"])
    x = device_put(np.ones((300, 300)))
    for _ in range(3):
        with pytest.raises(MineError):
            f(-slow(x))
        assert block_until_ready(f(slow(x))) == 1.0


def test_errors_of_the_runtime_are_still_explained():
    x = device_put(1.0)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted or donated"):
        jit(CALLS["pure"])(x)


def test_threads_get_their_own_exceptions_and_results():
    f = jit(CALLS["io"])
    f(1.0)
    wrong = []

    def work(number):
        for i in range(50):
            x = float(number * 1000 + i + 1)
            try:
                if f(x) != x:
                    wrong.append(x)
                f(-x)
            except MineError as error:
                if error.args[1] != -x:
                    wrong.append((x, error))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Memory


class Callback:
    def __call__(self, x):
        return x


@pytest.mark.parametrize("call", [pure_callback, io_callback])
def test_dropping_the_function_frees_the_callback(call):
    callback = Callback()
    alive = weakref.ref(callback)
    f = jit(partial(call, callback, F64))
    f(1.0), f(2.0)
    assert alive() is not None
    del f, callback
    gc.collect()
    assert alive() is None


def test_a_callback_that_refers_to_the_compiled_function_is_freed_with_its_programs():
    class Model:
        def __init__(self):
            self.step = jit(lambda x: io_callback(self.log, F64, x))

        def log(self, x):
            return x

    model = Model()
    alive = weakref.ref(model)
    model.step(1.0)
    model.step.clear_cache()
    del model
    gc.collect()
    assert alive() is None


def test_programs_without_callbacks_run_without_a_wrapper():
    program = compile_jaxpr(make_jaxpr(lambda x: x + 1)(1.0), placement())
    assert not isinstance(program.run, FunctionType)
