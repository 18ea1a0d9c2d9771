import asyncio
import threading

import numpy as np
import pytest

from calque_core import (
    JaxprTypeError,
    Primitive,
    ShapedArray,
    UnexpectedTracerError,
    backends,
    config,
    eval_jaxpr,
    lax,
    make_jaxpr,
    start_requests,
)
from calque_core.context import Reports, Settings, active
from calque_core.engine import fix_cpu_devices, register_devices, requested_cpu_devices
from calque_core.engine.numpy_functions import at


@pytest.fixture
def process_settings():
    yield
    for name, value in Settings()._asdict().items():
        config.update(name, value)


def test_the_defaults_are_numpys_dtypes():
    assert config.current() == Settings(enable_x64=True, default_dtype_bits=64, enable_checks=False)
    assert lax.sin(1.0).dtype == np.float64


def test_a_setting_holds_for_its_block():
    with config.enable_x64(False):
        assert config.current() == Settings(False, 32, False)
        assert lax.sin(np.float64(1.0)).dtype == np.float32
    assert lax.sin(np.float64(1.0)).dtype == np.float64


def test_thirty_two_bits_convert_the_operands_before_the_operation():
    third = np.float64(1) / 3
    with config.enable_x64(False):
        got = lax.mul(third, third)
    assert got == np.float32(third) * np.float32(third)
    assert got != np.float32(third * third)


def test_default_bits_concern_python_scalars_alone():
    with config.default_dtype_bits(32):
        assert lax.sin(1.0).dtype == np.float32
        assert lax.add(1, 2).dtype == np.int32
        assert lax.sin(np.float64(1.0)).dtype == np.float64
        assert lax.add(np.float64(1.0), 2.0).dtype == np.float64
        assert str(make_jaxpr(lambda x: x)(1.0)) == "{ lambda ; a:f32[]. let  in (a,) }"


def test_turning_64_bits_off_and_on_again_takes_the_default_bits_along():
    with config.enable_x64(False):
        assert config.current().default_dtype_bits == 32
        with config.enable_x64():
            assert config.current().default_dtype_bits == 64
    with config.default_dtype_bits(32), config.enable_x64(True):
        assert config.current().default_dtype_bits == 32


def test_settings_nest_in_the_order_of_entering_not_of_making():
    bits, checks = config.default_dtype_bits(32), config.enable_checks()
    with config.enable_x64(False), checks, bits:
        assert config.current() == Settings(False, 32, True)


def test_a_thread_has_settings_of_its_own():
    seen = []
    with config.enable_x64(False):
        thread = threading.Thread(target=lambda: seen.append(config.current().enable_x64))
        thread.start()
        thread.join()
    assert seen == [True]


def test_update_reaches_every_thread_those_that_have_traced_already_included(process_settings):
    with config.enable_x64(False):
        make_jaxpr(lax.sin)(1.0)
    seen, go, ready = [], threading.Event(), threading.Event()

    def work():
        make_jaxpr(lax.sin)(1.0)
        ready.set()
        go.wait(10)
        seen.append(lax.sin(1.0).dtype)

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(10)
    config.update("enable_x64", False)
    assert active
    go.set()
    thread.join()
    assert seen == [np.float32]
    assert lax.sin(1.0).dtype == np.float32
    config.update("enable_x64", True)
    assert lax.sin(1.0).dtype == np.float64
    assert not active


def test_an_update_inside_a_block_counts_after_it(process_settings):
    with config.enable_checks():
        config.update("default_dtype_bits", 32)
        assert config.current() == Settings(True, 64, True)
    assert config.current() == Settings(True, 32, False)


def test_a_block_inside_an_updated_process_starts_from_the_update(process_settings):
    config.update("default_dtype_bits", 32)
    with config.enable_checks():
        assert config.current() == Settings(True, 32, True)
    assert config.current() == Settings(True, 32, False)


def test_an_unknown_setting_is_refused_with_the_known_ones():
    message = (
        r"there is no setting named 'precision'\. The settings are: "
        r"enable_x64, default_dtype_bits, enable_checks, debug_nans, debug_infs, disable_jit"
    )
    with pytest.raises(AttributeError, match=message):
        config.update("precision", True)
    for name in ("enable_x32", "jax_enable_x64"):
        with pytest.raises(AttributeError, match=f"there is no setting named '{name}'. Did you mean 'enable_x64'?"):
            config.update(name, True)


def test_the_default_device_is_a_device_of_a_backend(monkeypatch, process_settings):
    class Drum:
        def __repr__(self):
            return "Drum()"

    monkeypatch.setattr(backends, "_backends", {})
    with pytest.raises(ValueError, match=r"^default_device was set to 'cpu', which .*\. Use None; no backend"):
        config.default_device("cpu")
    drum = Drum()
    register_devices(Drum, lambda x, device: x, lambda: [drum])
    with config.default_device(drum):
        assert config.current().default_device is drum
        assert lax.sin(0.0) == 0.0
        with config.default_device(None):
            assert config.current().default_device is None
    config.update("default_device", drum)
    assert config.current().default_device is drum
    with pytest.raises(ValueError, match=r"^default_device was set to 3, .* Use one of: Drum\(\); or None\.$"):
        config.update("default_device", 3)


