"""Lengths of vectors and matrices are NumPy's, for every order."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import eval_jaxpr, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

VECTOR_ORDERS = [None, 2, 1, 0, 3, -1, 0.5, np.inf, -np.inf]
REFUSES_ZEROS = np.lib.NumpyVersion(np.__version__) < "2.3.0"  # whether NumPy has no largest element of no elements
MATRIX_ORDERS = [None, "fro", 1, -1, np.inf, -np.inf, "nuc", 2, -2]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("ord", VECTOR_ORDERS, ids=str)
def test_the_length_of_vectors_is_numpys(ord, keepdims, dtype, agree):
    x = np.array([[1, -2, 2], [3, 5, -4]], dtype)
    agree(lambda m, a: m.linalg.norm(a[0], ord, keepdims=keepdims), x, ulps=8)
    agree(lambda m, a: m.linalg.norm(a, ord, axis=0, keepdims=keepdims), x, ulps=8)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("ord", MATRIX_ORDERS, ids=str)
def test_the_length_of_matrices_is_numpys(ord, keepdims, agree, numbers):
    agree(lambda m, a: m.linalg.norm(a, ord, keepdims=keepdims), numbers((2, 3)), ulps=64)
    for axis in ((0, 1), (2, 0), (-1, 1)):
        agree(lambda m, a, d=axis: m.linalg.norm(a, ord, d, keepdims), numbers((2, 3, 4)), ulps=64)


def test_without_order_and_axis_all_elements_count(agree, numbers):
    agree(lambda m, a: [m.linalg.norm(a), m.linalg.norm(a, keepdims=True)], numbers((2, 3, 4)), ulps=8)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: np.linalg.norm(x[0], "nuc"), ValueError, "ord is 'nuc', which is no norm of vectors."),
        (
            lambda x: np.linalg.norm(x, 3),
            ValueError,
            "ord is 3, which is no norm of matrices. Use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.",
        ),
        (lambda x: np.linalg.norm(x[0], "fro"), ValueError, "ord is 'fro', which is no norm of vectors."),
        (lambda x: np.linalg.norm(x, axis=(0, 0)), ValueError, "norm of float64[2,3]"),
        (lambda x: np.linalg.norm(x[None], 1), ValueError, "along (0, 1, 2). Give one axis, or two different axes."),
        (lambda x: cnp.linalg.norm(x, axis=2), ValueError, "axis 2 is out of range for ndim 2"),
    ],
)
def test_a_norm_that_does_not_exist_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((2, 3)))
    assert words in str(caught.value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint64"])
@pytest.mark.parametrize("ord", [None, 1, 2, 3, np.inf, 0])
def test_the_length_of_integers_is_computed_in_doubles(agree, ord, dtype):
    x = np.full(24, 100).astype(dtype)
    agree(lambda m, x: m.linalg.norm(x, ord), x)
    agree(lambda m, x: m.linalg.norm(x), x.reshape(4, 6))


@pytest.mark.parametrize("keepdims", [False, True])
def test_the_names_of_the_array_api_take_vectors_along_axes_and_the_last_two_axes(keepdims, agree, numbers):
    x = numbers((2, 3, 4))
    for axis in (None, 1, (0, 2)):
        agree(lambda m, a, d=axis: m.linalg.vector_norm(a, axis=d, ord=3, keepdims=keepdims), x, ulps=8)
    agree(lambda m, a: m.linalg.vector_norm(a), numbers((2, 3), "int8"), ulps=8)
    for ord in ("fro", "nuc", 1, 2):
        agree(lambda m, a, o=ord: m.linalg.matrix_norm(a, ord=o, keepdims=keepdims), x, ulps=64)


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0)])
@pytest.mark.parametrize("ord", MATRIX_ORDERS, ids=str)
def test_norms_of_no_elements_are_numpys(ord, shape, agree):
    x = np.zeros(shape)
    try:
        np.linalg.norm(x, ord)
    except ValueError:
        if REFUSES_ZEROS and ord in (1, np.inf, 2):
            return  # the next test has the answers
        with pytest.raises(ValueError, match="there is no element"):
            make_jaxpr(lambda a: cnp.linalg.norm(a, ord))(x)
    else:
        agree(lambda m, a: m.linalg.norm(a, ord), x)


@pytest.mark.parametrize(("ord", "shape"), [(1, (0, 0)), (1, (2, 0)), (np.inf, (0, 2)), (2, (2, 0)), (np.inf, (0,))])
def test_the_largest_of_no_sums_is_zero(ord, shape, agree):
    jaxpr = make_jaxpr(lambda a: cnp.linalg.norm(a, ord))(np.zeros(shape))
    assert eval_jaxpr(jaxpr, jaxpr.consts, np.zeros(shape)) == [0.0]
    if not REFUSES_ZEROS:
        agree(lambda m, a: m.linalg.norm(a, ord), np.zeros(shape))
