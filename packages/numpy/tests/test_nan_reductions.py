"""Reductions that skip NaN are NumPy's, also where all elements are NaN or infinite."""

import warnings

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core.config import disable_jit

nan, inf = np.nan, np.inf
FLOATS = np.array([[1.5, nan, -2.0, 0.0], [nan, nan, nan, nan], [inf, nan, 3.0, -inf], [-inf, nan, -inf, nan]])
REDUCTIONS = {
    "nansum": lambda m, x: [m.nansum(x, 1), m.nansum(x[0]), m.nansum(x, 0, keepdims=True)],
    "nanprod": lambda m, x: [m.nanprod(x[:1], 1), m.nanprod(x[:2], 0), m.nanprod(x[:2])],
    "nanmean": lambda m, x: [m.nanmean(x[:3], 1), m.nanmean(x[:1]), m.nanmean(x[:2], 1, keepdims=True)],
    "nancumsum": lambda m, x: [m.nancumsum(x[:2], 1), m.nancumsum(x[:2])],
    "nancumprod": lambda m, x: [m.nancumprod(x[:2], 1), m.nancumprod(x[:2])],
    "nanvar": lambda m, x: [m.nanvar(x[:2], 1), m.nanvar(x[:2]), m.nanvar(x[:2], 1, ddof=2, keepdims=True)],
    "nanstd": lambda m, x: [m.nanstd(x[:2], 1), m.nanstd(x[:2], 1, ddof=1)],
    "nanvar with a correction": lambda m, x: m.nanvar(x[:2], 1, correction=1),
    "nanmax": lambda m, x: [m.nanmax(x, 1), m.nanmax(x), m.nanmax(x, 0, keepdims=True), m.nanmax(x, 1, initial=1)],
    "nanmin": lambda m, x: [m.nanmin(x, 1), m.nanmin(x), m.nanmin(x, 0, keepdims=True), m.nanmin(x, 1, initial=5)],
    "nanargmax": lambda m, x: [m.nanargmax(x[[0, 2, 3]], 1), m.nanargmax(x), m.nanargmax(x[3:], 1, keepdims=True)],
    "nanargmin": lambda m, x: [m.nanargmin(x[[0, 2, 3]], 1), m.nanargmin(x), m.nanargmin(x[:1], 1, keepdims=True)],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
def test_the_variance_of_infinite_elements_is_nan(name, agree):
    agree(lambda m, x: getattr(m, name)(x, 1), np.array([[1.0, inf, nan], [-inf, 2.0, inf], [1.0, 2.0, nan]]))
    agree(lambda m, x: getattr(m, name)(x), np.array([1.0 + 1.0j, inf, nan]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_skip_nan_as_numpys(name, dtype, agree):
    agree(REDUCTIONS[name], FLOATS.astype(dtype), ulps=8)


MASK = np.array([[True, True, False, True], [True] * 4, [False, True, True, False], [False] * 4])
MASKED = {
    "nanmean": lambda m, x: [m.nanmean(x, 1, where=MASK), m.nanmean(x, where=MASK[0]), m.nanmean(x, where=x > 0)],
    "nanvar": lambda m, x: [m.nanvar(x, 1, where=MASK), m.nanvar(x[:1], where=x[:1] > -1, ddof=1)],
    "nanstd": lambda m, x: [m.nanstd(x, 1, where=MASK), m.nanstd(x, 1, where=MASK, keepdims=True)],
    "a known mean": lambda m, x: [
        m.nanvar(x[:1], 1, mean=m.nanmean(x[:1], 1, keepdims=True)),
        m.nanstd(x, 1, mean=m.ones((4, 1), x.dtype), where=MASK),
    ],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", MASKED)
def test_reductions_of_chosen_elements_and_with_a_known_mean_are_numpys(name, dtype, agree):
    x = FLOATS if np.dtype(dtype).kind in "fc" else np.arange(16).reshape(4, 4)
    agree(MASKED[name], x.astype(dtype), ulps=8)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
def test_a_variance_of_real_numbers_has_the_dtype_that_is_asked_for(name, agree):
    agree(lambda m, x: getattr(m, name)(x, 1, "complex64"), FLOATS[:1].astype("float32"))
    agree(lambda m, x: getattr(m, name)(x, dtype="complex128", ddof=1), FLOATS[:1])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name not in ("nanvar", "nanstd")])
def test_reductions_of_integers_are_numpys(name, dtype, agree, numbers):
    x = numbers((4, 4), dtype)
    agree(REDUCTIONS[name], x % 3, ulps=8)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nancumsum", "nanvar"])
def test_reductions_of_complex_numbers_are_numpys(name, agree):
    agree(REDUCTIONS[name], FLOATS + 1j * np.nan_to_num(FLOATS, posinf=2, neginf=-2), ulps=16)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
def test_extremes_of_complex_numbers_are_numpys(name, agree):
    x = np.array([[1 + 2j, 1 + 3j, complex(nan, 5), 1 - 3j], [complex(-inf, -5), nan, 2, 2 - 1j], [nan] * 4])
    agree(lambda m, x: [REDUCTIONS[name](m, x[:2]), m.isnan(getattr(m, name)(x, 1))], x)
    position = name.replace("nan", "nanarg")
    agree(lambda m, x: [getattr(m, position)(x[:2], 1), getattr(m, position)(x)], x)


def test_the_position_of_an_infinite_complex_number_is_not_that_of_nan():  # NumPy's is: it replaces NaN by -inf + 0j
    with disable_jit():
        assert cnp.nanargmax(np.array([nan, complex(-inf, -5), nan])) == 1
        assert cnp.nanargmin(np.array([nan, complex(inf, 5), nan])) == 1


def test_positions_where_all_are_nan_are_zero_and_no_error():
    with disable_jit(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cnp.nanargmax(np.array([nan, nan])) == 0
        assert np.isnan(cnp.nanmax(np.array([nan, nan])))


def test_two_names_of_the_divisor_are_refused():
    with (
        disable_jit(),
        pytest.raises(ValueError, match=r"nanvar.*ddof and correction are two names of one number. Give one"),
    ):
        cnp.nanvar(np.ones(3), ddof=1, correction=1)
