"""Lowering of operations on bfloat16 and the floats of 4 and 8 bits, which NumPy lacks, against their evaluation."""

import ml_dtypes
import numpy as np
import pytest

from calque_core import finfo, lax
from calque_core.types.dtypes import SHORT_DTYPES
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan]


def on_bfloat16(fun):
    """Return `fun` applied to bfloat16, taking and giving float32."""

    def applied(*xs):
        return lax.convert_element_type(fun(*[lax.convert_element_type(x, BFLOAT16) for x in xs]), np.float32)

    return applied


ONE_ULP = 2.0**16  # of bfloat16, in ulps of float32


@pytest.mark.parametrize("name", ["neg", "abs", "sign", "sqrt", "exp", "log", "logistic", "sin", "tanh", "floor"])
def test_unary_operations_on_bfloat16_compile_to_what_they_evaluate_to(name, check_compiled):
    x = np.concatenate([np.random.default_rng(0).normal(size=50), SPECIAL]).astype(np.float32)
    check_compiled(on_bfloat16(getattr(lax, name)), [(x,), (x[0],), (x[:0],)], ulps=ONE_ULP)


@pytest.mark.parametrize("name", ["add", "mul", "div", "max", "min", "lt", "eq"])
def test_binary_operations_on_bfloat16_compile_to_what_they_evaluate_to(name, check_compiled):
    x, y = (np.ravel(z).astype(np.float32) for z in np.meshgrid(SPECIAL, SPECIAL))
    check_compiled(on_bfloat16(getattr(lax, name)), [(x, y), (x, y[2]), (x[2], y)])


def test_bfloat16_is_summed_in_single():
    total = jit(on_bfloat16(lax.reduce_sum))(np.ones(4000, np.float32))
    assert float(total) == 4000  # steps of 1 are lost beyond 256 in bfloat16 itself


def test_products_and_orders_of_bfloat16_compile_to_what_they_evaluate_to(check_compiled):
    x = np.array([[1.0, np.inf], [-0.0, 3.0]], np.float32)
    check_compiled(on_bfloat16(lambda x: lax.sort(x, 0)), [(x,)])
    check_compiled(on_bfloat16(lambda x: lax.reduce_max(x, 1)), [(x,)])
    check_compiled(on_bfloat16(lax.dot), [(x, x)], ulps=ONE_ULP)


# Floats of 4 and 8 bits

FLOATS = {name: row for name, row in SHORT_DTYPES.items() if row.kind == "f"}
SHORT = [name for name, row in FLOATS.items() if row.bits >= 8]  # floats of fewer bits have no NaN


def all_at_once(x):
    product = lax.dot_general(x, x, (((1,), (1,)), ((), ())))
    return [lax.reduce_max(x, 1), lax.reduce_min(x, 1), lax.reduce_sum(x, 1), lax.sort(x, 1), lax.exp(x), product]


def check_alike(fun, x):
    with np.errstate(invalid="ignore"):  # ml_dtypes warns of comparisons with NaN
        for got, want in zip(jit(fun)(x), fun(x), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(np.asarray(got).astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("dtype", SHORT)
def test_short_floats_compile_to_what_they_evaluate_to(dtype):
    row = np.array([[0.25, np.nan, 1.5]], getattr(ml_dtypes, dtype))
    check_alike(all_at_once, np.concatenate([row, -row, row[:, ::-1], row[:, [0, 2, 0]]]))
    check_alike(all_at_once, row[:, :0])


@pytest.mark.parametrize("dtype", SHORT)
def test_positions_of_extreme_short_floats_compile_to_what_they_evaluate_to(dtype):
    row = np.array([[0.25, np.nan, 1.5]], getattr(ml_dtypes, dtype))
    rows = np.concatenate([row, -row, row[:, ::-1], row[:, [0, 2, 0]]])
    check_alike(lambda x: [lax.argmax(x, 1), lax.argmin(x, 1)], rows)
    check_alike(lambda x: [lax.argmax(x, 1), lax.argmin(x, 1)], rows[:, ::2])


FUNCTIONS = [
    "abs", "sign", "neg", "sqrt", "rsqrt", "cbrt", "square", "exp", "exp2", "expm1", "log", "log1p", "logistic", "sin",
    "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "floor",
    "ceil", "round", "is_finite",
]  # fmt: skip
ARITHMETIC = ["add", "sub", "mul", "div", "max", "min", "rem", "atan2", "eq", "lt", "ge"]


def every(dtype):
    """Return all finite numbers of a dtype of 4 or 8 bits."""
    numbers = np.arange(1 << finfo(dtype).bits).astype(np.uint8).view(dtype)
    with np.errstate(invalid="ignore"):
        return numbers[np.isfinite(numbers)]


def ulps_apart(got, want):
    """Return the number of steps of the dtype between two arrays, by the order of their numbers."""
    order = np.unique(np.append(every(want.dtype).astype(np.float64), [-np.inf, np.inf]))
    got, want = got.astype(np.float64), want.astype(np.float64)
    is_nan = np.isnan(got) | np.isnan(want)
    apart = np.abs(np.searchsorted(order, np.where(is_nan, 0, got)) - np.searchsorted(order, np.where(is_nan, 0, want)))
    return np.where(is_nan, np.where(np.isnan(got) & np.isnan(want), 0, 1 << 8), apart)


@pytest.mark.parametrize("dtype", [name for name, row in FLOATS.items() if row.bits <= 8])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_every_short_float_are_within_an_ulp_of_evaluation(name, dtype):
    x = every(np.dtype(getattr(ml_dtypes, dtype)))
    function = getattr(lax, name)
    with np.errstate(all="ignore"):
        got, want = np.asarray(jit(function)(x)), np.asarray(function(x))
    assert got.dtype == want.dtype
    if want.dtype == bool:
        np.testing.assert_array_equal(got, want)
    else:
        assert ulps_apart(got, want).max() <= 1


@pytest.mark.parametrize("dtype", [name for name, row in FLOATS.items() if row.bits <= 8])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_of_short_floats_is_that_of_evaluation(name, dtype):
    x, y = (np.random.default_rng(seed).choice(every(np.dtype(getattr(ml_dtypes, dtype))), 300) for seed in (0, 1))
    function = getattr(lax, name)
    with np.errstate(all="ignore"):
        got, want = np.asarray(jit(function)(x, y)), np.asarray(function(x, y))
    assert got.dtype == want.dtype
    if want.dtype == bool:
        np.testing.assert_array_equal(got, want)
    else:
        assert ulps_apart(got, want).max() <= (name == "atan2")
