"""Solutions of equations, inverses and determinants are NumPy's, and so are the classes of the results."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.3)

DTYPES = ["int8", "float32", "float64", "complex64", "complex128"]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-2, 2, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-2, 2, shape)
    return (values * (3 if np.dtype(dtype).kind == "i" else 1)).astype(dtype)


def regular(shape, dtype):
    """Return matrices far from singular ones, with exchanges of rows in elimination."""
    return random(shape, dtype) + 9 * np.eye(shape[-1], dtype=dtype)[::-1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((3, 3), (4, 3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (3, 2)),
        ((2, 3, 3), (4, 1, 3, 1)),
        ((1, 1), (1,)),
        ((0, 0), (0, 2)),
        ((3, 3), (3, 0)),
        ((0, 3, 3), (0, 3, 2)),
    ],
)
def test_solutions_are_numpys(a_shape, b_shape, dtype, agree):
    agree(lambda m, a, b: m.linalg.solve(a, b), regular(a_shape, dtype), random(b_shape, dtype, 1), ulps=512)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (0, 0), (2, 0, 0), (0, 2, 2)])
def test_inverses_and_determinants_are_numpys(shape, dtype, agree):
    a = regular(shape, dtype)
    agree(lambda m, a: m.linalg.inv(a), a, ulps=512)
    agree(lambda m, a: m.linalg.det(a), a, ulps=64)
    agree(lambda m, a: list(m.linalg.slogdet(a)), a, ulps=64)
    agree(lambda m, a: m.linalg.matrix_power(a, -3), a, ulps=1024)


def test_the_operands_of_solve_are_promoted():
    a, b = regular((2, 2), "float32"), np.ones(2, np.complex64)
    traced = make_jaxpr(cnp.linalg.solve)(a, b).out_avals
    assert [x.dtype for x in traced] == [np.linalg.solve(a, b).dtype]
    assert make_jaxpr(cnp.linalg.solve)(a, np.ones(2)).out_avals[0].dtype == np.float64


def test_solutions_of_tensor_equations_are_numpys(agree):
    a, b = random((2, 3, 6), "float64") + np.eye(6).reshape(2, 3, 6), random((2, 3), "float64", 1)
    agree(lambda m, a, b: m.linalg.tensorsolve(a, b), a, b, ulps=512)
    moved = np.moveaxis(a, 2, 0)
    agree(lambda m, a, b: m.linalg.tensorsolve(a, b, (0,)), moved, b, ulps=512)
    agree(lambda m, a: m.linalg.tensorinv(a, 2), a, ulps=512)
    agree(lambda m, a: m.linalg.tensorinv(a, 1), moved, ulps=512)


def test_the_result_of_slogdet_has_numpys_class():
    classes = []

    def note(a):
        classes.append(type(np.linalg.slogdet(a)))
        return a

    make_jaxpr(note)(np.eye(2))
    assert classes == [type(np.linalg.slogdet(np.eye(2)))]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda x: np.linalg.solve(x, x[0]), ShapeError, r"solve of float64\[2,3\] and float64\[3\].*no square matrix"),
        (lambda x: np.linalg.solve(x[:, :2], x[0]), ShapeError, "the second must have 2 rows. Give a vector"),
        (lambda x: np.linalg.solve(x[None, :, :2].repeat(2, 0), x[None].repeat(3, 0)), ShapeError, "do not broadcast"),
        (np.linalg.inv, ShapeError, r"inv of float64\[2,3\] at .*Use pinv"),
        (np.linalg.slogdet, ShapeError, r"slogdet of float64\[2,3\] at .*no square matrix"),
        (np.linalg.det, ShapeError, r"det of float64\[2,3\] at .*Give a square matrix"),
        (lambda x: np.linalg.tensorsolve(x, x), ShapeError, "its other axes must have 6 positions"),
        (
            lambda x: np.linalg.tensorinv(x, 1),
            ShapeError,
            "with ind=1: the axes before have 2 positions, the axes after 3",
        ),
        (lambda x: np.linalg.tensorinv(x, 0), ValueError, "ind is 0. Give a positive"),
        (lambda x: np.linalg.inv(x[:, :2].astype("float16")), TypeError, "not defined for float16"),
    ],
)
def test_operands_that_do_not_fit_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        make_jaxpr(call)(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("name", "other", "function"),
    [("solve", "lstsq", cnp.linalg.solve), ("inv", "pinv", lambda a, b: cnp.linalg.inv(a) @ b)],
    ids=["solve", "inv"],
)
def test_a_singular_matrix_is_an_error_with_the_place_and_a_way_out(name, other, function):
    words = rf"{name} of float64\[2,2\] at test_equations\.py:\d+ .*is singular\. .* use numpy\.linalg\.{other}\."
    with pytest.raises(np.linalg.LinAlgError, match=words):
        function(np.ones((2, 2)), np.ones(2))
