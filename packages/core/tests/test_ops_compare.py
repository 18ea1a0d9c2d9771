"""Values of comparisons, logic, shifts and choices."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from calque_core import config, lax
from calque_core.errors import ShapeError
from calque_core.staging.make_jaxpr import make_jaxpr

COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
POINTS = [-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan]


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_of_floats_follow_python(name):
    for x in POINTS:
        expected = [COMPARISONS[name](x, y) for y in POINTS]
        np.testing.assert_array_equal(getattr(lax, name)(x, np.array(POINTS)), expected)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_bitwise_operations_follow_python(name, dtype):
    values = [False, True] if dtype == "bool" else [0, 1, 5, 127]
    reference = getattr(operator, name.removeprefix("bitwise_") + "_" * (name != "bitwise_xor"))
    for x in values:
        out = getattr(lax, name)(np.array(x, dtype), np.array(values, dtype))
        np.testing.assert_array_equal(out, [reference(x, y) for y in values])
        assert out.dtype == dtype


def test_not_is_logical_on_bools_and_bitwise_on_integers():
    np.testing.assert_array_equal(lax.bitwise_not(np.array([True, False])), [False, True])
    np.testing.assert_array_equal(lax.bitwise_not(np.array([0, 5], np.int8)), [-1, -6])
    np.testing.assert_array_equal(lax.bitwise_not(np.array([0, 5], np.uint8)), [255, 250])


@pytest.mark.parametrize("name", ["and", "or", "xor"])
def test_logic_refuses_floats(name):
    with pytest.raises(
        TypeError, match=rf"{name} of float64\[2\] at test_ops_compare\.py.*: not defined for float64\."
    ):
        getattr(lax, f"bitwise_{name}")(np.ones(2), np.ones(2))


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def wrapped(value: int, dtype: str) -> int:
    bits = 8 * np.dtype(dtype).itemsize
    value %= 2**bits
    return value - 2**bits if dtype[0] == "i" and value >= 2 ** (bits - 1) else value


def shifted(name: str, x: int, y: int, dtype: str) -> int:
    """Shift the bit pattern of x as an integer of unlimited size; y is read as an unsigned number."""
    bits = 8 * np.dtype(dtype).itemsize
    places = min(y % 2**bits, bits)
    pattern = x % 2**bits
    if name == "shift_left":
        return wrapped(pattern << places, dtype)
    if name == "shift_right_logical":
        return wrapped(pattern >> places, dtype)
    return wrapped((pattern - 2**bits * (pattern >> (bits - 1))) >> places, dtype)


@pytest.mark.parametrize("name", ["shift_left", "shift_right_logical", "shift_right_arithmetic"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_move_the_bit_pattern_whatever_the_sign_and_however_far(name, dtype):
    info = np.iinfo(dtype)
    bits = info.bits
    values = [0, 1, 5, info.max, info.min, info.min + 3]
    places = [0, 1, bits - 1, bits, bits + 1, info.max] + ([-1, info.min] if dtype[0] == "i" else [])
    for y in places:
        out = getattr(lax, name)(np.array(values, dtype), np.array(y, dtype))
        np.testing.assert_array_equal(out, [shifted(name, x, y, dtype) for x in values])
        assert out.dtype == dtype


def test_shifts_of_python_integers_have_their_default_dtype():
    assert lax.shift_right_logical(-1, 60) == 15
    assert lax.shift_right_logical(-1, 60).dtype == np.int64


@pytest.mark.parametrize("name", ["shift_left", "shift_right_logical", "shift_right_arithmetic"])
@pytest.mark.parametrize("operand", [True, 1.0])
def test_shifts_refuse_bools_and_floats(name, operand):
    with pytest.raises(TypeError, match=rf"{name} of (bool|float64)\[\] at .*not defined"):
        getattr(lax, name)(operand, operand)


@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (0, 3)])
def test_select_n_takes_each_element_from_the_case_of_its_number(shape):
    rng = np.random.default_rng(0)
    cases = [rng.normal(size=shape) for _ in range(5)]
    which = rng.integers(0, 5, shape).astype(np.int32)
    expected = np.array([cases[which[i]][i] for i in np.ndindex(shape)]).reshape(shape)
    np.testing.assert_array_equal(lax.select_n(which, *cases), expected)


def test_select_n_by_bools_takes_the_second_case_where_they_hold():
    np.testing.assert_array_equal(lax.select_n(np.array([False, True]), np.zeros(2), np.ones(2)), [0, 1])


def test_select_n_out_of_range_takes_the_nearest_case():
    which = np.array([-3, 0, 1, 9], np.int32)
    np.testing.assert_array_equal(lax.select_n(which, 10, 20), [10, 10, 20, 20])


@pytest.mark.parametrize("which", [True, np.int32(0), np.array([True, False, True]), np.array([0, 0, 0], np.int32)])
def test_select_n_with_one_case_gives_it_the_shape_of_the_choice(which):
    out = lax.select_n(which, 7.0)
    np.testing.assert_array_equal(out, np.full(np.shape(which), 7.0))
    assert out.shape == make_jaxpr(lambda: lax.select_n(which, 7.0))().out_avals[0].shape


def test_select_n_with_operands_of_rank_zero_stages_no_broadcast():
    jaxpr = make_jaxpr(lambda x: lax.select(lax.gt(x, 0.0), x, 0.0))(np.ones(3))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["gt", "select_n"]


def test_select_broadcasts_and_promotes():
    out = lax.select(np.array([[True], [False]]), np.array([1, 2], np.int32), 0.5)
    np.testing.assert_array_equal(out, [[1, 2], [0.5, 0.5]])
    assert out.dtype == np.float64


def test_select_refuses_what_is_not_bool():
    with pytest.raises(
        TypeError,
        match=r"select at .* got a predicate of type float64\[2\]\. Give bools: compare the operand, x != 0\.",
    ):
        lax.select(np.ones(2), 1.0, 2.0)


def test_select_n_refuses_other_dtypes_of_the_choice():
    with pytest.raises(TypeError, match=r"select_n at .* got a selector of type int8\[2\]\. Give bools, or int32"):
        lax.select_n(np.array([0, 1], np.int8), 1.0, 2.0)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_select_n_by_number_takes_the_nearest_case_out_of_range(dtype):
    which = np.array([-(2**31), -1, 0, 1, 2, 2**31 - 1], dtype)
    np.testing.assert_array_equal(lax.select_n(which, 10.0, 20.0), [10, 10, 10, 20, 20, 20])
    np.testing.assert_array_equal(lax.select_n(which, 10.0, 20.0, 30.0), [10, 10, 10, 20, 30, 30])


def test_select_n_takes_a_python_number_and_numpys_default_integers():
    assert lax.select_n(1, 10.0, 20.0) == 20.0
    np.testing.assert_array_equal(lax.select_n(np.array([2**32, 0]), 10.0, 20.0), [20, 10])
    with config.enable_x64(False):
        np.testing.assert_array_equal(lax.select_n(np.array([1, 0]), 10.0, 20.0), [20, 10])


@pytest.mark.parametrize("n_cases", [0, 3])
def test_select_n_by_bools_refuses_other_numbers_of_cases(n_cases):
    with pytest.raises(TypeError, match=rf"got a selector of type ~bool\[\] for {n_cases} cases\. Give 1 or 2 cases\."):
        lax.select_n(True, *[1.0] * n_cases)


def test_select_n_refuses_shapes_that_do_not_fit():
    with pytest.raises(
        ShapeError, match=r"select_n of bool\[2\] and float64\[3\] and float64\[3\] at .* do not broadcast"
    ):
        lax.select_n(np.array([True, False]), np.zeros(3), np.zeros(3))


def test_select_refuses_shapes_that_do_not_fit_in_the_order_of_its_arguments():
    with pytest.raises(ShapeError, match=r"^select of float64\[2\] and float64\[3\] at test_ops_compare.py.*broadcast"):
        lax.select(np.array([True, False, True]), np.zeros(2), np.zeros(3))
    with pytest.raises(ShapeError, match=r"^select of bool\[2\] and float64\[3\] and float64\[3\] at .* broadcast"):
        lax.select(np.array([True, False]), np.zeros(3), np.zeros(3))


def test_the_primitive_refuses_a_choice_of_another_shape():
    with pytest.raises(
        ShapeError, match=r"got a selector of type bool\[2\] for cases of type float64\[3\]\. Broadcast them"
    ):
        make_jaxpr(lax.select_n_p.bind)(np.array([True, False]), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("dtype", ["int8", "uint32", "float16", "float64"])
def test_clamp_is_the_middle_one_of_three(dtype):
    for x in range(7):
        out = lax.clamp(np.array(2, dtype), np.array(x, dtype), np.array(5, dtype))
        assert (out, out.dtype) == (sorted([2, x, 5])[1], dtype)


def test_clamp_keeps_nan_and_prefers_the_upper_bound():
    assert np.isnan(lax.clamp(0.0, np.nan, 1.0))
    assert lax.clamp(3.0, 5.0, 1.0) == 1.0


def test_clamp_promotes_and_broadcasts():
    out = lax.clamp(np.array([[0], [2]]), np.array([-1.0, 1.0, 9.0]), 5)
    np.testing.assert_array_equal(out, [[0, 1, 5], [2, 2, 5]])


def test_choices_and_clamps_broadcast_operands_of_one_dtype():
    x, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0, 9.0])
    for function in (lambda x, y: lax.clamp(x, y, 5.0), lambda x, y: lax.select(lax.lt(x, y), x, y)):
        (aval,) = make_jaxpr(function)(x, y).out_avals
        assert aval.shape == function(x, y).shape == (2, 3)


def test_clamp_compares_complex_numbers_by_the_real_part_first():
    assert lax.clamp(1j, np.array([-1 + 9j, 2j, 1.0]), 3j).tolist() == [1j, 2j, 3j]
