"""Condition numbers are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, make_jaxpr


@pytest.mark.parametrize("p", [None, 2, -2, 1, np.inf, "fro", "nuc"])
def test_condition_numbers_are_numpys(p, agree):
    x = np.array([[[3.0, 1.0], [0.5, 2.0]], [[1.0, 2.0], [-3.0, 0.25]]])
    agree(lambda m, a: m.linalg.cond(a, p), x, ulps=256)
    z = x[0].astype(np.complex64)
    agree(lambda m, a: m.real(m.linalg.cond(a, p)), z, ulps=256)
    assert make_jaxpr(lambda a: cnp.linalg.cond(a, p))(z).out_avals[0].dtype == np.float32


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.3.0",
    reason="NumPy before 2.3 gives the numbers a complex dtype",
)
@pytest.mark.parametrize("p", [None, 2, -2, 1, np.inf, "fro", "nuc"])
def test_condition_numbers_of_complex_matrices_are_real(p, agree):
    agree(lambda m, a: m.linalg.cond(a, p), np.array([[3, 1], [0.5, 2]], np.complex64), ulps=256)


def test_a_singular_matrix_has_an_infinite_condition_number_and_a_wide_one_a_number(agree):
    agree(lambda m, a: m.linalg.cond(a), np.zeros((2, 2)))
    agree(lambda m, a: m.linalg.cond(a), np.diag([1.0, 0.0]))
    agree(lambda m, a: m.linalg.cond(a), np.array([[3, 1, 2], [5, 2, 7]]), ulps=256)


@pytest.mark.parametrize("p", [1, -1, np.inf, -np.inf, "fro"])
def test_a_singular_matrix_in_a_stack_has_an_infinite_number_of_each_norm(p, agree):
    agree(lambda m, a: m.linalg.cond(a, p), np.array([[[1, 2], [2, 4]], [[3, 1], [1, 2]], [[0, 0], [0, 0]]]), ulps=256)


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0)])
def test_a_matrix_without_elements_has_no_condition_number(shape):
    for call in (cnp.linalg.cond, make_jaxpr(cnp.linalg.cond)):
        with pytest.raises(np.linalg.LinAlgError, match="a matrix without elements has no condition number"):
            call(np.zeros(shape))


@pytest.mark.parametrize("p", [None, -2, 1, "fro"])
def test_no_matrices_have_no_condition_numbers(p, agree):
    agree(lambda m, a: m.linalg.cond(a, p), np.zeros((0, 3, 3)))


def test_a_matrix_that_is_not_square_has_no_condition_number_of_a_norm_of_its_inverse():
    with pytest.raises(ShapeError, match=r"cond of float64\[2,3\] at .*no square matrix.* Use p=None\."):
        make_jaxpr(lambda x: cnp.linalg.cond(x, 1))(np.ones((2, 3)))
    assert make_jaxpr(lambda x: cnp.linalg.cond(x, 1))(np.ones((2, 2), np.int8)).out_avals[0].dtype == np.float64
