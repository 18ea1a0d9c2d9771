"""Code on Python's floats: its text holds templates, and the numbers of the formula are bound."""

import math
from types import CodeType

import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_core.ops.elementwise.number_code import code_of_numbers

NUMBERS = [2.718281828459045, -0.0, 1e-320, 5.5e300, math.inf, -math.inf, math.nan]


def code(number):
    return code_of_numbers(make_jaxpr(lambda x: [lax.max(number * x, lax.select(x > number, x, number))])(1.0))


def constants_of(code):
    for x in code.co_consts:
        yield from constants_of(x) if isinstance(x, CodeType) else [x]


@pytest.mark.parametrize("number", [*NUMBERS, np.float64(0.1)])
def test_the_numbers_of_a_formula_are_not_in_its_text(number):
    function = code(number)
    assert set(map(type, constants_of(function.__code__))) <= {type(None)}
    x = np.float64(1.5)
    with np.errstate(all="ignore"):
        want = np.maximum(number * x, np.where(x > number, x, number))
    got = np.float64(function(1.5))
    np.testing.assert_array_equal(got, want)
    assert np.signbit(got) == np.signbit(want) or np.isnan(want)


def test_formulas_that_differ_in_numbers_alone_have_one_text():
    assert len({code(number).__code__ for number in NUMBERS}) == 1


def test_a_result_that_is_a_number_is_bound():
    function = code_of_numbers(make_jaxpr(lambda x: [0.1 + 0.2])(1.0))
    assert set(map(type, constants_of(function.__code__))) <= {type(None)}
    assert function(1.0) == 0.1 + 0.2
