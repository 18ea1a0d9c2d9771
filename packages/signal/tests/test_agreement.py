"""Staging and evaluation of the operations agree in values, types and refusals, over every dtype and both regimes.

Read next: `test_ops_laws.py` and `test_ops_dtypes.py` of core, whose checks these are.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import calque_signal as signal
from calque_core import Primitive, ShapeDtypeStruct, config, lax, make_jaxpr
from calque_core.testing import check_types

CORE = Path(__file__).parents[2] / "core" / "tests"
laws = SimpleNamespace(**runpy.run_path(str(CORE / "test_ops_laws.py")))
dtypes = SimpleNamespace(**runpy.run_path(str(CORE / "test_ops_dtypes.py")))

pytestmark = pytest.mark.sampled(keep=0.1)

REAL, ALL = laws.REAL, laws.ALL
SUM, EXTREME = ((2, 1), None, "SAME"), ((1, 3), (1, 2), "SAME")


def zero_of(x):
    return lax.zeros_like(x, shape=())


def one_of(x):
    return lax.full_like(x, 1, shape=())


# name -> (function of one array of rank 2, the kinds it takes)
STRUCTURED = {
    "reduce_window sum": (lambda x: signal.reduce_window(x, 0, lax.add, *SUM), ALL),
    "reduce_window max": (lambda x: signal.reduce_window(x, 0, lax.max, *EXTREME), ALL),
    "reduce_window": (
        lambda x: signal.reduce_window(x, zero_of(x), lambda a, b: b + a + a - a, (2, 2), None, "SAME"),
        "iufc",
    ),
    "select_and_gather_add": (lambda x: signal.select_and_gather_add(x, x, lax.ge_p, (2, 2), None, "SAME"), REAL),
    "select_and_scatter_add": (lambda x: signal.select_and_scatter_add(x, x, lax.le_p, (2, 2), None, "SAME"), "iuf"),
    "conv": (lambda x: signal.conv(x, x, (), ()), ALL),
    "fft": (lambda x: signal.fft(lax.stack([x, x], 2), "FFT", (2,)), ALL),
    "inverse fft": (lambda x: signal.fft(lax.stack([x, x], 2), "IRFFT", (3,)), ALL),
    "real fft": (lambda x: signal.fft(lax.stack([x, x], 2), "rfft", (2,)), "biuf"),
}


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("dtype", laws.DTYPES)
@pytest.mark.parametrize("shape", [(3, 2), (1, 1), (0, 2), (2, 0)])
def test_operations_agree_or_refuse_alike(name, dtype, shape):
    function, kinds = STRUCTURED[name]
    check = laws.check_agreement if np.dtype(dtype).kind in kinds else laws.check_refusal
    check(function, laws.numbers(dtype, shape))


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("dtype", laws.DTYPES)
@pytest.mark.parametrize("shape", [(3, 2), (1, 1), (0, 2)])
def test_straight_line_code_gives_the_bits_of_evaluation(name, dtype, shape):
    function, kinds = STRUCTURED[name]
    if np.dtype(dtype).kind not in kinds:
        return
    x = laws.numbers(dtype, shape)
    jaxpr, expected = make_jaxpr(function)(x), function(x)
    if laws.is_straight(jaxpr):
        out = laws.straight_line(jaxpr)(x)
        assert (type(out), out.shape, out.dtype) == (type(expected), expected.shape, expected.dtype)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float16", "float32", "float64", "complex128"])
def test_values_do_not_depend_on_the_byte_order(name, dtype):
    function, kinds = STRUCTURED[name]
    if np.dtype(dtype).kind not in kinds:
        return
    native, swapped = (laws.values_of(function, 1, dtype, order) for order in "=S")
    for want, got in zip(native, swapped, strict=True):
        assert got.dtype.newbyteorder("=") == want.dtype
        np.testing.assert_allclose(got, want, 1e-6)


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("dtype", laws.NARROW)
def test_with_x64_off_the_result_is_that_of_the_narrow_operand(name, dtype):
    (function, kinds), x = STRUCTURED[name], laws.numbers(dtype, (3, 2))
    if np.dtype(dtype).kind not in kinds:
        return
    with config.enable_x64(False):
        out = laws.check_agreement(function, x)
        expected = function(x.astype(laws.NARROW[dtype]))
    assert out.dtype == expected.dtype
    assert out.dtype.name not in laws.NARROW
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", STRUCTURED)
def test_abstract_values_are_enough_to_trace(name):
    function, kinds = STRUCTURED[name]
    dtype = np.dtype(laws.KINDS[kinds[-1]][-1])
    (aval,) = make_jaxpr(function)(ShapeDtypeStruct((3, 2), dtype)).out_avals
    assert aval.shape == function(laws.numbers(dtype.name, (3, 2))).shape


# primitive -> functions of one array of type [2, 3]
PROGRAMS = {
    "reduce_window_sum": [lambda x: signal.reduce_window(x, 0, lax.add, (1, 2), (1, 1), "SAME")],
    "reduce_window_max": [lambda x: signal.reduce_window(x, 0, lax.max, (1, 2), (1, 2), "SAME")],
    "reduce_window_min": [lambda x: signal.reduce_window(x, 0, lax.min, (2, 1), (1, 1), "SAME")],
    "reduce_window": [lambda x: signal.reduce_window(x, one_of(x), lax.mul, (1, 2), (1, 1), "SAME")],
    "select_and_gather_add": [lambda x: signal.select_and_gather_add(x, x, lax.ge_p, (1, 2), (1, 1), "SAME")],
    "select_and_scatter_add": [lambda x: signal.select_and_scatter_add(x, x, lax.le_p, (1, 2), (1, 1), "SAME")],
    "select_and_scatter": [
        lambda x: signal.select_and_scatter(x, lax.ge, (1, 2), (1, 1), "SAME", x, one_of(x), lambda a, b: a * b)
    ],
    "fft": [lambda x, kind=kind, n=n: signal.fft(x, kind, (n,)) for kind, n in (("FFT", 3), ("RFFT", 3), ("IRFFT", 5))],
    "conv_general_dilated": [
        lambda x: signal.conv(x, x, (), ()),
        lambda x: signal.conv(lax.expand_dims(x, (1,)), lax.expand_dims(x, (1,)), (1,), "SAME"),
        lambda x: signal.conv(x, x, (), (), preferred_element_type=np.float32),
    ],
}


@pytest.mark.parametrize("enable_x64", [True, False], ids=["x64", "x32"])
@pytest.mark.parametrize("dtype", dtypes.DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_evaluation_gives_the_type_that_the_type_rule_says_or_both_refuse(name, dtype, enable_x64):
    x = (np.arange(6).reshape(2, 3) % 2 + 1).astype(dtypes.scalar_type(dtype))
    with config.enable_x64(enable_x64), np.errstate(all="ignore"):
        for fun in PROGRAMS[name]:
            check_types(fun, x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_row_of_the_table_is_about_its_primitive(name):
    bound = {eqn.primitive.name for fun in PROGRAMS[name] for eqn in make_jaxpr(fun)(np.ones((2, 3))).eqns}
    assert name in bound


def test_the_table_has_every_primitive():
    values = [getattr(signal, name) for name in signal.__all__]
    assert {p.name for p in values if isinstance(p, Primitive)} == PROGRAMS.keys()
