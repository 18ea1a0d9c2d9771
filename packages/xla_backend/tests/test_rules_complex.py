"""Lowering of parts, conjugates and construction against evaluation: exactly, infinities and NaN included."""

import numpy as np
import pytest

from calque_core import lax
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

SHAPES = [(), (1,), (2, 0, 3), (2, 3)]
SPECIAL = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan])


def draw(rng, dtype, shape):
    z = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return np.asarray(z if np.dtype(dtype).kind == "c" else z.real).astype(dtype)[()]


def special(dtype):
    z = np.empty((SPECIAL.size, SPECIAL.size), dtype)
    z.real, z.imag = np.meshgrid(SPECIAL, SPECIAL)
    return z


@pytest.mark.parametrize("name", ["real", "imag", "conj"])
def test_parts_and_conjugates_compile_to_what_they_evaluate_to(name, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(0)
    cases = [(draw(rng, dtype, shape),) for dtype in dtypes_of("fc") for shape in SHAPES]
    cases += [(special(dtype),) for dtype in dtypes_of("c")]
    check_compiled(getattr(lax, name), cases)


@pytest.mark.parametrize("shapes", [((), ()), ((0, 2), (0, 2)), ((2, 3), ()), ((), (2, 3)), ((2, 1), (3,))], ids=str)
def test_construction_compiles_to_what_it_evaluates_to(shapes, regime, dtypes_of, check_compiled):
    rng = np.random.default_rng(1)
    check_compiled(lax.complex, [[draw(rng, dtype, shape) for shape in shapes] for dtype in dtypes_of("f")])


def test_the_parts_of_a_constructed_number_are_the_operands():
    x, y = np.meshgrid(SPECIAL, SPECIAL)
    got = jit(lambda x, y: (lax.real(lax.complex(x, y)), lax.imag(lax.complex(x, y))))(x, y)
    for part, want in zip(map(np.asarray, got), (x, y), strict=True):
        np.testing.assert_array_equal(part, want)
        np.testing.assert_array_equal(np.signbit(part), np.signbit(want))


# Both sides of the cuts along the negative real axis, which the sign of a zero tells apart; and both axes.
CUTS = np.array(
    [complex(x, y) for x in (-2.0, -0.5, 2.0) for y in (0.0, -0.0)] + [1j, -1j, complex(-0.0, 1), 0.5 + 0.5j]
)


@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "log", "log1p", "asin", "acos", "atan", "asinh", "acosh", "atanh"])
def test_branch_cuts_are_where_evaluation_has_them(name, dtypes_of, check_compiled):
    fun = getattr(lax, name)
    with np.errstate(all="ignore"):
        check_compiled(
            lambda z: [fun(z), fun(lax.conj(z))], [(CUTS.astype(dtype),) for dtype in dtypes_of("c")], ulps=64
        )


CUTS_OF_INVERSES = {
    "asin": [complex(-0.0, 2), complex(2, -0.0), complex(-2, 0.0)],
    "atan": [complex(-0.0, 1e30), complex(-0.0, -2), complex(0.0, 1e30), complex(2, 0.0), complex(-0.0, 0.0)],
    "asinh": [complex(-0.0, 2), complex(-0.0, -1e30), complex(0.0, 2), complex(-0.0, 0.5)],
    "atanh": [complex(1e30, -0.0), complex(-2, -0.0), complex(1e30, 0.0), complex(-0.0, 2)],
}


