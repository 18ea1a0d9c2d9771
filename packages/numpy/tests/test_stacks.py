"""Products and diagonals of stacks of matrices and vectors are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.3)

DTYPES = ["int8", "float32", "float64", "complex128"]


@pytest.mark.parametrize("dtype", ["bool", *DTYPES])
def test_diagonals_traces_and_transposes_are_of_the_last_two_axes(dtype, agree, numbers):
    x = numbers((2, 3, 4), dtype)
    for offset in (-1, 0, 2):
        agree(lambda m, a, k=offset: m.linalg.diagonal(a, offset=k), x)
        agree(lambda m, a, k=offset: m.linalg.trace(a, offset=k), x)
    agree(lambda m, a: m.linalg.trace(a, dtype=np.float32), x.real)
    agree(lambda m, a: m.linalg.matrix_transpose(a), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_vectors_are_numpys(dtype, agree, numbers):
    x, y = numbers((2, 3), dtype), numbers((3,), dtype, seed=1)
    agree(lambda m, a, b: m.linalg.outer(a[0], b), x, y)
    agree(lambda m, a, b: m.linalg.cross(a, b), x, y)
    agree(lambda m, a, b: m.linalg.cross(a.T, b[:, None] + a.T, axis=0), x, y)
    agree(lambda m, a, b: m.linalg.vecdot(a, b), x, y)
    agree(lambda m, a, b: m.linalg.vecdot(a.T, b[:, None], axis=0), x, y)


def test_products_of_bools_are_numpys(agree):
    agree(lambda m, a: m.linalg.vecdot(a, a[::-1]), np.array([[True, False], [False, True]]))


def test_products_of_matrices_are_those_of_the_main_namespace(agree, numbers):
    x, y = numbers((2, 3, 4)), numbers((4, 2), seed=1)
    agree(lambda m, a, b: m.linalg.matmul(a, b), x, y)
    agree(lambda m, a, b: m.linalg.tensordot(a, b, axes=1), x, y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: cnp.linalg.outer(x, x), "outer of float64[2,4] and float64[2,4] at "),
        (lambda x: cnp.linalg.cross(x, x), "the vectors have the length 4. Give vectors of length 3."),
        (lambda x: cnp.linalg.vecdot(x, x[:, :3]), "the vectors have the lengths 4 and 3. Give vectors of one"),
        (lambda x: cnp.linalg.vecdot(x, x[[0, 0, 0]]), "mul of float64[2,4] and float64[3,4]"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(call, words):
    with pytest.raises(ShapeError) as caught:
        make_jaxpr(call)(np.ones((2, 4)))
    assert words in str(caught.value)
