"""Weak values: Python scalars and their traced stand-ins, made weak, strong, or what a type declares."""

import numpy as np
import pytest

from calque_core import ShapedArray, eval_jaxpr, make_jaxpr
from calque_core.ops.elementwise.weakness import (
    as_declared,
    convert_to,
    is_weak_bool,
    is_weak_integer,
    number,
    reaches,
    scalar_kind,
    strong,
    weak,
)

WEAK = ShapedArray((), "float64", weak_type=True)
STRONG = ShapedArray((), "float64")


def test_a_python_scalar_becomes_strong_without_an_operation():
    assert [type(strong(x)) for x in (True, 1, 1.0, 1j)] == [np.bool_, np.int64, np.float64, np.complex128]
    assert make_jaxpr(lambda: strong(2.0))().eqns == ()


def test_what_is_strong_stays_what_it_is():
    x = np.ones(2, np.float32)
    assert strong(x) is x
    assert make_jaxpr(strong)(np.float32(1)).eqns == ()


def test_a_traced_scalar_is_converted():
    jaxpr = make_jaxpr(lambda x: [strong(x), weak(strong(x)), weak(x)])(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["convert_element_type"] * 3
    assert [repr(aval) for aval in jaxpr.out_avals] == ["float64[]", "~float64[]", "~float64[]"]
    assert list(map(type, eval_jaxpr(jaxpr, jaxpr.consts, 1.0))) == [np.float64, float, float]


def test_a_weak_value_takes_the_class_that_is_asked_for():
    assert (type(weak(True, int)), type(weak(np.float32(2))), weak(3)) == (int, float, 3)
    assert (type(number(True)), type(number(2.5)), type(number(np.bool_(True)))) == (int, float, np.bool_)


def test_a_result_is_as_weak_as_its_type_declares():
    assert [type(as_declared(1.0, aval)) for aval in (WEAK, STRONG)] == [float, np.float64]
    assert [type(as_declared(np.float64(1), aval)) for aval in (WEAK, STRONG)] == [float, np.float64]


def test_a_value_takes_the_dtype_and_the_weakness_of_a_type():
    assert [type(convert_to(1, aval)) for aval in (WEAK, STRONG)] == [float, np.float64]
    assert convert_to(np.ones(2, np.float32), ShapedArray((2,), "float64")).dtype == np.float64


def test_questions_about_kinds():
    assert [is_weak_bool(x) for x in (True, np.True_, 1)] == [True, False, False]
    assert [is_weak_integer(x) for x in (1, np.int64(1), True)] == [True, False, False]
    assert scalar_kind(WEAK) is float


@pytest.mark.parametrize(("source", "target", "answer"), [("i8", "f4", True), ("f8", "i8", False), ("f8", "f4", True)])
def test_a_scalar_reaches_dtypes_of_its_kind_and_of_wider_kinds(source, target, answer):
    assert reaches(np.dtype(source), np.dtype(target)) is answer
