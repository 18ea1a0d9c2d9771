"""Parts, conjugates and putting together: values are NumPy's, types those of the parts."""

import cmath

import numpy as np
import pytest

from calque_core import ShapeError, config, lax, make_jaxpr, typeof

Z = np.array([[1 + 2j, -0.5 - 1j], [3j, -4.0]])
PARTS = [-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf, np.nan]


def same(got, want):
    assert (type(got), got.dtype, got.shape) == (type(want), want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)
    for part in ("real", "imag"):
        np.testing.assert_array_equal(np.signbit(getattr(got, part)), np.signbit(getattr(want, part)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("x", [Z, Z[0, 0], Z[:, :0]], ids=["matrix", "scalar", "empty"])
def test_parts_and_conjugates_are_numpys(x, dtype):
    x = x.astype(dtype)
    for name in ("real", "imag", "conj"):
        same(getattr(lax, name)(x), np.positive(getattr(np, name)(x)))


def test_a_python_number_gives_a_numpy_one():
    for got, want in [
        (lax.real(1 + 2j), np.float64(1)), (lax.imag(1 + 2j), np.float64(2)), (lax.conj(1 + 2j), np.complex128(1 - 2j)),
        (lax.complex(1, 2), np.complex128(1 + 2j)), (lax.real(3), np.int64(3)), (lax.imag(2.5), np.float64(0)),
    ]:  # fmt: skip
        same(got, want)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64"])
def test_a_real_number_is_its_real_part_and_its_conjugate(dtype):
    x = np.array([0, 1, 2]).astype(dtype)
    same(lax.real(x), x)
    same(lax.conj(x), x)
    same(lax.imag(x), np.zeros(3, dtype))
    assert not make_jaxpr(lambda x: (lax.real(x), lax.conj(x)))(x).eqns


def test_putting_together_keeps_the_parts_as_they_are():
    x, y = (a.ravel() for a in np.meshgrid(PARTS, PARTS))
    z = lax.complex(x, y)
    same(lax.real(z), x)
    same(lax.imag(z), y)
    same(lax.complex(lax.real(Z), lax.imag(Z)), Z)


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (("float32", "float32"), "complex64"),
        (("float64", "float64"), "complex128"),
        (("float32", "float64"), "complex128"),
        (("float16", "float16"), "complex64"),
        (("float16", "int8"), "complex64"),
        (("int8", "bool"), "complex64"),
        (("int32", "int32"), "complex128"),
    ],
)
def test_the_dtype_of_what_is_put_together_follows_from_that_of_the_parts(parts, whole):
    x, y = (np.ones(2, dtype) for dtype in parts)
    same(lax.complex(x, y), np.full(2, 1 + 1j, whole))
    assert make_jaxpr(lax.complex)(x, y).out_avals == [typeof(np.ones(2, whole))]


def test_parts_broadcast():
    same(lax.complex(np.ones((2, 1)), np.arange(3.0)), np.ones((2, 1)) + 1j * np.arange(3.0))
    same(lax.complex(0.0, np.arange(3.0)), 1j * np.arange(3.0))
    same(lax.complex(np.arange(3, dtype=np.float32), 2.0), np.arange(3, dtype=np.complex64) + np.complex64(2j))


def test_with_x64_off_complex_numbers_have_64_bits():
    with config.enable_x64(False):
        assert lax.complex(1.0, 2.0).dtype == lax.complex(np.ones(2), 0.0).dtype == np.complex64
        assert lax.real(Z).dtype == lax.imag(1j).dtype == np.float32
        assert lax.conj(Z).dtype == np.complex64


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(
        ShapeError, match=r"complex of float64\[2\] and float64\[3\] at .*: the shapes do not broadcast"
    ):
        lax.complex(np.ones(2), np.ones(3))
    for call in (lambda z: lax.complex(z, 1.0), lambda z: lax.complex(1.0, z)):
        with pytest.raises(
            TypeError, match=r"complex of complex128\[.*\] at .*: not defined for complex128. Convert the operand"
        ):
            call(1j)


@pytest.mark.parametrize("primitive", [lax.real_p, lax.imag_p, lax.conj_p], ids=str)
def test_the_primitives_take_complex_numbers_alone(primitive):
    with pytest.raises(
        TypeError, match=rf"{primitive.name} of float64\[2\].*: not defined for float64. Convert the operand"
    ):
        make_jaxpr(primitive.bind)(np.ones(2))


@pytest.mark.parametrize("dtype", ["float16", "int32", "complex64"])
def test_the_primitive_takes_parts_that_complex_numbers_have(dtype):
    with pytest.raises(TypeError, match=r"complex of .*: not defined for"):
        make_jaxpr(lax.complex_p.bind)(np.ones(2, dtype), np.ones(2, dtype))


def test_parts_are_no_copies_of_the_numbers_and_cannot_be_mistaken_for_them():
    z = Z.copy()
    assert np.shares_memory(lax.real(z), z), "as NumPy's, and as reshape"
    assert not np.shares_memory(lax.conj(z), z)


# Digits of each part: the real and the imaginary part are right beside the other, however small they are

SIZES = [0.0, 1e-30, 1e-20, 1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0]
CENTRES = [1, -1, -2, 1j, np.pi / 2, np.pi, 0.5j * np.pi, -1.5j * np.pi]
STEPS = [1e-3, -1e-3, 1e-5, 1e-5j, -1e-3j, 1e-3 + 1e-3j]
FUNCTIONS = [
    "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "logistic", "abs",
    "sign",
]  # fmt: skip


