"""`config.numpy_dtype_promotion` and `config.numpy_rank_promotion`."""

import operator
import warnings

import numpy as np
import pytest

from calque_core import ShapeError, config, lax, make_jaxpr, result_type

SINGLE, DOUBLE, INTEGER = np.ones(3, np.float32), np.ones(3), np.ones(3, np.int32)
STRICT = (
    r"{} of {} and {} at test_promotion_settings\.py:\d+ \(.*\): the dtypes differ, and numpy_dtype_promotion is "
    r"'strict'\. Convert the operands to one dtype: x\.astype\(dtype\)\."
)
RANKS = (
    r"add of {} and {} at test_promotion_settings\.py:\d+ \(.*\): the operands have different numbers of axes, and "
    r"numpy_rank_promotion is '{}'\. Give them one number of axes: x\.reshape\(shape\), or x\[None\]\."
)


@pytest.fixture
def strict():
    with config.numpy_dtype_promotion("strict"):
        yield


def strictly(name, x="float32[3]", y="float64[3]"):
    return pytest.raises(TypeError, match=STRICT.format(name, *(t.replace("[", r"\[") for t in (x, y))))


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "max", "pow", "eq", "lt", "rem"])
def test_functions_of_lax_refuse_different_dtypes(name):
    with strictly(name):
        getattr(lax, name)(SINGLE, DOUBLE)


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize(
    ("function", "name"),
    [
        (operator.add, "add"),
        (operator.truediv, "div"),
        (operator.floordiv, "floor_divide"),
        (operator.pow, "power"),
        (operator.lt, "lt"),
        (np.add, "add"),
        (np.hypot, "hypot"),
        (np.float_power, "float_power"),
        (np.matmul, "matmul"),
    ],
)
def test_operators_and_functions_of_numpy_refuse_different_dtypes_of_traced_arrays(function, name):
    with pytest.raises(TypeError, match="the dtypes differ, and numpy_dtype_promotion is 'strict'") as caught:
        make_jaxpr(function)(SINGLE, DOUBLE)
    assert name in str(caught.value)


@pytest.mark.usefixtures("strict")
def test_integers_and_floats_are_different_too():
    with strictly("add", "int32[3]", "float64[]"):
        lax.add(INTEGER, np.float64(1.0))


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("x", [SINGLE, INTEGER, DOUBLE])
def test_python_scalars_take_the_dtype_beside_them(x):
    assert lax.add(x, 1).dtype == x.dtype
    assert make_jaxpr(lambda x, y: 2 * x + y)(x, 1).out_avals[0].dtype == x.dtype
    assert lax.add(SINGLE, 1.5).dtype == np.float32
    assert lax.add(1, 1.5) == 2.5


@pytest.mark.usefixtures("strict")
def test_result_type_and_conversions_are_not_promotion():
    assert result_type(np.float32, np.float64) == np.float64
    assert lax.add(lax.convert_element_type(SINGLE, np.float64), DOUBLE).dtype == np.float64


def test_different_dtypes_are_promoted_again_after_the_block():
    fun = lambda x, y: x + y
    expected = str(make_jaxpr(fun)(SINGLE, DOUBLE))
    with config.numpy_dtype_promotion("strict"), strictly("add"):
        make_jaxpr(fun)(SINGLE, DOUBLE)
    assert str(make_jaxpr(fun)(SINGLE, DOUBLE)) == expected


@pytest.mark.parametrize("other", [np.ones(2), np.ones((1, 3, 2))])
def test_operands_of_different_ranks_are_refused(other):
    x, types = np.ones((3, 2)), ("float64\\[3,2\\]", str(list(other.shape)).replace(" ", ""))
    match = RANKS.format(types[0], "float64" + types[1].replace("[", r"\[").replace("]", r"\]"), "raise")
    with config.numpy_rank_promotion("raise"):
        with pytest.raises(ShapeError, match=match):
            lax.add(x, other)
        with pytest.raises(ShapeError, match=match):
            make_jaxpr(lambda x, y: x + y)(x, other)
        with pytest.raises(ShapeError, match=match):
            make_jaxpr(np.add)(x, other)


def test_a_warning_leaves_the_result():
    x, y = np.ones((3, 2)), np.ones(2)
    match = RANKS.format(r"float64\[3,2\]", r"float64\[2\]", "warn")
    with config.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match=match):
        out = lax.add(x, y)
    np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize("setting", ["warn", "raise"])
def test_scalars_and_equal_ranks_are_broadcast(setting):
    with config.numpy_rank_promotion(setting), warnings.catch_warnings(action="error"):
        assert lax.add(np.ones((3, 1)), np.ones((1, 2))).shape == (3, 2)
        assert lax.add(np.ones((3, 1)), np.float64(1.0)).shape == (3, 1)
        assert lax.add(np.ones((3, 1)), 1).shape == (3, 1)


def test_words_that_are_no_settings_are_refused():
    with pytest.raises(ValueError, match=r"was set to True\. Use 'standard', 'by_kind' or 'strict'\."):
        config.numpy_dtype_promotion(True)
    with pytest.raises(ValueError, match=r"numpy_rank_promotion was set to 'no'\. Use 'allow', 'warn' or 'raise'\."):
        config.numpy_rank_promotion("no")
