"""The deviation of one number is 0 whatever the number is, and so is its slope; elsewhere differences agree."""

from __future__ import annotations

import numpy as np
import pytest

import calque.numpy as cnp
from calque import grad, jit

ONE_NUMBER = {
    "std": (cnp.std, [2.0]),
    "nanstd": (cnp.nanstd, [2.0]),
    "nanstd beside a NaN": (cnp.nanstd, [2.0, np.nan]),
    "std of a choice": (lambda x: cnp.std(x, where=np.array([False, True, False])), [1.0, 2.0, 4.0]),
    "nanstd of a choice": (lambda x: cnp.nanstd(x, where=np.array([True, True, False])), [np.nan, 2.0, 4.0]),
    "nanstd of rows": (lambda x: cnp.sum(cnp.nanstd(cnp.reshape(x, (2, 2)), axis=1)), [2.0, np.nan, np.nan, 3.0]),
    "nanstd of rows, axes kept": (
        lambda x: cnp.sum(cnp.nanstd(cnp.reshape(x, (2, 2)), axis=1, keepdims=True)),
        [2.0, np.nan, np.nan, 3.0],
    ),
}
SEVERAL = {
    "nanstd": (cnp.nanstd, [1.0, np.nan, 3.0, 4.5]),
    "nanstd of rows": (lambda x: cnp.sum(cnp.nanstd(cnp.reshape(x, (2, 2)), axis=1)), [2.0, 5.0, np.nan, 3.0]),
    "std of a choice": (lambda x: cnp.std(x, where=np.array([True, True, False])), [1.0, 2.0, 4.0]),
    "nanstd with ddof": (lambda x: cnp.nanstd(x, ddof=1), [1.0, np.nan, 3.0, 4.5]),
    "nanstd around a known mean": (lambda x: cnp.nanstd(x, mean=np.array([0.5])), [2.0, np.nan]),
}


@pytest.mark.parametrize("call", [lambda f: f, jit], ids=["evaluated", "compiled"])
@pytest.mark.parametrize("name", ONE_NUMBER)
def test_the_deviation_of_one_number_has_the_slope_0(name, call):
    function, x = ONE_NUMBER[name]
    assert call(function)(np.array(x)) == 0
    np.testing.assert_array_equal(call(grad(function))(np.array(x)), np.zeros(len(x)))


@pytest.mark.parametrize("call", [lambda f: f, jit], ids=["evaluated", "compiled"])
@pytest.mark.parametrize("name", SEVERAL)
def test_the_slopes_of_deviations_are_differences(name, call):
    function, x = SEVERAL[name]
    x, step = np.array(x), 1e-6
    steps = step * np.eye(len(x))
    want = [float(function(x + d) - function(x - d)) / (2 * step) for d in steps]
    np.testing.assert_allclose(call(grad(function))(x), np.nan_to_num(want), rtol=1e-7, atol=1e-8)
