"""Values of the elementwise operations, against the functions of `math` and `cmath` taken element by element."""

from __future__ import annotations

import cmath
import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from calque_core import lax
from calque_core.errors import TracerIntegerConversionError
from calque_core.staging.make_jaxpr import make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

REFERENCE = {
    "neg": lambda x: -x,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "atan": math.atan,
    "asinh": math.asinh,
    "exp2": math.exp2,
    "cbrt": math.cbrt,
    "exp": math.exp,
    "expm1": math.expm1,
    "logistic": lambda x: 1 / (1 + math.exp(-x)),
    "tanh_slope": lambda x: 1 / math.cosh(x) ** 2,
    "logistic_slope": lambda x: 1 / (2 * math.cosh(x / 2)) ** 2,
    "abs": math.fabs,
    "square": lambda x: x * x,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "floor": math.floor,
    "ceil": math.ceil,
    "is_finite": math.isfinite,
}
POSITIVE_REFERENCE = {
    "log": math.log,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
}
COMPLEX_REFERENCE = {
    "sin": cmath.sin,
    "cos": cmath.cos,
    "tan": cmath.tan,
    "tanh": cmath.tanh,
    "sinh": cmath.sinh,
    "cosh": cmath.cosh,
    "asin": cmath.asin,
    "acos": cmath.acos,
    "atan": cmath.atan,
    "asinh": cmath.asinh,
    "acosh": cmath.acosh,
    "atanh": cmath.atanh,
    "exp2": lambda z: 2**z,
    "exp": cmath.exp,
    "expm1": lambda z: cmath.exp(z) - 1,
    "log": cmath.log,
    "log1p": lambda z: cmath.log(1 + z),
    "sqrt": cmath.sqrt,
    "rsqrt": lambda z: 1 / cmath.sqrt(z),
    "logistic": lambda z: 1 / (1 + cmath.exp(-z)),
    "abs": abs,
    "sign": lambda z: z / abs(z),
    "neg": lambda z: -z,
    "square": lambda z: z * z,
}
UNIT_REFERENCE = {"asin": math.asin, "acos": math.acos, "atanh": math.atanh}
DOMAINS = {
    **dict.fromkeys(POSITIVE_REFERENCE, (1e-9, 99)),
    **dict.fromkeys(UNIT_REFERENCE, (-0.9, 0.9)),
    "acosh": (1, 99),
}
POINTS = [-20.0, -2.5, -1.0, -0.5, -1e-3, 0.0, 1e-3, 0.25, 1.0, 1.5, 3.0, 20.0]
COMPLEX_POINTS = [1 + 1j, -0.5 + 2j, 0.25 - 0.75j, -1.5 - 0.125j, 3 + 0j]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", [*REFERENCE, *POSITIVE_REFERENCE, *UNIT_REFERENCE, "acosh"])
def test_real_values(name, dtype):
    low, high = DOMAINS.get(name, (-99, 99))
    points = np.array([x for x in POINTS if low <= x <= high], dtype)
    if dtype == "float16":
        points = points[np.abs(points) < 10]  # exp(20) is out of its range
    reference = {**REFERENCE, **POSITIVE_REFERENCE, **UNIT_REFERENCE, "acosh": math.acosh}[name]
    expected = [reference(float(x)) for x in points]
    info = np.finfo(dtype)
    tolerance = {"rtol": 4 * info.eps, "atol": info.smallest_subnormal}
    np.testing.assert_allclose(getattr(lax, name)(points).astype(float), expected, **tolerance)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX_REFERENCE)