def test_the_number_of_devices_is_asked_for_once_before_a_backend_starts(monkeypatch):
    monkeypatch.setattr(start_requests, "_cpu", start_requests.Request("cpu_devices", start_requests._cpu.show))
    config.cpu_devices(2)
    config.cpu_devices(4)
    assert requested_cpu_devices() == 4
    fix_cpu_devices(4)
    config.cpu_devices(4)
    with pytest.raises(
        RuntimeError,
        match=r"^cpu_devices got 2, but a backend has already started with 4 devices, .* before",
    ):
        config.cpu_devices(2)
    assert requested_cpu_devices() == 4


@pytest.mark.parametrize("count", [0, -1, True, 1.0, "2", None], ids=str)
def test_a_number_of_devices_is_a_positive_integer(count):
    with pytest.raises(ValueError, match=r"^cpu_devices got .*\. Use an integer of at least 1\.$"):
        config.cpu_devices(count)


def test_traceback_filtering_takes_the_two_words_of_jax():
    with pytest.raises(ValueError, match=r"traceback_filtering was set to 'on'\. Use 'remove_frames' or 'off'\."):
        config.traceback_filtering("on")


@pytest.mark.parametrize("value", ["no", 1, None, np.True_])
def test_a_switch_takes_bools_only(value):
    with pytest.raises(ValueError, match=r"enable_x64 was set to .*\. Use True or False\."):
        config.enable_x64(value)
    with pytest.raises(ValueError, match=r"enable_checks was set to .*\. Use True or False\."):
        config.enable_checks(value)


@pytest.mark.parametrize("value", [16, "64", True, None])
def test_bits_are_32_or_64(value):
    with pytest.raises(ValueError, match=r"default_dtype_bits was set to .*\. Use 32 or 64\."):
        config.default_dtype_bits(value)


def test_64_default_bits_need_64_bits():
    message = r"default_dtype_bits was set to 64 while enable_x64 is off\. Turn enable_x64 on first\."
    block = config.default_dtype_bits(64)
    with config.enable_x64(False):
        with pytest.raises(ValueError, match=message):
            config.default_dtype_bits(64)
        with pytest.raises(ValueError, match=message):
            block.__enter__()


def test_a_refused_setting_changes_nothing():
    for attempt in (lambda: config.update("default_dtype_bits", 7), lambda: config.enable_x64("x")):
        with pytest.raises(ValueError, match="was set to"):
            attempt()
    assert config.current() == Settings()


def test_checks_type_check_what_is_staged():
    answers = [ShapedArray((), np.float64), ShapedArray((2,), np.float64)]
    fickle_p = Primitive("fickle")
    fickle_p.def_abstract_eval(lambda aval: answers[0])

    def fun(x):
        y = fickle_p.bind(x)
        answers.reverse()
        return y

    make_jaxpr(fun)(1.0)
    answers.reverse()
    with config.enable_checks(), pytest.raises(JaxprTypeError, match="the type rule of 'fickle' gives"):
        make_jaxpr(fun)(1.0)


def test_tasks_that_overlap_have_settings_of_their_own_in_whichever_order_they_leave():
    async def narrow(entered, leave):
        with config.enable_x64(False):
            entered.set()
            await leave.wait()
            return lax.sin(1.0).dtype

    async def wide(entered, leave):
        with config.enable_x64(True):
            entered.set()
            await leave.wait()
            return lax.sin(1.0).dtype

    async def main(first, second):
        events = [asyncio.Event() for _ in range(4)]
        one = asyncio.create_task(first(events[0], events[1]))
        await events[0].wait()
        other = asyncio.create_task(second(events[2], events[3]))
        await events[2].wait()
        between = lax.sin(1.0).dtype
        events[1].set()
        dtypes = [await one]
        events[3].set()
        return [*dtypes, await other, between, lax.sin(1.0).dtype]

    assert asyncio.run(main(narrow, wide)) == [np.float32, np.float64, np.float64, np.float64]
    assert asyncio.run(main(wide, narrow)) == [np.float64, np.float32, np.float64, np.float64]
    assert asyncio.run(main(narrow, narrow)) == [np.float32, np.float32, np.float64, np.float64]
    assert not active


def test_what_a_task_starts_inside_a_block_keeps_its_settings_when_the_task_leaves():
    async def child(go):
        await go.wait()
        first = lax.sin(1.0).dtype
        with config.enable_checks():
            pass
        return first, lax.sin(1.0).dtype

    async def main():
        go = asyncio.Event()
        with config.enable_x64(False):
            task = asyncio.create_task(child(go))
        go.set()
        return lax.sin(1.0).dtype, *(await task)

    assert asyncio.run(main()) == (np.float64, np.float32, np.float32)
    assert not active