def hard_numbers():
    """Give numbers near 0, near the axes, near 1 and -1, and near zeros and poles; single ones, so both precisions."""
    grid = [complex(s * x, t * y) for x in SIZES for y in SIZES for s in (1, -1) for t in (1, -1) if x or y]
    grid = [z for z in grid if z != -1]  # where log1p is infinite
    return np.array([*grid, *(c + h for c in CENTRES for h in STEPS)]).astype(np.complex64)


def distances(got, want):
    """Return how far each part of single numbers is from that of double ones, in ulps; 0 where it underflows."""
    for part in ("real", "imag"):
        x, y = (getattr(np.asarray(z), part).astype(np.float64) for z in (got, want))
        ulp = np.spacing(np.abs(y).astype(np.float32)).astype(np.float64)
        yield np.where(np.abs(y) > 1e-37, np.abs(x - y) / ulp, 0.0).max()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_complex_functions_have_the_digits_of_double_ones_in_each_part(name):
    z, fun = hard_numbers(), getattr(lax, name)
    assert max(distances(fun(z), fun(z.astype(np.complex128)))) < 16


@pytest.mark.parametrize(
    ("z", "logarithm"),
    [
        (1e-20 + 1e-8j, 5.001e-17 + 1e-8j),
        (-2 + 1e-8j, 5e-17 + 3.141592643589793j),
        (-5e-17 + 1e-8j, 4.3873667468111174e-33 + 1e-8j),
        (-0.5 + 0.8660254037844386j, -4.345318932600586e-17 + 1.0471975511965976j),
        (1e-300 + 1e-5j, 4.999999999750001e-11 + 9.999999999666668e-06j),
        (-1e-3 + 0.0447j, -4.550002070252948e-07 + 0.04471491952970288j),
        (0.1 - 0.2j, 0.11157177565710488 - 0.17985349979247828j),
        (-1 + 1e-30j, -69.07755278982137 + 1.5707963267948966j),
    ],
)  # the right sides by a library with 60 digits
def test_log1p_of_double_complex_numbers_has_all_digits_in_each_part(z, logarithm):
    for x in (z, np.array([z, z])):
        out = np.ravel(lax.log1p(x))
        np.testing.assert_array_max_ulp(out.real, np.full(out.shape, logarithm.real), 4)
        np.testing.assert_array_max_ulp(out.imag, np.full(out.shape, logarithm.imag), 4)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_reciprocal_of_an_infinite_root_is_zero(dtype):
    z = np.array([complex(0, np.inf), complex(1, -np.inf), np.inf, -np.inf, complex(-np.inf, np.inf)], dtype)
    with np.errstate(all="ignore"):
        out = lax.rsqrt(z)
    assert out.dtype == z.dtype
    np.testing.assert_array_equal(out, 0)
    np.testing.assert_array_equal(np.signbit(out.imag[:2]), [True, False])


@pytest.mark.parametrize("number", [complex, np.complex128, np.complex64, lambda z: np.array([z])])
@pytest.mark.parametrize(
    ("z", "want"),
    [
        (1 + 0j, complex(1, -0.0)),
        (complex(-1, -0.0), complex(-1, 0.0)),
        (complex(0.0, -1), complex(0.0, 1)),
        (complex(np.inf, np.inf), complex(0.0, -0.0)),
        (complex(np.nan, -np.inf), complex(0.0, 0.0)),
    ],
)
def test_a_reciprocal_has_the_signs_of_the_conjugate_and_is_0_for_infinite_numbers(number, z, want):
    with np.errstate(all="ignore"):
        got = np.asarray(lax.reciprocal(number(z))).reshape(())
    assert got == want
    assert np.signbit([got.real, got.imag]).tolist() == np.signbit([want.real, want.imag]).tolist()


@pytest.mark.parametrize(
    ("function", "real"),
    [(lax.logistic, real) for real in (0.0, -1.0, 2.0)] + [(lambda z: lax.rsqrt(lax.conj(z)), 0.5)],
)
def test_functions_that_are_real_on_the_real_axis_stay_on_their_side_of_it(function, real):
    zeros = np.array([0.0, -0.0])
    got = function(np.array([complex(real, zero) for zero in zeros]))
    np.testing.assert_array_equal(np.signbit(got.imag), np.signbit(zeros))


@pytest.mark.parametrize("z", [12 + 1j, -12 + 1j, 0.5 - 2j, 3 + 0j])
def test_the_slopes_of_tanh_and_of_the_logistic_function_have_all_digits_where_they_are_small(z):
    assert lax.tanh_slope(z) == pytest.approx(cmath.cosh(z) ** -2, rel=1e-14)
    assert lax.logistic_slope(2 * z) == pytest.approx(0.25 * cmath.cosh(z) ** -2, rel=1e-14)


def test_the_slopes_of_tanh_and_of_the_logistic_function_are_0_at_complex_infinities():
    z = np.array([complex(np.inf, 2), complex(-np.inf, 2), 1000 + 1j, -1000 + 1j])
    np.testing.assert_array_equal(lax.tanh_slope(z), np.zeros(4))
    np.testing.assert_array_equal(lax.logistic_slope(z), np.zeros(4))