def test_complex_values(name, dtype):
    points = np.array(COMPLEX_POINTS, dtype)
    expected = [COMPLEX_REFERENCE[name](complex(z)) for z in points]
    np.testing.assert_allclose(getattr(lax, name)(points), expected, rtol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    "name", ["logistic", "rsqrt", "log1p", "expm1", "tanh", "erf_inv", "round", "sign", "is_finite"]
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ordinary_operands_raise_no_warning(name, dtype):
    largest = float(np.finfo(dtype).max)
    points = {
        "erf_inv": [-1, -0.99, 0, 0.5, 1],
        "rsqrt": [0.5, largest, np.inf],
        "log1p": [-0.5, largest, np.inf],
        "expm1": [-largest, 0, 1, -np.inf],
    }.get(name, [-largest, -100, 0, 100, largest, np.inf, -np.inf, np.nan])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(lax, name)(np.array(points, dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_logistic_saturates_at_zero_and_one(dtype):
    np.testing.assert_array_equal(lax.logistic(np.array([-np.inf, np.inf, 1e4], dtype)), [0, 1, 1])
    assert lax.logistic(np.float64(-700.0)) == pytest.approx(math.exp(-700), rel=1e-15)


# Computed with 30 digits by an independent arbitrary-precision library.
ERF_INV = {
    1e-300: 8.86226925452758036e-301,
    1e-10: 8.86226925452758046e-11,
    0.1: 0.088855990494257692,
    0.5: 0.476936276204469873,
    0.84999: 1.0178774891443061,
    0.850001: 1.01790496247064548,
    -0.99: -1.82138636771844946,
    0.999999: 3.45891073727549878,
    1 - 2.0**-53: 5.86358474875516793,
}


@pytest.mark.parametrize("x", ERF_INV)
def test_erf_inv_is_accurate_to_a_few_units_in_the_last_place(x):
    assert lax.erf_inv(x) == pytest.approx(ERF_INV[x], rel=1e-15, abs=0)


def test_erf_inv_is_the_inverse_of_erf_everywhere_and_odd():
    x = np.concatenate([np.linspace(-0.999, 0.999, 999), 1 - np.logspace(-12, -3, 50)])
    y = lax.erf_inv(x)
    np.testing.assert_allclose([math.erf(v) for v in y], x, rtol=1e-15, atol=1e-16)
    np.testing.assert_array_equal(lax.erf_inv(-x), -y)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_erf_inv_at_and_beyond_its_poles(dtype):
    out = lax.erf_inv(np.array([1, -1, 1.5, -2, np.nan, 0], dtype))
    np.testing.assert_array_equal(out, np.array([np.inf, -np.inf, np.nan, np.nan, np.nan, 0], dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_atan2_is_the_angle_in_every_quadrant_and_on_every_axis(dtype):
    points = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf]
    x, y = (np.array(side, dtype) for side in zip(*itertools.product(points, points)))
    expected = [math.atan2(a, b) for a, b in zip(x.tolist(), y.tolist())]
    np.testing.assert_allclose(lax.atan2(x, y).astype(float), expected, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(lax.atan2(x, y)), np.signbit(expected))


@pytest.mark.parametrize(("name", "outside"), [("asin", 1.5), ("acos", -1.5), ("acosh", 0.5), ("atanh", 2.0)])
def test_inverses_are_nan_outside_their_domain(name, outside):
    with np.errstate(invalid="ignore"):
        assert np.isnan(getattr(lax, name)(outside))


def reference_round(x: float) -> float:
    return math.copysign(math.floor(Fraction(abs(x)) + Fraction(1, 2)), x)


def test_round_sends_halves_away_from_zero_unless_told_otherwise():
    x = np.array([-2.5, -1.5, -0.5, -0.3, 0.49999999999999994, 0.5, 1.5, 2.5, 2.6])
    np.testing.assert_array_equal(lax.round(x), [reference_round(v) for v in x])
    np.testing.assert_array_equal(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), [round(v) for v in x])


def test_round_keeps_infinities_and_nan():
    np.testing.assert_array_equal(lax.round(np.array([np.inf, -np.inf, np.nan])), [np.inf, -np.inf, np.nan])


def test_round_refuses_an_unknown_method():
    with pytest.raises(ValueError, match="7 is not a valid RoundingMethod"):
        lax.round(1.0, 7)


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "abs"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint64"])
def test_unsigned_integers_and_bools_are_left_alone_without_an_equation(name, dtype):
    x = np.array([0, 1], dtype)
    out = getattr(lax, name)(x)
    np.testing.assert_array_equal(out, x)
    assert out.dtype == dtype
    assert not make_jaxpr(getattr(lax, name))(x).eqns


def test_sign_of_unsigned_integers_is_zero_or_one():
    np.testing.assert_array_equal(lax.sign(np.array([0, 1, 200], np.uint8)), [0, 1, 1])


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def truncated(x: int, y: int) -> int:
    return int(math.copysign(1, x) * math.copysign(1, y)) * (abs(x) // abs(y))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_truncates_and_the_remainder_has_the_sign_of_the_dividend(dtype):
    values = [0, 1, 2, 3, 7, 100, np.iinfo(dtype).max] + ([-1, -2, -7, -100] if dtype[0] == "i" else [])
    for x, y in itertools.product(values, values):
        if y != 0:
            quotient, remainder = (f(np.array(x, dtype), np.array(y, dtype)) for f in (lax.div, lax.rem))
            assert (quotient, remainder) == (truncated(int(x), int(y)), x - y * truncated(int(x), int(y)))
            assert quotient.dtype == remainder.dtype == dtype


@pytest.mark.parametrize("name", ["div", "rem"])
@pytest.mark.parametrize("divisor", [0, np.int8(0), np.array([1, 0])])
def test_a_zero_integer_divisor_is_an_error_that_names_the_operation_and_the_line(name, divisor):
    with pytest.raises(
        ZeroDivisionError, match=rf"{name} at test_ops_elementwise\.py:\d+ .*integer divisor is zero\. Replace"
    ):
        getattr(lax, name)(np.array([5, 6]), divisor)


def test_a_zero_integer_divisor_is_ignored_where_numpy_is_told_to():
    with np.errstate(divide="ignore"):
        assert lax.div(np.array([7, 7]), np.array([2, 0]))[0] == 3
        assert lax.rem(np.array([7, 7]), np.array([4, 0]))[0] == 3


def test_division_of_empty_integer_arrays_is_no_error():
    assert lax.div(np.zeros(0, int), np.zeros(0, int)).shape == (0,)


@pytest.mark.parametrize(
    ("x", "y", "expected"), [(7.5, 2.0, 1.5), (-7.5, 2.0, -1.5), (7.5, -2.0, 1.5), (1.0, np.inf, 1.0)]
)
def test_the_remainder_of_floats_has_the_sign_of_the_dividend(x, y, expected):
    assert lax.rem(x, y) == expected


@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_wins_in_max_and_min_from_either_side(name):
    assert np.isnan(getattr(lax, name)(np.nan, 1.0))
    assert np.isnan(getattr(lax, name)(1.0, np.nan))


def test_bools_add_by_or_and_multiply_by_and():
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    np.testing.assert_array_equal(lax.add(x, y), x | y)
    np.testing.assert_array_equal(lax.mul(x, y), x & y)


@pytest.mark.parametrize("y", range(-7, 14))
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_integer_pow_is_repeated_multiplication(y, dtype):
    x = np.array([0.75, -1.25, 2.0, 1.0], dtype)
    expected = np.array([complex(v) ** y if dtype[0] == "c" else float(v) ** y for v in x])
    np.testing.assert_allclose(lax.integer_pow(x, y), expected, rtol=abs(y) * np.finfo(dtype).eps)


@pytest.mark.parametrize("y", [0, 1, 2, 3, 7, 8])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_pow_of_integers_wraps_around(y, dtype):
    x = np.array([0, 1, 2, 3, 11], dtype)
    expected = [(int(v) ** y) % 2 ** (8 * x.itemsize) for v in x]
    np.testing.assert_array_equal(lax.integer_pow(x, y), np.array(expected, np.uint64).astype(dtype))


@pytest.mark.parametrize("of", [np.float64, lambda x: np.full(3, [x, 2.0, -0.5])], ids=["scalar", "array"])
@pytest.mark.parametrize(("x", "y"), [(1e155, -2), (-1e103, -3), (1e77, -4), (1e13, -24)])
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_negative_integer_power_is_subnormal_where_the_positive_one_overflows(x, y, of):
    np.testing.assert_allclose(lax.integer_pow(of(x), y), np.power(of(x), float(y)), rtol=1e-13, atol=1e-322)
    np.testing.assert_allclose(lax.integer_pow(x, y), x**y, rtol=1e-13, atol=1e-322)


def test_integer_pow_never_returns_the_operand_itself():
    x = np.ones(3)
    assert lax.integer_pow(x, 1) is not x


@pytest.mark.parametrize("of", [lambda f, x: f(x), lambda f, x: make_jaxpr(f)(x)], ids=["evaluated", "staged"])
def test_integer_pow_refuses_integers_to_a_negative_power(of):
    with pytest.raises(TypeError, match=r"integers cannot be raised to the negative power -2\. Convert them to floats"):
        of(lambda x: lax.integer_pow(x, -2), np.array([1, 2]))


def test_integer_pow_refuses_a_float_exponent_and_a_traced_one():
    with pytest.raises(TypeError, match=r"integer_pow at .*: the exponent is 2\.0\. Give an integer\."):
        lax.integer_pow(3.0, 2.0)
    with pytest.raises(TracerIntegerConversionError):
        make_jaxpr(lambda y: lax.integer_pow(3.0, y))(2)


@pytest.mark.parametrize(
    ("x", "y"), [(2.0, 0.5), (0.5, -3.0), (0.0, 0.0), (np.nan, 0.0), (1.0, np.nan), (4, 2), (2, 0.5)]
)
def test_pow_is_that_of_floats(x, y):
    assert lax.pow(x, y) == math.pow(x, y)


@pytest.mark.parametrize("name", ["rem", "lt", "le", "gt", "ge"])
def test_complex_numbers_have_no_order_and_the_message_says_so(name):
    with pytest.raises(
        TypeError, match=rf"{name} of complex128\[2\] at test_ops_.*: not defined for complex128\. Convert the operand"
    ):
        getattr(lax, name)(np.ones(2, complex), np.ones(2, complex))


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "is_finite", "erf_inv"])
def test_functions_of_real_numbers_refuse_complex_ones(name):
    with pytest.raises(TypeError, match=rf"{name} of complex128\[2\] at test_ops_.*: not defined for complex128\."):
        getattr(lax, name)(np.ones(2, complex))


@pytest.mark.parametrize("of", [lambda f: f(True), lambda f: make_jaxpr(f)(True)], ids=["evaluated", "staged"])
@pytest.mark.parametrize("function", [lax.square, lax.sign, lax.neg, lambda x: lax.integer_pow(x, 2)])
def test_functions_of_numbers_refuse_bools(function, of):
    with pytest.raises(TypeError):
        of(function)


def test_a_python_integer_that_does_not_fit_the_dtype_is_refused():
    with pytest.raises(OverflowError, match=r"the Python integer 300 does not fit int8"):
        lax.add(np.int8(1), 300)


@pytest.mark.parametrize(("dtype", "expected"), [
    ("bool", "float16"), ("int8", "float16"), ("uint16", "float32"), ("int32", "float64"), ("uint64", "float64"),
])  # fmt: skip
def test_float_functions_of_integers_have_the_float_dtype_of_numpy(dtype, expected):
    x = np.array([0, 1], dtype)
    for name in ("sin", "exp", "sqrt", "logistic"):
        assert getattr(lax, name)(x).dtype == expected
    assert np.sin(x).dtype == expected


def test_reduce_precision_rounds_halves_to_even_overflows_and_flushes():
    x = np.array([1.125, 1.375, 240.0, 248.0, -1e9, 2.0**-6, 2.0**-7, -0.0, np.nan, -np.inf])
    got = lax.reduce_precision(x, exponent_bits=4, mantissa_bits=2)
    np.testing.assert_array_equal(got, [1.0, 1.5, np.inf, np.inf, -np.inf, 2.0**-6, 0.0, -0.0, np.nan, -np.inf])
    assert np.signbit(got[7])


def test_reduce_precision_to_half_is_the_conversion_to_half_without_subnormal_numbers():
    x = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    np.testing.assert_array_equal(lax.reduce_precision(x, 5, 10), x.astype(np.float16).astype(np.float32))


def test_reduce_precision_refuses_negative_numbers_of_bits():
    with pytest.raises(ValueError, match=r"reduce_precision of float64\[\].* to 0 exponent bits and 3 mantissa bits"):
        lax.reduce_precision(1.0, 0, 3)
    with pytest.raises(TypeError, match="not defined for int64"):
        lax.reduce_precision(np.arange(2), 5, 3)
