"""Normal numbers are distributed as they should be, far into the tails, and are finite."""

from statistics import NormalDist

import numpy as np
import pytest

from calque_core import config
from calque_numpy import random
from calque_numpy.random.gaussian import _double_erf_inv, _single_erf_inv

KEY = random.PRNGKey(0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_shares_between_quantiles_are_right(dtype):
    x = random.normal(KEY, (100, 500), dtype)
    assert x.dtype == dtype
    for quantile in (-3, -2, -1, 0, 0.5, 2.5):
        share = NormalDist().cdf(quantile)
        assert abs(np.mean(x <= quantile) - share) < 4 * np.sqrt(share * (1 - share) / x.size) + 1e-3 * (
            dtype == "float16"
        )


@pytest.mark.parametrize(
    ("erf_inv", "dtype", "tolerance"), [(_single_erf_inv, "f4", 2e-5), (_double_erf_inv, "f8", 2e-10)]
)
def test_the_inverse_error_function_is_right_in_every_branch(erf_inv, dtype, tolerance):
    x = np.array([0.0, 1e-6, 0.3, -0.6, 0.64, -0.7, 0.9, 0.99, -0.999, 0.9991, 0.99999, -1 + 1e-7], dtype)
    want = [NormalDist().inv_cdf((1 + float(v)) / 2) / np.sqrt(2) for v in x]
    np.testing.assert_allclose(erf_inv(x), want, rtol=tolerance, atol=1e-12)


def test_the_last_number_before_one_is_finite():
    for dtype, erf_inv in ((np.float32, _single_erf_inv), (np.float64, _double_erf_inv)):
        edge = np.array([np.nextafter(dtype(-1), dtype(0)), np.nextafter(dtype(1), dtype(0))])
        assert np.isfinite(erf_inv(edge)).all()


def test_the_default_dtype_follows_the_settings():
    assert random.normal(KEY).dtype == np.float64
    with config.default_dtype_bits(32):
        assert random.normal(KEY).dtype == np.float32
        assert random.normal(KEY, (), np.float64).dtype == np.float64
    with config.enable_x64(False):
        assert random.normal(KEY, (), np.float64).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: random.normal(KEY, (2,), int),
            TypeError,
            "dtype is int64. Use bfloat16, float16, float32 or float64.",
        ),
        (
            lambda: random.normal(KEY, (2,), np.int32),
            TypeError,
            "dtype is int32. Use bfloat16, float16, float32 or float64.",
        ),
        (lambda: random.normal(KEY, 3), TypeError, "shape is 3. Give a sequence of integers."),
        (lambda: random.normal(KEY, (-1,)), ValueError, "the shape (-1,) has a negative size"),
    ],
)
def test_wrong_parameters_of_a_distribution_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith("normal at test_random_gaussian.py:")
    assert words in str(caught.value)
