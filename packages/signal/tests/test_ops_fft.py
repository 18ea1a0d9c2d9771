"""Fourier transforms against their definition as sums, and their refusals."""

import numpy as np
import pytest

from calque_core import ShapeError, lax, make_jaxpr
from calque_core.lax import FftType, fft_p

RNG = np.random.default_rng(3)
SIZES = [1, 2, 3, 8, 9]


def matrix(n, sign=-1):
    places = np.arange(n)
    return np.exp(sign * 2j * np.pi * np.outer(places, places) / n)


def complex_numbers(*shape):
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


@pytest.mark.parametrize("n", SIZES)
def test_each_kind_is_its_sum(n):
    z, x = complex_numbers(3, n), RNG.normal(size=(3, n))
    half = z[:, : n // 2 + 1]
    full = np.concatenate([half, np.conj(half[:, 1 : (n + 1) // 2][:, ::-1])], 1)  # the symmetric spectrum
    full[:, 0] = full[:, 0].real
    if n % 2 == 0:
        full[:, n // 2] = full[:, n // 2].real

    np.testing.assert_allclose(lax.fft(z, "FFT", (n,)), z @ matrix(n), atol=1e-13)
    np.testing.assert_allclose(lax.fft(z, "IFFT", (n,)), z @ matrix(n, 1) / n, atol=1e-13)
    np.testing.assert_allclose(lax.fft(x, "RFFT", (n,)), (x @ matrix(n))[:, : n // 2 + 1], atol=1e-13)
    np.testing.assert_allclose(lax.fft(half, "IRFFT", (n,)), (full @ matrix(n, 1)).real / n, atol=1e-13)


@pytest.mark.parametrize("lengths", [(4,), (3, 4), (2, 3, 4)])
def test_inverses_undo_over_one_to_three_axes(lengths):
    z, x = complex_numbers(2, 3, 4), RNG.normal(size=(2, 3, 4))

    np.testing.assert_allclose(lax.fft(lax.fft(z, "FFT", lengths), "IFFT", lengths), z, atol=1e-13)
    np.testing.assert_allclose(lax.fft(lax.fft(x, "RFFT", lengths), "IRFFT", lengths), x, atol=1e-13)


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [("int8", "complex128"), ("float16", "complex64"), ("float32", "complex64"), ("bool", "complex128")],
)
def test_operands_become_complex_numbers_of_at_least_64_bits(dtype, wide):
    x = np.ones(4, dtype)
    assert lax.fft(x, FftType.FFT, (4,)).dtype == wide
    assert lax.fft(x, FftType.RFFT, (4,)).dtype == wide
    assert lax.fft(x, FftType.IRFFT, (6,)).dtype == np.finfo(wide).dtype


def test_a_transform_is_one_equation_that_prints_its_kind():
    jaxpr = make_jaxpr(lambda x: lax.fft(x, "RFFT", (3, 4)))(np.ones((2, 3, 4)))
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is fft_p
    assert "c128[2,3,3] = fft[fft_lengths=(3, 4) fft_type=RFFT]" in str(jaxpr)


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 4)])
def test_there_may_be_no_rows(shape):
    assert lax.fft(np.ones(shape), "RFFT", (4,)).shape == (*shape[:-1], 3)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: lax.fft(np.ones(4), "FFT", (3,)), ShapeError, r"fft of complex128\[4\] of type FFT at .*sizes \(3,\)"),
        (lambda: lax.fft(np.ones(4), "IRFFT", (8,)), ShapeError, r"fft_lengths \(8,\) need last axes of sizes \(5,\)"),
        (lambda: lax.fft(np.ones(4), "FFT", (1, 1, 1, 4)), ValueError, "one to 3 lengths of at least 1"),
        (lambda: lax.fft(np.ones(0), "FFT", (0,)), ValueError, r"fft_lengths is \(0,\)"),
        (lambda: lax.fft(np.ones(4), "FFT", 4), TypeError, "fft_lengths is 4. Give a sequence of integers"),
        (lambda: lax.fft(np.ones(4), "DFT", (4,)), ValueError, "fft_type is 'DFT'. Give .* FFT, IFFT, RFFT, IRFFT"),
        (lambda: lax.fft(1j * np.ones(4), "RFFT", (4,)), TypeError, "it takes real numbers. Use FFT, or the real part"),
        (
            lambda: make_jaxpr(lambda x: fft_p.bind(x, fft_type=FftType.FFT, fft_lengths=(4,)))(np.ones(4)),
            TypeError,
            "takes complex64 or complex128",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
