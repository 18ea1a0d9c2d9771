"""Signals by SciPy's names: SciPy's values, evaluated and compiled, with derivatives."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import calque
from calque.scipy import signal
from calque_core import ShapeError

scipys = pytest.importorskip("scipy.signal", reason="scipy is not installed")

RANDOM = np.random.default_rng(0)
PAIRS = [((5,), (3,)), ((3,), (6,)), ((5, 4), (2, 3)), ((2, 3), (5, 4)), ((4, 3, 2), (2, 2, 2))]


def numbers(shape, dtype):
    x = 9 * RANDOM.normal(size=shape)
    return (x + 1j * RANDOM.normal(size=shape) if dtype == "complex128" else x).astype(dtype)


def assert_scipys(name, args, options, compiled=False):
    """Check values, shapes and dtypes."""
    with warnings.catch_warnings(action="ignore"):  # SciPy warns of signals shorter than a segment
        want = getattr(scipys, name)(*args, **options)
    function = lambda *args: getattr(signal, name)(*args, **options)
    got = (calque.jit(function) if compiled else function)(*args)
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    assert got[-1].dtype == want[-1].dtype  # frequencies and times have the precision of the signal, too
    rtol = 1e-4 if want[-1].dtype in ("float32", "complex64") else 1e-9
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=rtol, atol=10 * rtol, err_msg=f"{name} {options}")


@pytest.mark.sampled(keep=0.15)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64"])
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_convolutions_are_scipys(shapes, dtype):
    x, y = (numbers(shape, dtype) for shape in shapes)
    for mode in ("full", "same", "valid"):
        is_compiled = mode == "same"
        for name in ("convolve", "correlate", "fftconvolve"):
            assert_scipys(name, (x, y), {"mode": mode}, is_compiled)
        if x.ndim == 2:
            assert_scipys("fftconvolve", (x, y[:1]), {"mode": mode, "axes": 1})
    if x.ndim == 2:
        for mode, boundary in itertools.product(("full", "same"), ("fill", "wrap", "symm")):
            for name in ("convolve2d", "correlate2d"):
                options = {"mode": mode, "boundary": boundary, "fillvalue": 2 if boundary == "fill" else 0}
                assert_scipys(name, (x, y), options)
        assert_scipys("convolve2d", (x, y), {"mode": "valid"})


@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d"])
def test_convolutions_are_linear_in_each_array(name):
    x, y = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(2, 2))
    f = lambda x, y: np.sum(getattr(signal, name)(x, y, "same") ** 2)
    for i, args in enumerate(((x, y), (y, x))):
        at = (lambda z: f(z, y)) if i == 0 else (lambda z: f(x, z))
        steps = 1e-6 * np.eye(args[0].size).reshape(-1, *args[0].shape)
        want = np.array([(at(args[0] + h) - at(args[0] - h)) / 2e-6 for h in steps]).reshape(args[0].shape)
        np.testing.assert_allclose(calque.grad(f, argnums=i)(x, y), want, rtol=1e-5, atol=1e-6)


X, Y = RANDOM.normal(size=(3, 100)), RANDOM.normal(size=(3, 100))
OPTIONS = [
    {},
    {"nperseg": 15, "noverlap": 4, "nfft": 31},
    {"nperseg": 16, "window": "hamming", "scaling": "spectrum"},
    {"nperseg": 16, "average": "median", "detrend": "linear", "window": "bartlett"},
    {"nperseg": 16, "return_onesided": False, "fs": 10.0},
    {"nperseg": 20, "window": np.hanning(20), "detrend": False},
    {"nperseg": 8, "window": "blackman", "detrend": lambda x: x - x[..., :1]},
    {"nperseg": 2, "window": "boxcar", "axis": 0},
]


@pytest.mark.sampled(keep=0.25)
@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
def test_spectra_are_scipys(options):
    for name, args in (("welch", (X,)), ("csd", (X, Y)), ("welch", (X.astype("f"),))):
        assert_scipys(name, args, options, compiled=name == "csd")
    shorter = Y[:, :70] if "axis" not in options else Y
    assert_scipys("csd", (X, shorter), options)
    assert_scipys("welch", (X + 1j * Y,), {**options, "return_onesided": False})
    short = {key: value for key, value in options.items() if key not in ("scaling", "average")}
    for boundary, padded in itertools.product(("zeros", "even", "constant", None), (True, False)):
        assert_scipys("stft", (X,), {**short, "boundary": boundary, "padded": padded})
    assert_scipys("stft", (X,), short, compiled=True)


@pytest.mark.parametrize(
    "options", [{"nperseg": 16}, {"nperseg": 15, "noverlap": 4, "nfft": 31}, {"nperseg": 9, "fs": 4.0}]
)
def test_a_signal_comes_back_from_its_spectra(options):
    z = scipys.stft(X, **options)[2]
    times, got = signal.istft(z, **options)
    np.testing.assert_allclose(got, scipys.istft(z, **options)[1], atol=1e-12)
    np.testing.assert_allclose(times, np.arange(got.shape[1]) / options.get("fs", 1.0))
    np.testing.assert_allclose(calque.jit(lambda z: signal.istft(z, **options)[1])(z)[:, :100], X, atol=1e-12)
    both = scipys.stft(X + 1j * Y, **options, return_onesided=False)[2]
    got = signal.istft(both, **options, input_onesided=False)[1]
    np.testing.assert_allclose(got[:, :100], X + 1j * Y, atol=1e-12)


def test_trends_are_scipys():
    for options in ({}, {"type": "constant"}, {"bp": [20, 50]}, {"axis": 0}):
        assert_scipys("detrend", (X,), options, compiled=True)
        assert_scipys("detrend", (X + 1j * Y,), options)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: signal.convolve(X, Y, "middle"), r"mode is 'middle'\. Use 'full', 'same' or 'valid'\."),
        (lambda: signal.convolve(X, Y, method="slow"), r"method is 'slow'\. Use 'auto', 'direct' or 'fft'\."),
        (lambda: signal.convolve(X, Y[0]), r"their ranks differ\. Give as many axes\."),
        (lambda: signal.convolve(X[0], []), r"an array is empty\. Give elements\."),
        (lambda: signal.convolve(X[:, :5], Y[:2], "valid"), r"neither contains the other\. Use 'same' or 'full'"),
        (lambda: signal.convolve2d(X[0], Y[0]), r"they are no matrices\. Use convolve\."),
        (lambda: signal.convolve2d(X, Y, boundary="far"), r"boundary is 'far'\. Use 'fill', 'wrap' or 'symm'\."),
        (lambda: signal.detrend(X, type="curve"), r"type is 'curve'\. Use 'linear' or 'constant'\."),
        (
            lambda: signal.detrend(X, bp=[200]),
            r"bp is \[200\], and there are 100 elements\. Give positions from 0",
        ),
        (lambda: signal.welch(X, nperseg=8, noverlap=8), r"nperseg is 8, noverlap 8 and nfft 8\. Let 0 <= noverlap <"),
        (
            lambda: signal.welch(X, window=("tukey", 0.5)),
            r"window is \('tukey', 0\.5\)\. Use 'hann', .*elements\.",
        ),
        (
            lambda: signal.welch(X, scaling="loud"),
            r"scaling is 'loud' and average 'mean'\. Use 'density' or",
        ),
        (lambda: signal.stft(X, boundary="odd"), r"boundary is 'odd'\. Use 'zeros', 'even', 'constant' or None\."),
        (lambda: signal.istft(X, time_axis=-2), r"freq_axis and time_axis are both -2\. Give two axes\."),
    ],
)
def test_wrong_options_of_signals_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_window_of_another_length_is_refused():
    with pytest.raises(ShapeError, match=r"the window is float64\[3\]\. Give a vector of 8 elements\."):
        signal.welch(X, window=np.ones(3), nperseg=8)
