"""Diagonals and triangles are NumPy's: of wide and tall matrices, far from the main diagonal, and of many at once."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import count_eqns, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

OFFSETS = [-5, -2, -1, 0, 1, 3, 6]


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (4, 2), (1, 1), (0, 3), (3, 0), (2, 3, 4)], ids=str)
def test_a_diagonal_is_numpys(shape, offset, agree, numbers):
    def diagonals(m, x):
        pairs = [(0, 1), (1, 0), (-1, 0)] if x.ndim > 2 else [(0, 1), (1, 0)]
        return [m.diagonal(x, offset, *pair) for pair in pairs] + [m.trace(x, offset, *pair) for pair in pairs]

    agree(diagonals, numbers(shape))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float16", "complex64"])
def test_a_trace_has_numpys_dtype(dtype, agree, numbers):
    agree(lambda m, x: [m.trace(x), m.trace(x, dtype=np.complex128)], numbers((3, 3), dtype))


@pytest.mark.parametrize("k", OFFSETS)
@pytest.mark.parametrize("shape", [(3,), (1,), (0,), (3, 3), (2, 4)], ids=str)
def test_diag_is_numpys(shape, k, agree, numbers):
    agree(lambda m, x: [m.diag(x, k), m.diagflat(x, k)], numbers(shape, "float32"))


def test_a_diagonal_keeps_the_sign_of_zero():
    x = np.array([[-0.0, 1.0], [2.0, -0.0]])
    assert np.signbit(cnp.diagonal(x)).all()
    assert np.signbit(np.diagonal(cnp.diag(x[0, :1]))).all()


def test_a_diagonal_is_one_slice():
    assert count_eqns(make_jaxpr(np.diagonal)(np.ones((3, 4)))) == 2


@pytest.mark.parametrize("k", OFFSETS)
@pytest.mark.parametrize("shape", [(3,), (3, 3), (2, 4), (4, 2), (2, 3, 4), (0, 2)], ids=str)
def test_a_triangle_is_numpys(shape, k, agree, numbers):
    agree(lambda m, x: [m.tril(x, k), m.triu(x, k)], numbers(shape))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex128"])
def test_a_triangle_keeps_the_dtype(dtype, agree, numbers):
    agree(lambda m, x: [m.tril(x), m.triu(x), m.diag(x), m.diag(x[0])], numbers((3, 3), dtype))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: np.diagonal(x[0]), ValueError, "diagonal of float64[3]"),
        (lambda x: np.diagonal(x, 0, 1, -1), ValueError, "axis1 and axis2 are both 1. Give two different axes."),
        (lambda x: np.diagonal(x, 0, 0, 2), ValueError, "axis 2 is out of range for ndim 2"),
        (lambda x: np.diagonal(x, 0.5), TypeError, "offset is 0.5. Give an integer."),
        (lambda x: np.diag(x[None]), ValueError, "diag of float64[1,2,3]"),
        (lambda x: np.tril(x[0, 0]), ValueError, "tril of float64[]"),
        (lambda x: np.triu(x, 1.5), TypeError, "k is 1.5. Give an integer."),
        (lambda x: np.trace(x, out=np.ones(())), TypeError, "out= is not supported"),
    ],
)
def test_an_array_without_a_diagonal_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((2, 3)))
    assert words in str(caught.value)
