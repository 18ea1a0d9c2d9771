"""Pseudo-inverses, least squares and ranks are NumPy's."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, eval_jaxpr, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.3)

SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1)]


def random(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-2, 2, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-2, 2, shape)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_pseudo_inverses_are_numpys(shape, dtype, agree):
    x = random(shape, dtype)
    agree(lambda m, a: m.linalg.pinv(a), x, ulps=256)
    agree(lambda m, a: m.linalg.pinv(a, 0.5), x, ulps=256)
    agree(lambda m, a: m.linalg.pinv(a, rtol=None), x, ulps=256)


def test_limits_may_differ_between_matrices_and_a_triangle_may_stand_for_a_matrix(agree):
    agree(lambda m, a: m.linalg.pinv(a, np.array([0.5, 1e-6])), random((2, 3, 3)), ulps=256)
    agree(lambda m, a: m.linalg.pinv(a, hermitian=True), random((3, 3), "complex128"), ulps=256)
    agree(lambda m, a: m.linalg.pinv(a, hermitian=True), np.array([[3, 9], [1, 2]]), ulps=256)


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex64", "float64"])
@pytest.mark.parametrize(("a_shape", "b_shape"), [((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,)), ((3, 3), (3, 1))])
def test_least_squares_are_numpys(a_shape, b_shape, dtype, agree):
    a, b = random(a_shape, dtype) + np.eye(*a_shape, dtype=dtype), random(b_shape, seed=1)
    for limit in (None, -1, 1e-3):
        agree(lambda m, x, y, r=limit: m.linalg.lstsq(x, y, r), a, b, ulps=2048)


def test_a_matrix_of_lower_rank_has_the_shortest_solution_and_residuals_only_if_traced():
    a, b = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), np.array([1.0, 0.0, 2.0])
    x, residuals, rank, values = np.linalg.lstsq(a, b)
    jaxpr = make_jaxpr(np.linalg.lstsq)(a, b)
    mine = eval_jaxpr(jaxpr, jaxpr.consts, a, b)
    np.testing.assert_allclose(mine[0], x, rtol=1e-12)
    np.testing.assert_allclose(mine[1], [np.sum((b - a @ x) ** 2)], rtol=1e-12)
    assert (residuals.shape, mine[2], rank) == ((0,), 1, 1)
    np.testing.assert_allclose(mine[3], values, atol=1e-12)


OF_2_4 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="NumPy before 2.4 has no rank of a matrix without elements"
)


@pytest.mark.parametrize("shape", [*SHAPES, pytest.param((0, 3), marks=OF_2_4), (3,), ()])
def test_ranks_are_numpys(shape):
    x = random(shape)
    for options in ({}, {"tol": 1.0}, {"rtol": 0.5}):
        for a in (x, 0 * x):
            jaxpr = make_jaxpr(lambda a, o=options: np.linalg.matrix_rank(a, **o))(a)
            (rank,) = eval_jaxpr(jaxpr, jaxpr.consts, a)
            np.testing.assert_array_equal(rank, np.linalg.matrix_rank(a, **options))
    assert jaxpr.out_avals[0].dtype == np.int64


def test_a_matrix_without_elements_has_rank_zero():
    jaxpr = make_jaxpr(np.linalg.matrix_rank)(np.zeros((0, 3)))
    assert eval_jaxpr(jaxpr, jaxpr.consts, np.zeros((0, 3))) == [0]


def test_ranks_of_hermitian_matrices_read_one_triangle(agree):
    agree(lambda m, a: m.linalg.matrix_rank(a, hermitian=True), np.array([[[1.0, 9.0], [1.0, 1.0]], np.eye(2)]))
    agree(lambda m, a: m.linalg.matrix_rank(a, np.array([0.5, 2.0])), np.array([np.eye(2), np.eye(2)]))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x: cnp.linalg.pinv(x, 0.1, rtol=0.1),
            ValueError,
            "rcond and rtol are the same limit. Give one of them.",
        ),
        (lambda x: cnp.linalg.matrix_rank(x, 0.1, rtol=0.1), ValueError, "tol and rtol are two limits."),
        (lambda x: cnp.linalg.lstsq(x, x[0]), ShapeError, "lstsq of float64[2,3] and float64[3] at "),
        (lambda x: cnp.linalg.lstsq(x[None], x), ShapeError, "Give one matrix, and a vector or a matrix"),
    ],
)
def test_wrong_arguments_are_refused(call, error, words):
    with pytest.raises(error) as caught:
        make_jaxpr(call)(np.ones((2, 3)))
    assert words in str(caught.value)
