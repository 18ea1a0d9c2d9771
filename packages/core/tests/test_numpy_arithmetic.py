"""Integer division as NumPy has it: zero divisors and the least integer included, evaluated and staged."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import config, eval_jaxpr, make_jaxpr
from calque_core.arrays import numpy_arithmetic as arithmetic
from calque_core.lax import div, rem

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DIVISIONS = ["floor_divide", "remainder", "fmod", "divmod"]


def edges(dtype):
    """Give small numbers, the extremes of the dtype, and their neighbours."""
    info = np.iinfo(dtype)
    negative = [-1, -2, -3, -7, info.min, info.min + 1] if info.min else []
    return np.array([0, 1, 2, 3, 7, info.max, info.max - 1, *negative], dtype)


def numpys(name, *args):
    with np.errstate(all="ignore"):
        return getattr(np, name)(*args)


def staged(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    with np.errstate(over="ignore"):  # the least integer by -1
        return eval_jaxpr(jaxpr, jaxpr.consts, *args)


def check(got, want):
    for x, y in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_is_numpys_for_every_pair_of_edges(dtype, name):
    x, y = (a.ravel() for a in np.meshgrid(edges(dtype), edges(dtype)))
    fun, want = getattr(arithmetic, name), numpys(name, x, y)
    check(staged(fun, x, y), want)
    with np.errstate(all="ignore"):
        out = fun(x, y)
    check(out if isinstance(out, tuple) else (out,), want)


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("divisor", [0, 3, -1])
def test_integer_division_by_a_known_number_is_numpys(divisor, name):
    x = edges("int32")
    check(staged(lambda x: getattr(arithmetic, name)(x, divisor), x), numpys(name, x, divisor))


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_the_reciprocal_of_integers_is_numpys(dtype):
    x = np.array([False, True]) if dtype == "bool" else edges(dtype)
    check(staged(arithmetic.reciprocal, x), numpys("reciprocal", x))
    with np.errstate(all="ignore"):
        check([arithmetic.reciprocal(x)], numpys("reciprocal", x))


@pytest.mark.parametrize("name", DIVISIONS)
def test_bools_are_divided_as_int8(name):
    x, y = np.array([False, True, True]), np.array([False, False, True])
    check(staged(getattr(arithmetic, name), x, y), numpys(name, x, y))


@pytest.mark.parametrize("name", DIVISIONS)
def test_an_eager_zero_divisor_warns_as_numpy_does(name):
    zeros = np.zeros(2, np.int32)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in"):
        getattr(arithmetic, name)(zeros, zeros)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        getattr(arithmetic, name)(zeros, zeros)


def test_an_eager_reciprocal_of_zero_warns_as_numpy_does():
    zero = np.zeros(1, np.int64)
    with pytest.warns(RuntimeWarning, match="encountered in reciprocal") as numpys_own:
        np.reciprocal(zero)
    with pytest.warns(RuntimeWarning, match="encountered in reciprocal") as ours:
        arithmetic.reciprocal(zero)
    assert [str(w.message) for w in ours] == [str(w.message) for w in numpys_own]


@pytest.mark.parametrize("name", DIVISIONS)
def test_eager_division_of_wide_integers_is_narrow_with_x64_off(name):
    with config.enable_x64(False):
        out = getattr(arithmetic, name)(np.array([7, -7]), np.array([2, 2]))
    assert {x.dtype for x in (out if isinstance(out, tuple) else (out,))} == {np.dtype("int32")}


def test_a_known_divisor_costs_no_comparison_with_zero():
    jaxpr = make_jaxpr(lambda x: arithmetic.remainder(x, 3))(np.ones(2, np.uint8))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["rem"]


@pytest.mark.parametrize("fun", [div, rem])
def test_truncating_division_by_an_integer_zero_is_an_error_in_evaluation(fun):
    with pytest.raises(ZeroDivisionError, match="an integer divisor is zero"):
        fun(np.array([1, 2]), np.array([1, 0]))


@pytest.mark.parametrize(("dtype", "exponent"), [("uint8", 300), ("int8", 128)])
def test_an_exponent_of_pythons_must_fit_integers_as_any_operand_must(dtype, exponent):
    x = np.ones(2, dtype)
    make_jaxpr(lambda x: x ** (exponent // 3))(x)
    with pytest.raises(OverflowError, match=rf"the Python integer {exponent} does not fit {dtype}"):
        make_jaxpr(lambda x: x**exponent)(x)