def test_a_thread_that_a_task_starts_has_its_settings_and_disturbs_nobody():
    def work(number):
        for _ in range(50):
            jaxpr = make_jaxpr(lambda x: lax.sin(x) * number)(1.0)
            eval_jaxpr(jaxpr, jaxpr.consts, 1.0)
        return jaxpr.out_avals[0].dtype

    async def main():
        with config.enable_x64(False):
            dtypes = await asyncio.gather(*(asyncio.to_thread(work, float(n)) for n in range(4)))
            return {*dtypes, lax.sin(1.0).dtype}

    assert asyncio.run(main()) == {np.dtype(np.float32)}
    assert not active


def test_an_update_reaches_a_task_that_has_no_settings_of_its_own(process_settings):
    async def main():
        make_jaxpr(lax.sin)(1.0)
        config.update("default_dtype_bits", 32)
        return lax.sin(1.0).dtype

    assert asyncio.run(main()) == np.float32


def test_reports_hold_for_their_block_and_are_no_part_of_the_settings():
    before = config.current()
    with config.log_compiles(), config.enable_x64(False), config.captured_constants_bytes(None):
        assert config.reports() == (True, "remove_frames", None, "refuse", "ignore")
    with config.log_compiles():
        assert config.current() is before
    assert config.reports() == Reports() == (False, "remove_frames", 2_000_000_000, "refuse", "ignore")


def test_an_update_of_a_report_reaches_threads_but_no_block():
    seen = []
    with config.captured_constants_bytes(7):
        config.update("captured_constants_bytes", 5)
        try:
            thread = threading.Thread(target=lambda: seen.append(config.reports().captured_constants_bytes))
            thread.start()
            thread.join()
            assert (config.reports().captured_constants_bytes, seen) == (7, [5])
        finally:
            config.update("captured_constants_bytes", Reports().captured_constants_bytes)
    assert config.reports() == Reports()


def test_reports_refuse_other_values():
    with pytest.raises(ValueError, match=r"log_compiles was set to 1. Use True or False."):
        config.log_compiles(1)
    for value in (-1, 1.5, True):
        with pytest.raises(ValueError, match=r"captured_constants_bytes was set to .* Use a number of bytes, or None"):
            config.captured_constants_bytes(value)
    with pytest.raises(ValueError, match=r"in_place_operators was set to 'copy'. Use 'refuse' or 'rebind'"):
        config.in_place_operators("copy")
    with pytest.raises(ValueError, match=r"unused_donations was set to True. Use 'ignore' or 'warn'"):
        config.update("unused_donations", True)
    with pytest.raises(AttributeError, match=r"Did you mean 'log_compiles'\?"):
        config.update("jax_log_compile", True)


def test_an_operator_in_place_rebinds_the_name_where_the_setting_says_so():
    def f(x):
        old = x
        x *= 2.0
        return old + x

    x = np.ones(2)
    with config.in_place_operators("rebind"):
        jaxpr = make_jaxpr(f)(x)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, x)[0], [3.0, 3.0])
    with pytest.raises(UnexpectedTracerError, match=r"'\*='.* changed its array in place"):
        make_jaxpr(f)(x)


def test_an_update_of_a_wider_kind_is_converted_with_a_warning_where_dtypes_promote_by_kind():
    x = np.arange(3)
    with config.numpy_dtype_promotion("by_kind"), pytest.warns(FutureWarning, match="int64 cannot hold it"):
        updated = at(x)[0].set(1.5)
    np.testing.assert_array_equal(updated, [1, 1, 2])
    with pytest.raises(TypeError, match="int64 cannot hold it"):
        at(x)[0].set(1.5)


def test_a_setting_decorates_a_function():
    @config.enable_x64(False)
    def function(x):
        """Doc."""
        return config.current().enable_x64, x

    assert function.__doc__ == "Doc."
    assert function.__name__ == "function"
    assert [function(1), function(x=2)] == [(False, 1), (False, 2)]
    assert config.current().enable_x64


def test_a_decorated_function_restores_the_setting_after_an_error_and_calls_itself():
    @config.default_dtype_bits(32)
    def function(n):
        if not n:
            raise KeyError(n)
        return function(n - 1)

    with pytest.raises(KeyError):
        function(3)
    assert config.current().default_dtype_bits == 64


def test_a_report_decorates_a_function():
    @config.log_compiles()
    def function():
        return config.reports().log_compiles

    assert function()
    assert not config.reports().log_compiles


def test_a_setting_decorates_nothing_but_functions():
    with pytest.raises(TypeError, match=r"enable_x64 at test_config.py:\d+ .* got 5 to decorate. Give a function"):
        config.enable_x64(False)(5)


def test_update_names_a_name_that_is_no_string():
    with pytest.raises(TypeError, match=r"config.update at .*test_config.py.* got True as a name. Give the name first"):
        config.update(True, "enable_x64")
