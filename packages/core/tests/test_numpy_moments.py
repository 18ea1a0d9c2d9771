"""Means, variances and deviations on traced arrays: the cases that need a rule of their own."""

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
