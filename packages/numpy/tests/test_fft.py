"""Fourier transforms against NumPy's: values, dtypes, shapes and refusals, eagerly and staged."""

import inspect
import warnings

import numpy as np
import pytest

from calque_core import NumpyRuleError, ShapeError, config, eval_jaxpr, make_jaxpr
from calque_core.config import disable_jit
from calque_numpy import fft

pytestmark = pytest.mark.sampled(keep=0.1)

ALONG = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
OVER = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
REAL = ["rfft", "ihfft", "rfft2", "rfftn"]
RNG = np.random.default_rng(0)


def operand(name, shape, dtype="complex128"):
    x = 8 * RNG.normal(size=shape) + 8j * RNG.normal(size=shape)
    return (x if np.dtype(dtype).kind == "c" and name not in REAL else x.real).astype(
        dtype if name not in REAL else "f8"
    )


def check(name, x, *args, **kwargs):
    """Compare with NumPy, and the staged program with its traced call through NumPy's own function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # lengths without axes
        want = getattr(np.fft, name)(x, *args, **kwargs)
        np.testing.assert_array_equal(getattr(fft, name)(x, *args, **kwargs), want)  # by NumPy's function
        jaxpr = make_jaxpr(lambda x: getattr(np.fft, name)(x, *args, **kwargs))(x)
    with disable_jit():
        got = getattr(fft, name)(x, *args, **kwargs)  # by ours
    again = eval_jaxpr(jaxpr, jaxpr.consts, x)[0]
    assert (got.shape, got.dtype) == (want.shape, want.dtype) == (again.shape, again.dtype)
    eps = np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, want, rtol=0, atol=64 * eps * max(1, np.abs(want).max(initial=0)))
    np.testing.assert_array_equal(got, again)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 1, 2, 3, 8, 9])
@pytest.mark.parametrize("size", [2, 3, 8, 9])
@pytest.mark.parametrize("name", ALONG)
def test_transforms_along_one_axis(name, size, n, norm):
    check(name, operand(name, (3, size)), n, norm=norm)
    check(name, operand(name, (size, 2)), n, axis=0, norm=norm)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"axes": (0, 1)},
        {"axes": (1, -3)},
        {"axes": (2,)},
        {"s": (4, 3)},
        {"s": (3, 5), "axes": (2, 0)},
        {"s": (-1, 5), "axes": (0, 1)},
        {"axes": (0, 0)},
        {"axes": (0, 1, 0), "s": (3, 2, 6)},
        {"axes": (0, 0, 1, 2), "s": (5, 3, 4, 5)},
        {"axes": (1, 0, 2, 1, 1), "s": (5, 3, 4, 5, 3)},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", OVER)
def test_transforms_over_several_axes(name, options, norm):
    is_repeated = options.get("axes") == (0, 0, 1, 2) and name in ("rfft2", "rfftn")
    if is_repeated and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("NumPy 2.0 gives another size to an axis that is named twice")
    check(name, operand(name, (4, 3, 2)), norm=norm, **options)


def test_more_axes_than_one_operation_transforms():
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        check(name, operand(name, (2, 3, 2, 3, 2)))


@pytest.mark.parametrize("name", [*ALONG, *OVER])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint64", "float16", "float32", "float64", "complex64"])
def test_dtypes_are_numpys(name, dtype):
    if not (name in REAL and dtype == "complex64"):
        check(name, np.ones((4, 4), dtype))


@pytest.mark.parametrize("dtype", ["int8", "float64", "complex128"])
def test_with_32_bits_spectra_are_complex64(dtype):
    with config.enable_x64(False):
        assert fft.fft(np.ones(4, dtype)).dtype == np.complex64
        assert fft.irfft(np.ones(4, dtype)).dtype == np.float32
        assert fft.fftfreq(4).dtype == np.float32


@pytest.mark.parametrize("name", ["fftn", "ifftn", "fft2", "ifft2"])
def test_without_axes_nothing_is_transformed(name):
    check(name, np.ones((2, 3)), axes=())


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 0, -1, (0, 1), [1]])
@pytest.mark.parametrize("shape", [(4, 5), (1, 3)])
def test_shifts(name, axes, shape):
    check(name, np.arange(np.prod(shape)).reshape(shape), axes)


@pytest.mark.parametrize("d", [1.0, 0.3, 7])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_frequencies(n, d):
    for name in ("fftfreq", "rfftfreq"):
        with disable_jit():
            got = getattr(fft, name)(n, d)
        np.testing.assert_array_equal(got, getattr(np.fft, name)(n, d))
        assert got.dtype == np.float64
    jaxpr = make_jaxpr(lambda d: fft.fftfreq(n, d))(d)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, d)[0], np.fft.fftfreq(n, d))


def test_names_and_parameters_are_numpys():
    assert sorted(fft.__all__) == sorted(name for name in np.fft.__all__)
    for name in fft.__all__:
        ours, theirs = (inspect.signature(getattr(module, name)).parameters.values() for module in (fft, np.fft))
        assert [(p.name, p.default) for p in ours if p.name != "dtype"] == [(p.name, p.default) for p in theirs]


X = np.ones((4, 4))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: fft.fft(X, 0), ValueError, r"fft of an array of shape \(4, 4\).*lengths of the transform are \(0,\)"),
        (lambda: fft.irfft(np.ones(1)), ValueError, "Give lengths of at least 1"),
        (lambda: fft.fft(X, 2.5), TypeError, "fft.*n is 2.5. Give an integer"),
        (lambda: fft.fft(X, axis=2), ValueError, "fft.*axis 2 is out of range for ndim 2"),
        (lambda: fft.fft(3.0), ValueError, "fft.*axis -1 is out of range for ndim 0"),
        (lambda: fft.fftn(X, (2, 3), (0,)), ShapeError, r"fftn.*s is \(2, 3\), but the axes are \(0,\)"),
        (lambda: fft.rfftn(X, axes=()), ValueError, "rfftn.*there are no axes"),
        (lambda: fft.irfft2(X, axes=()), ValueError, "irfft2.*there are no axes"),
        (lambda: fft.fft2(X, axes=0), TypeError, "fft2.*axes is 0. Give a sequence of integers"),
        (lambda: fft.fft(X, norm="x"), ValueError, "fft.*norm is 'x'. Use 'backward', 'ortho' or 'forward'"),
        (lambda: fft.hfft(X, norm="x"), ValueError, "hfft.*norm is 'x'"),
        (lambda: fft.rfft(1j * X), TypeError, r"rfft of complex128\[4,4\].*real numbers"),
        (lambda: fft.ihfft(1j * X), TypeError, "ihfft of .*real numbers"),
        (lambda: fft.fft(X, out=X), NumpyRuleError, "fft.*out= is not supported"),
        (lambda: fft.fftfreq(0), ValueError, "fftfreq.*n is 0. Give a number of at least 1"),
        (lambda: fft.rfftfreq(2.0), TypeError, "rfftfreq.*n is 2.0. Give an integer"),
        (lambda: fft.fftshift(X, 2), ValueError, "fftshift.*axis 2 is out of range"),
        (lambda: fft.ifftshift(3.0), ValueError, r"ifftshift.* of shape \(\): there are no axes to shift"),
    ],
)
def test_wrong_arguments_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("make", [fft.fftfreq, fft.rfftfreq])
def test_frequencies_have_the_dtype_of_the_array_api(make):
    assert make(5, dtype="float32").dtype == np.float32
    np.testing.assert_array_equal(make(5, 0.3, dtype=np.float32), make(5, 0.3).astype(np.float32))
    with pytest.raises(TypeError, match=r"freq at test_fft.*dtype is int64\. Use a real float dtype\.$"):
        make(5, dtype=int)
