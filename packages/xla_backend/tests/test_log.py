"""Traces, compilations and large constants are logged where a setting asks for it."""

import logging
import re

import numpy as np
import pytest

from calque_core import config, lax
from calque_xla_backend import device_put, jit


@pytest.fixture
def messages(caplog):
    caplog.set_level(logging.WARNING, logger="calque")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "calque"]


def scale(x, y):
    return lax.mul(x, y)


def test_nothing_is_logged_by_default(messages):
    jit(lambda x: lax.sin(x))(1.0)
    assert messages() == []


def test_a_trace_and_a_compilation_are_one_line_each(messages):
    f = jit(lambda x, y: scale(x, y))
    with config.log_compiles():
        f(np.ones(3), 2.0)
    trace, compilation = messages()
    here = r" at test_log.py:\d+ \(test_a_trace_and_a_compilation_are_one_line_each\)"
    assert re.fullmatch(
        rf"traced <lambda> \(test_log.py:\d+\) for \(x: float64\[3\], y: ~float64\[\]\){here} in [\d.]+ m?s\. "
        r"No earlier call of this function is known\.",
        trace,
    )
    assert re.fullmatch(
        rf"compiled <lambda> for \(float64\[3\], ~float64\[\]\){here}: lowered in [\d.]+ m?s, "
        r"compiled by XLA in [\d.]+ m?s\.",
        compilation,
    )


def test_a_second_trace_is_logged_with_its_reason_and_a_known_call_is_not(messages):
    f = jit(lambda x, y: scale(x, y))
    f(np.ones(3), 2.0)
    with config.log_compiles():
        f(np.ones(3), 2.0)
        assert messages() == []
        f(np.ones(4), 2.0)
    assert messages()[0].endswith(" x has the shape (4,); that call had (3,).")


def test_turning_the_log_on_traces_nothing_anew(messages):
    f = jit(lambda x: lax.sin(x))
    f(1.0)
    config.update("log_compiles", True)
    try:
        f(1.0)
    finally:
        config.update("log_compiles", False)
    assert messages() == []
    assert f.cache_info() == (1, 1)


def test_an_operation_on_device_arrays_is_logged_by_its_name(messages):
    x = device_put(np.ones((3, 5, 7)))
    with config.log_compiles():
        lax.erf_inv(x)
    assert messages()[-1].startswith("compiled erf_inv for (float64[3,5,7]) at test_log.py:")


def test_many_arguments_are_counted(messages):
    with config.log_compiles():
        jit(lambda *xs: xs[0])(*range(20))
    assert ", and 12 more) at test_log.py:" in messages()[0]


def test_large_constants_are_reported_with_their_lines(messages):
    table, weights = np.ones((100, 100)), np.ones((100, 30))

    def model(x):
        return lax.dot(lax.dot(x, table), weights)

    with config.captured_constants_bytes(100_000):
        jit(model)(np.ones((2, 100)))
    (message,) = messages()
    assert re.fullmatch(
        r"model captured 104\.0 kB of constants, the largest: "
        r"float64\[100,100\] \(80\.0 kB\), used at .*test_log.py:\d+ \(.*model\); "
        r"float64\[100,30\] \(24\.0 kB\), used at .*test_log.py:\d+ \(.*model\) at test_log.py:\d+ \(.*\)\. "
        r"Pass them as arguments, so that programs share them; or set config.captured_constants_bytes, now 100000\.",
        message,
    )


def test_the_size_of_the_constants_decides(messages):
    table = np.ones((100, 100))
    for limit in (80_001, None):
        with config.captured_constants_bytes(limit):
            jit(lambda x: lax.dot(x, table))(np.ones((2, 100)))
    assert messages() == []
