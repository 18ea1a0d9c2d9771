"""Convolutions, covariances and windows are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import TracerIntegerConversionError, make_jaxpr
from calque_core.config import disable_jit

WINDOWS = ["bartlett", "blackman", "hamming", "hanning"]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_are_numpys(mode, dtype, agree, numbers):
    for n, m in ((5, 3), (3, 5), (4, 4), (6, 2), (2, 6), (1, 3)):
        x, y = numbers((n,), dtype), numbers((m,), dtype, 1)
        agree(lambda m, x, y: [m.convolve(x, y, mode), m.correlate(x, y, mode)], x, y, ulps=64)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
def test_covariances_are_numpys(dtype, agree):
    x = np.random.default_rng(0).uniform(1, 9, (3, 6)).astype(dtype)
    y = x[::-1] ** 2 + np.arange(6).astype(dtype)
    agree(
        lambda m, x, y: [m.cov(x), m.cov(x, y, bias=True), m.cov(x.T, rowvar=False), m.cov(x, ddof=2)], x, y, ulps=256
    )
    agree(lambda m, x, y: [m.cov(x[0]), m.cov(x[0], y[1]), m.corrcoef(x + 0), m.corrcoef(x[0], y[2])], x, y, ulps=256)
    n, w = np.array([1, 2, 1, 3, 1, 1]), np.linspace(0.5, 2, 6)
    agree(lambda m, x: [m.cov(x, fweights=n), m.cov(x, aweights=w), m.cov(x, fweights=n, aweights=w)], x, ulps=256)


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("points", [0, 1, 2, 5, 8])
def test_windows_are_numpys(name, points):
    with disable_jit():
        np.testing.assert_array_equal(getattr(cnp, name)(points), getattr(np, name)(points))


@pytest.mark.parametrize("points", [0, 1, 2, 5, 8])
def test_windows_of_kaiser_are_numpys(points):
    for beta in (0.0, 2.5, 14.0):
        with disable_jit():
            got = cnp.kaiser(points, beta)
        np.testing.assert_allclose(got, np.kaiser(points, beta), rtol=1e-13)


def test_wrong_arguments_are_refused():
    x = np.ones(3)
    with disable_jit():
        with pytest.raises(TypeError, match=r"convolve of float64\[1,3\] and float64\[3\].*Give vectors"):
            cnp.convolve(x[None], x)
        with pytest.raises(ValueError, match=r"correlate of float64\[3\] and float64\[0\].*a vector is empty"):
            cnp.correlate(x, x[:0])
        with pytest.raises(ValueError, match=r"convolve.*the mode is 'whole'. Use 'full', 'same' or 'valid'"):
            cnp.convolve(x, x, "whole")
        with pytest.raises(
            ValueError, match=r"cov of float64\[1,3\].*the weights are float64\[2\]. Give one for each column"
        ):
            cnp.cov(x, aweights=x[:2])
        with pytest.raises(ValueError, match=r"cov of float64\[1,1,3\].*there are 3 axes. Give at most two"):
            cnp.cov(x[None, None])


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning", "kaiser"])
def test_the_size_of_a_window_is_known(name):
    function, beta = getattr(cnp, name), (1.5,) * (name == "kaiser")
    np.testing.assert_allclose(function(np.int64(4), *beta), getattr(np, name)(4, *beta), rtol=1e-12)
    with pytest.raises(TracerIntegerConversionError, match=r"an integer was asked.*the argument M"):
        make_jaxpr(function)(3, *beta)
    with pytest.raises(TypeError, match=rf"{name} at test_signals.*M is array\(\[1., 1.\]\). Give an integer"):
        function(np.ones(2), *beta)
