"""Elements chosen by conditions, and comparisons of wholes, are NumPy's."""

import enum

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, config, eval_jaxpr, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

SPECIAL = np.array([0.0, -0.0, 1.5, np.nan, np.inf, -np.inf, 1e308, -2.0])
CHOSEN = {
    "where": lambda m, x: m.where(x > 0, x, -x),
    "where with scalars": lambda m, x: m.where(x != x, 0, x),
    "where of numbers": lambda m, x: m.where(x, x, 2),
    "where of scalars alone": lambda m, x: m.where(x > 0, 1, 2.5),
    "where that broadcasts": lambda m, x: m.where(x[:, None] > 0, x, 1),
    "where by a static condition": lambda m, x: m.where(True, x, 1),
    "select": lambda m, x: m.select([x > 1, x > 0], [x, x * 2]),
    "select with a default": lambda m, x: m.select([x > 1], [1.5], default=-1),
    "nan_to_num": lambda m, x: m.nan_to_num(x),
    "nan_to_num with numbers": lambda m, x: m.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3),
    "isclose": lambda m, x: m.isclose(x, x + 1e-9),
    "isclose of NaN": lambda m, x: m.isclose(x, x, equal_nan=True),
    "isclose within": lambda m, x: m.isclose(x, 1, rtol=0.5, atol=0.1),
    "allclose": lambda m, x: m.allclose(x, x),
    "allclose of NaN": lambda m, x: m.allclose(x, x, equal_nan=True),
    "array_equal": lambda m, x: m.array_equal(x, x),
    "array_equal of NaN": lambda m, x: m.array_equal(x, x, equal_nan=True),
    "clip": lambda m, x: m.clip(x, -1, 1),
}


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", CHOSEN)
def test_the_chosen_elements_are_numpys(name, dtype, agree):
    x = np.array([-2, 0, 1, 3], dtype) if np.dtype(dtype).kind == "i" else SPECIAL[:6].astype(dtype)
    agree(CHOSEN[name], x)


def test_the_extremes_are_numpys(agree):
    agree(lambda m, x: [m.nan_to_num(x), m.isclose(x / 4, -x / 4)], SPECIAL)


@pytest.mark.parametrize(
    "name", ["where of numbers", "nan_to_num", "nan_to_num with numbers", "isclose", "array_equal of NaN"]
)
def test_the_chosen_complex_numbers_are_numpys(name, agree):
    z = np.empty((len(SPECIAL), len(SPECIAL)), complex)
    z.real, z.imag = np.meshgrid(SPECIAL, SPECIAL)
    with np.errstate(invalid="ignore"):
        agree(CHOSEN[name], z)


def test_arrays_of_different_shapes_are_not_equal():
    assert not cnp.array_equal(np.ones(2), np.ones(3))
    assert eval_jaxpr(make_jaxpr(lambda x: np.array_equal(x, x[:1]))(np.ones(2)), (), np.ones(2)) == [np.False_]


def test_where_of_python_scalars_has_the_default_dtype():
    with config.default_dtype_bits(32):
        assert cnp.where(np.array([True]), 1.0, 2.0).dtype == np.float32
    assert cnp.where(np.array([True]), 1.0, 2.0).dtype == np.float64
    assert cnp.where(np.array([True]), np.float32(1), 2.0).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: np.where(x > 0), TypeError, "where of bool[3] at test_masks.py:"),
        (
            lambda x: np.where(x > 0, x),
            TypeError,
            "got one alternative. Give both alternatives, where(condition, x, y), or",
        ),
        (lambda x: cnp.where(x > 0, None, x), TypeError, "where at test_masks.py:"),
        (lambda x: cnp.where(x > 0, x, x, size=2), ValueError, "Remove size and fill_value"),
        (lambda x: np.where(x > 0, x, np.ones(2)), ShapeError, "the shapes do not broadcast"),
        (lambda x: cnp.select([x > 0], [x, x]), ValueError, "1 conditions and 2 choices. Give one choice for each."),
        (lambda x: cnp.select([], []), ValueError, "0 conditions and 0 choices"),
        (lambda x: cnp.select([x], [x]), TypeError, "select"),
    ],
)
def test_a_choice_that_does_not_fit_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones(3))
    assert words in str(caught.value)


def test_nan_to_num_knows_the_limits_of_dtypes_that_numpy_does_not_have():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 is defined by ml_dtypes, which comes with jaxlib")
    x = np.array([np.nan, np.inf, -np.inf, 1.5], ml_dtypes.bfloat16)
    out = cnp.nan_to_num(x)
    assert out.dtype == x.dtype
    assert out.tolist() == [0.0, 3.3895313892515355e38, -3.3895313892515355e38, 1.5]
    assert cnp.nan_to_num(np.array([np.nan, 448.0], ml_dtypes.float8_e4m3fn)).tolist() == [0.0, 448.0]


def test_bfloat16_beside_small_integers_stays_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 is defined by ml_dtypes, which comes with jaxlib")
    out = cnp.hypot(np.array([3], np.uint8), np.array([4], ml_dtypes.bfloat16))
    assert (out.dtype, out.tolist()) == (np.dtype(ml_dtypes.bfloat16), [5.0])


def test_conditions_and_choices_may_be_arrays(agree):
    x = np.arange(6.0).reshape(2, 3)
    agree(lambda m, x: m.select(x > 1, x, -1.0), x)


def test_the_tolerance_of_complex_numbers_may_be_complex():
    x = np.array([1.0, 2.0])
    jaxpr = make_jaxpr(lambda x: cnp.isclose(x, x + 0.5, 0.0, 0.5 + 1j))(x)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, [], x)[0], np.isclose(x, x + 0.5, 0.0, 0.5 + 1j))


def test_where_of_a_condition_alone_is_nonzero():
    c = np.array([[0, 1, 1], [1, 0, 0]])
    for f in (cnp.where, lambda c: cnp.where(c, None, None)):
        np.testing.assert_array_equal(f(c), np.nonzero(c))
    for f in (
        lambda c: cnp.where(c, size=5, fill_value=-1),
        lambda c: cnp.where(c, None, None, size=5, fill_value=(-1, -1)),
    ):
        jaxpr = make_jaxpr(f)(c)
        for got in (f(c), eval_jaxpr(jaxpr, jaxpr.consts, c)):
            np.testing.assert_array_equal(got, [[0, 0, 1, -1, -1], [1, 2, 0, -1, -1]])
    make_jaxpr(lambda x: [x, *cnp.where(c)])(1.0)  # a known condition needs no size


def test_a_member_of_an_enumeration_is_a_number():
    second, x = enum.IntEnum("Order", ["FIRST", "SECOND"]).SECOND, np.array([1.0, 3.0])
    choose = lambda x: cnp.where(x > 1.0, x, second)
    np.testing.assert_array_equal(choose(x), [2.0, 3.0])
    np.testing.assert_array_equal(eval_jaxpr(make_jaxpr(choose)(x), (), x)[0], [2.0, 3.0])
    np.testing.assert_array_equal(cnp.stack([x[0], second]), [1.0, 2.0])
