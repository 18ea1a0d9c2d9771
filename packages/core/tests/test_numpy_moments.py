"""Means, variances and deviations on traced arrays: the cases that need a rule of their own."""

import warnings

import numpy as np
import pytest

from calque_core import jaxpr_as_fun, make_jaxpr


@pytest.mark.parametrize(
    ("shape", "axis"), [((1,), None), ((), None), ((1, 2), 0), ((2, 1, 3), (1,)), ((1, 1), (0, 1))]
)
def test_the_deviation_of_one_element_is_its_variance_and_so_has_a_derivative(shape, axis):
    x = np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape)
    program = make_jaxpr(lambda x: np.std(x, axis=axis))(x)
    assert "sqrt" not in str(program)
    np.testing.assert_array_equal(jaxpr_as_fun(program)(x)[0], np.std(x, axis=axis))


def test_the_deviation_of_several_elements_is_a_root():
    assert "sqrt" in str(make_jaxpr(lambda x: np.std(x, axis=0))(np.ones((2, 1))))
    assert "sqrt" in str(make_jaxpr(lambda x: np.std(x, axis=0, mean=np.zeros((1, 2))))(np.ones((1, 2))))
    assert "sqrt" in str(make_jaxpr(lambda x: np.std(x, axis=0, where=x > 0))(np.ones((1, 2))))


@pytest.mark.parametrize("ddof", [3, 4, 3.5])
@pytest.mark.parametrize("name", ["var", "std"])
def test_without_degrees_of_freedom_a_deviation_is_infinite_or_nan_as_numpys(name, ddof):
    for x in (np.array([1.0, 2.0, 4.0]), np.ones(3, np.float32), np.ones((0, 2)), np.array([1j, 2, 3], np.complex64)):
        fun = lambda x: getattr(np, name)(x, axis=0, ddof=ddof)
        (got,) = jaxpr_as_fun(make_jaxpr(fun)(x))(x)
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # NumPy's
            np.testing.assert_array_equal(got, fun(x))
        assert got.dtype == x.real.dtype
