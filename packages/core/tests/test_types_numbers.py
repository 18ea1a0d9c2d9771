"""Numbers of classes that derive from Python's are operands, as Python's own numbers are."""

import enum

import numpy as np
import pytest

from calque_core import config, jaxpr_as_fun, lax, make_jaxpr, typeof
from calque_core.engine import is_array_like
from calque_core.types.numbers import is_number, plain_number

Order = enum.IntEnum("Order", ["FIRST", "SECOND"])
Flag = enum.IntFlag("Flag", ["READ", "WRITE"])


class Metres(float):
    """A length."""


class Phase(complex):
    """A complex number."""


TWO = [Order.SECOND, Flag.WRITE, Metres(2.0), Phase(2.0)]


@pytest.mark.parametrize("x", TWO)
def test_the_type_is_that_of_the_plain_number(x):
    assert is_number(x)
    assert is_array_like(x)
    assert type(plain_number(x)) in (int, float, complex)
    assert typeof(x) == typeof(plain_number(x))
    assert typeof(x).weak_type


@pytest.mark.parametrize("x", [1, 1.0, True, np.float64(1.0), np.int64(1), "1", None, np.ones(1)])
def test_other_values_are_no_such_numbers(x):
    assert not is_number(x)


OPERATIONS = {
    "product": lambda x, two: x * two,
    "product from the left": lambda x, two: two * x,
    "lax": lambda x, two: lax.add(x, two),
    "lax from the left": lambda x, two: lax.sub(two, x),
    "ufunc": lambda x, two: np.multiply(x, two),
    "choice": lambda x, two: lax.select(x > 1.0, x, two),
}


@pytest.mark.parametrize("two", TWO)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_take_them_evaluated_and_traced(name, two):
    operation, x = OPERATIONS[name], np.array([1.0, 3.0], np.float32)
    plain = {Order: 2, Flag: 2, Metres: 2.0, Phase: 2.0 + 0j}[type(two)]
    traced = make_jaxpr(lambda x: operation(x, two))(x)
    expected = make_jaxpr(lambda x: operation(x, plain))(x)
    assert str(traced) == str(expected)
    out, wanted = jaxpr_as_fun(traced)(x)[0], operation(x, plain)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(operation(x, two), wanted)
    assert type(operation(x, two)) is type(wanted)


@pytest.mark.parametrize("two", TWO)
def test_arguments_and_carries_may_be_such_numbers(two):
    assert jaxpr_as_fun(make_jaxpr(lambda a: a * 3)(two))(two)[0] == 6
    assert lax.fori_loop(0, 3, lambda i, c: c * 2, two) == 16
    assert lax.cond(True, lambda: two, lambda: 0 * two) == 2


def test_an_integer_of_such_a_class_has_the_range_of_the_default_integer():
    wide = enum.IntEnum("Wide", {"HIGH": 2**40})
    with config.enable_x64(False), pytest.raises(OverflowError, match=r"1099511627776 .*does not fit int32"):
        lax.add(np.ones(2, np.int32), wide.HIGH)