def assert_compiled_is_evaluation(name, numbers, ulps=4):
    """Compare both parts, signs of zeros included."""
    fun = getattr(lax, name)
    with np.errstate(all="ignore"):
        want, got = fun(numbers), np.asarray(jit(fun)(numbers))
    eps = np.finfo(numbers.dtype).eps
    for part in ("real", "imag"):
        x, y = getattr(got, part), getattr(want, part)
        np.testing.assert_allclose(x, y, rtol=ulps * eps)
        np.testing.assert_array_equal(np.signbit(x[~np.isnan(x)]), np.signbit(y[~np.isnan(y)]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", CUTS_OF_INVERSES)
def test_odd_inverses_keep_the_side_of_their_cuts(name, dtype):
    assert_compiled_is_evaluation(name, np.array(CUTS_OF_INVERSES[name], dtype))


@pytest.mark.parametrize(("dtype", "distance"), [("complex64", 1e-30), ("complex128", 1e-200)])
def test_the_inverse_tangents_are_finite_beside_their_poles(dtype, distance):
    beside = np.array([complex(x, y) for x in (1, -1) for y in (distance, -distance, 1e-8, 1e-3)], dtype)
    assert_compiled_is_evaluation("atanh", beside, ulps=8)
    assert_compiled_is_evaluation("atan", 1j * beside, ulps=8)


INF = float("inf")

# Numbers whose result has a factor of infinity and one of zero, or overflows only in one of two factors
EXTREMES = {
    "sinh": [800, -800, complex(800, -0.0), INF, complex(-INF, -0.0), 800 + 1j, complex(np.nan, 0), complex(0, np.nan)],
    "cosh": [800, -800, complex(800, -0.0), INF, complex(-INF, -0.0), 800 + 1j, complex(np.nan, 0), complex(0, np.nan)],
    "sin": [800j, -800j, complex(0, INF), complex(-0.0, 800), 1 + 800j, complex(INF, 1)],
    "cos": [800j, -800j, complex(0, INF), complex(-0.0, 800), 1 + 800j, complex(INF, 1)],
    "exp": [800, -800, complex(-INF, INF), complex(-INF, np.nan), complex(-INF, 2), INF, 800 + 1j],
    "exp2": [2000, -2000, complex(2000, -0.0), INF, -INF, complex(-INF, 3), 2000 + 1j, complex(np.nan, 0)],
    "sign": [complex(0, INF), INF, complex(-INF, 3), complex(np.nan, INF), complex(np.nan, 1), complex(INF, INF)],
    "rsqrt": [complex(0, INF), complex(0, -INF), complex(1, INF), complex(1, -INF)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", EXTREMES)
def test_complex_functions_have_the_infinities_and_zeros_of_evaluation(name, dtype):
    assert_compiled_is_evaluation(name, np.array(EXTREMES[name], dtype))


@pytest.mark.parametrize(
    ("name", "edge"), [("sinh", 710.2 + 1j), ("cosh", 710.2 + 1j), ("sin", 1 + 710.2j), ("cos", 1 + 710.2j)]
)
def test_complex_functions_overflow_only_where_the_result_does(name, edge):
    assert_compiled_is_evaluation(name, np.array([edge]), ulps=8)


def test_complex_powers_of_two_have_all_digits():
    """Evaluation, which is NumPy's, rounds the product of 1000 and log(2)."""
    power = complex(np.exp2(1000.0) * np.exp(1j * np.log(2)))
    assert complex(np.asarray(jit(lax.exp2)(1000 + 1j))) == pytest.approx(power, rel=4e-16)


@pytest.mark.parametrize("exponent", [0.5, -1.5, 1 + 1j])
def test_powers_have_their_cut_where_evaluation_has_it(exponent, dtypes_of, check_compiled):
    check_compiled(lambda z: lax.pow(z, exponent), [(CUTS.astype(dtype),) for dtype in dtypes_of("c")], ulps=128)


def test_the_parts_of_a_device_array_are_device_arrays():
    z = jit(lambda z: lax.mul(z, 2.0))(np.array([1 + 2j, -3j]))
    for got, want in [(z.real, [2, 0]), (z.imag, [4, -6]), (z.conj(), [2 - 4j, 6j])]:
        assert type(got) is type(z)
        np.testing.assert_array_equal(np.asarray(got), want)


# Digits of each part: the real and the imaginary part are right beside the other, however small they are

SIZES = [0.0, 1e-30, 1e-20, 1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0]
CENTRES = [1, -1, -2, 1j, np.pi / 2, np.pi, 0.5j * np.pi, -1.5j * np.pi]
STEPS = [1e-3, -1e-3, 1e-5, 1e-5j, -1e-3j, 1e-3 + 1e-3j]
FUNCTIONS = [
    "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "logistic", "abs",
    "sign",
]  # fmt: skip


def hard_numbers(dtype):
    """Give numbers near 0, near the axes, near 1 and -1, and near zeros and poles."""
    grid = [complex(s * x, t * y) for x in SIZES for y in SIZES for s in (1, -1) for t in (1, -1) if x or y]
    grid = [z for z in grid if z != -1]  # where log1p is infinite
    return np.array([*grid, *(c + h for c in CENTRES for h in STEPS)]).astype(dtype)


def check_parts(got, want, ulps):
    tiny = 4 * np.finfo(want.dtype).tiny  # below it, XLA flushes to zero
    for part in ("real", "imag"):
        x, y = getattr(np.asarray(got), part), getattr(want, part)
        assert (np.where(np.abs(y) > tiny, np.abs(x - y), 0) <= ulps * np.spacing(np.abs(y))).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_functions_compile_to_all_digits_of_each_part(name, dtype):
    z, fun = hard_numbers(dtype), getattr(lax, name)
    check_parts(jit(fun)(z), fun(z), 32)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_of_numbers_near_one_compile_to_all_digits_of_each_part(dtype):
    step = np.array([1e-3, -1e-5j, 1e-5 + 1e-4j, 0.1j, 0.0])
    x, y = (1 + step).astype(dtype), np.array([0.3 + 1j, -1.5, 2j, 0.7 - 0.2j, 3.0]).astype(dtype)
    check_parts(jit(lax.pow)(x, y), lax.pow(x, y), 32)
    check_parts(jit(lax.pow)(x, y[0]), lax.pow(x, y[0]), 32)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["exp", "expm1", "sin", "tan", "sinh", "tanh"])
def test_functions_that_are_real_on_the_real_axis_keep_the_sign_of_a_zero(name, dtype):
    z = np.array([complex(x, y) for x in (-2.0, -0.5, 1.2, 2.0) for y in (0.0, -0.0)], dtype)
    fun = getattr(lax, name)
    np.testing.assert_array_equal(np.signbit(jit(fun)(z).imag), np.signbit(np.asarray(fun(z)).imag))
    if name in ("sin", "tan", "sinh", "tanh"):
        z = np.array([complex(x, y) for y in (-2.0, -0.5, 1.2) for x in (0.0, -0.0)], dtype)
        np.testing.assert_array_equal(np.signbit(jit(fun)(z).real), np.signbit(np.asarray(fun(z)).real))


# Every pair of parts among zeros, infinities, NaN and finite numbers

WITH_ALL_SIGNS = ["sqrt", "rsqrt", "reciprocal", "square", "exp", "exp2", "log", "log1p", "sin", "sinh", "logistic"]
WITH_ALL_SIGNS += ["asin", "acos", "atan", "asinh", "acosh", "atanh", "abs", "sign", "neg", "conj"]
# C99 leaves the signs of some zeros open: beside NaN, and for the tangent of two infinite parts
WITH_ALL_VALUES = ["cos", "cosh", "tan", "tanh"]
# C99 leaves the sign of an infinity beside NaN open, and C17 made pi/2 of a NaN: releases of NumPy differ
OPEN_BESIDE_NAN = ["asin", "asinh", "acosh"]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", WITH_ALL_SIGNS)
def test_special_parts_and_signs_of_zeros_are_those_of_evaluation(name, dtype):
    z = special(dtype).ravel()
    assert_compiled_is_evaluation(name, z[~np.isnan(z)] if name in OPEN_BESIDE_NAN else z, ulps=16)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", WITH_ALL_VALUES)
def test_special_parts_are_those_of_evaluation(name, dtype):
    z, fun = special(dtype).ravel(), getattr(lax, name)
    with np.errstate(all="ignore"):
        want = fun(z)
    for part in ("real", "imag"):
        got = getattr(np.asarray(jit(fun)(z)), part)
        np.testing.assert_allclose(got, getattr(want, part), rtol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_with_an_exponent_of_0_are_1_and_positive_powers_of_0_are_0(dtype):
    z = special(dtype).ravel()
    with np.errstate(all="ignore"):
        for exponent in (0.0, 2 - 0.5j, 1.5):
            zeros, exponents = z[z == 0], np.array(exponent, dtype)
            np.testing.assert_array_equal(np.asarray(jit(lax.pow)(zeros, exponents)), lax.pow(zeros, exponents))
        np.testing.assert_array_equal(np.asarray(jit(lax.pow)(z, np.array(0, dtype))), np.ones(z.size, dtype))
