"""Signs, fractions, exponents, divisors and functions of analysis are NumPy's, at special values too."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import make_jaxpr
from calque_core.config import disable_jit

SPECIAL = [0.0, -0.0, 1.5, -2.25, 1e-3, np.inf, -np.inf, np.nan, -np.nan, 1e4]
TINY = [5e-324, -3e-310, 2.2250738585072014e-308, 1e-300]
FLOATS = {
    "signbit": lambda m, x: m.signbit(x),
    "copysign": lambda m, x: m.copysign(x, x[::-1]),
    "copysign of scalars": lambda m, x: m.copysign(x, -1),
    "isneginf": lambda m, x: m.isneginf(x),
    "isposinf": lambda m, x: m.isposinf(x),
    "modf": lambda m, x: m.modf(x),
    "frexp": lambda m, x: m.frexp(x),
    "ldexp": lambda m, x: m.ldexp(x, 3),
    "spacing": lambda m, x: m.spacing(x),
    "logaddexp2": lambda m, x: m.logaddexp2(x, x[::-1]),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", FLOATS)
def test_values_are_numpys_at_special_floats(name, dtype, agree):
    agree(FLOATS[name], np.array(SPECIAL, dtype), ulps=4)


@pytest.mark.parametrize("name", ["signbit", "copysign", "frexp", "modf", "spacing"])
def test_values_are_numpys_at_subnormal_floats(name, agree):
    agree(FLOATS[name], np.array(TINY))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64"])
def test_integers_are_computed_as_numpys_floats(dtype, agree, numbers):
    x = numbers((5,), dtype)
    agree(lambda m, x: [m.modf(x), m.frexp(x), m.copysign(x, x), m.logaddexp2(x, x), m.isposinf(x)], x)
    agree(lambda m, x: m.i0(x / 4), x)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "complex128"])
def test_sinc_is_numpys(dtype, agree, numbers):
    agree(lambda m, x: m.sinc(x / 7), numbers((9,), dtype), ulps=8)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ldexp_rounds_once_for_every_exponent(dtype):
    rng = np.random.default_rng(0)
    info = np.finfo(dtype)
    x = (rng.uniform(0.5, 1, 4000) * 2.0 ** rng.integers(info.minexp, info.maxexp - 1, 4000)).astype(dtype)
    n = rng.integers(3 * info.minexp, 3 * info.maxexp, 4000)
    with np.errstate(over="ignore", under="ignore"):
        expected = np.ldexp(x, n)
        with disable_jit():
            np.testing.assert_array_equal(cnp.ldexp(x, n), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_divisors_and_multiples_are_numpys(dtype, agree):
    x = np.array([0, 1, 12, 18, 100, 7, 96, 0], dtype)
    y = np.array([0, 5, 18, 12, 75, 7, 36, 3], dtype)
    agree(lambda m, x, y: [m.gcd(x, y), m.lcm(x // 3, y // 3), m.gcd(x, 6), m.gcd(x[:, None], y)], x, y)
    if np.dtype(dtype).kind == "i":
        agree(lambda m, x, y: [m.gcd(-x, y), m.lcm(-x // 3, y // 3)], x, y)


def test_wrong_numbers_are_refused():
    with disable_jit():
        with pytest.raises(TypeError, match=r"signbit of complex128\[2\].*complex numbers have no order"):
            cnp.signbit(np.ones(2) * 1j)
        with pytest.raises(TypeError, match=r"gcd of ~float64\[\].*Give integers"):
            cnp.gcd(1.5, 2)
        with pytest.raises(TypeError, match=r"ldexp.*the exponents are ~float64\[\]. Give integers"):
            cnp.ldexp(1.0, 2.0)


def test_numpys_own_ufuncs_are_traced():
    jaxpr = make_jaxpr(lambda x: np.copysign(x, -1.0) + np.frexp(x)[0])(np.ones(3))
    assert "copysign" not in str(jaxpr)
    assert str(jaxpr.out_avals[0]) == "float64[3]"


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32"])
def test_sinc_and_i0_of_integers_are_computed_in_float64(dtype, agree):
    agree(lambda m, x: m.i0(x), np.array([0, 1, 1]).astype(dtype), ulps=50)
    is_nan_at_zero = dtype == "float16" and np.lib.NumpyVersion(np.__version__) < "2.3.0"  # in NumPy's sinc
    # At a root NumPy has the error of its pi, in place of 0.
    agree(
        lambda m, x: m.sinc(x) + m.ones((), x.dtype),
        np.array([1 if is_nan_at_zero else 0, 1, 1]).astype(dtype),
        ulps=50,
    )


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors_of_bools_beside_integers_are_numpys(name, agree):
    agree(lambda m, x, y: getattr(m, name)(x, y), np.array([True, False]), np.array([4, 6], np.int8))
    with pytest.raises(TypeError, match=rf"{name} of bool\[\] and bool\[\] at .*. Give integers"):
        make_jaxpr(getattr(cnp, name))(np.bool_(True), np.bool_(True))


@pytest.mark.parametrize(("x", "y"), [("int8", "uint8"), ("int8", "uint16"), ("int16", "uint16"), ("uint16", "int8")])
def test_small_integers_of_two_dtypes_become_floats_each_alone_as_numpys(x, y, agree):
    agree(lambda m, x, y: [m.copysign(x, y), m.logaddexp2(x, y)], np.array([1, 2], x), np.array([3, 1], y))


def test_extended_precision_is_numpys_and_its_bits_are_in_no_integer():
    x = np.longdouble(-3)
    assert cnp.copysign(2.0, x) == -2.0
    assert cnp.signbit(x)
    assert cnp.frexp(x) == (-0.75, 2)
    assert cnp.ldexp(x, 1) == -6.0
    if np.dtype(np.longdouble).itemsize > 8:
        for function in (np.signbit, np.frexp, lambda x: np.ldexp(x, 1)):
            with pytest.raises(TypeError, match=r"no integer holds the bits of .* Convert x: x.astype\('float64'\)"):
                make_jaxpr(function)(x)
