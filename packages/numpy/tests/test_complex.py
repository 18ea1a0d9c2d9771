"""Angles, and which numbers are real, are NumPy's; and plain NumPy programs of complex numbers are traced."""

import numpy as np
import pytest

DTYPES = ["bool", "int8", "int64", "float16", "float32", "float64", "complex64", "complex128"]
SPECIAL = [-np.inf, -1.5, 0.0, 2.0, np.inf, np.nan]


def grid(numbers):
    z = np.empty((len(numbers), len(numbers)), complex)
    z.real, z.imag = np.meshgrid(numbers, numbers)
    return z


@pytest.mark.parametrize("dtype", DTYPES)
def test_angles_are_numpys(dtype, agree, numbers):
    agree(lambda m, x: [m.angle(x), m.angle(x, deg=True)], numbers((2, 3), dtype), ulps=8)


def test_angles_at_infinity_and_nan_are_numpys(agree):
    agree(lambda m, z: m.angle(z), grid(SPECIAL), ulps=8)
    agree(lambda m, x: m.angle(x), np.array(SPECIAL), ulps=8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_which_numbers_are_real_is_numpys(dtype, agree, numbers):
    x = numbers((2, 3), dtype)
    agree(lambda m, x: [m.isreal(x), m.iscomplex(x), m.isreal(m.real(x)), m.real(x), m.imag(x)], x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions_of_complex_numbers_are_numpys(dtype, agree, numbers):
    z = numbers((2, 3), dtype) + dtype_of(dtype)(1 + 2j)
    agree(lambda m, z: [m.conj(z), m.conjugate(z) * z, m.abs(z), m.sign(z), m.square(z), m.reciprocal(z)], z, ulps=8)
    agree(lambda m, z: [m.log2(z), m.log10(z), m.exp2(z / 4), m.rint(z / 4), m.round(z / 3, 1)], z, ulps=32)
    agree(lambda m, z: [m.mean(z, 0), m.var(z, 1), m.std(z), m.vdot(z, z), m.linalg.norm(z, axis=0)], z, ulps=16)
    agree(lambda m, z: [m.isnan(z), m.isfinite(z), m.isinf(z), m.isclose(z, z + 1e-9), m.sort(z, 0)], z)
    agree(lambda m, z: [m.nansum(z), m.trace(z), m.diff(z), m.power(z, -2)], z, ulps=16)
    agree(lambda m, z: [m.einsum("ij,kj->ik", z, m.conj(z)), m.outer(z, z)], z, ulps=16)


def dtype_of(name):
    return np.dtype(name).type


def test_methods_and_properties_are_numpys(agree, numbers):
    z = numbers((2, 3), "complex64")
    agree(lambda m, z: [z.real * 2, z.imag + z.real, z.conj() @ z.T, z.conjugate().sum(), abs(z), z**2, -z.imag], z)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("deg", [False, True])
def test_the_angles_of_zeros_have_the_signs_of_their_parts(dtype, deg, agree):
    zeros = np.array([complex(x, y) for x in (0.0, -0.0) for y in (0.0, -0.0)], dtype)
    agree(lambda m, z: [m.angle(z, deg), m.signbit(m.angle(z, deg))], zeros)
