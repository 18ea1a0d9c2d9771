"""Functions by scipy's names, by the equations that they solve; scipy itself is beside them in the laws."""

import math

import numpy as np
import pytest

from calque_core import ShapeError, eval_jaxpr, make_jaxpr
from calque_numpy.scipy import linalg

pytestmark = pytest.mark.sampled(keep=0.3)

DTYPES = ["float32", "float64", "complex64", "complex128"]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, shape)
    return (values + 1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def regular(shape, dtype):
    return random(shape, dtype) + 3 * np.eye(shape[-1], dtype=dtype)[::-1]


def definite(shape, dtype):
    x = random(shape, dtype)
    return x @ x.conj().mT + np.eye(shape[-1], dtype=dtype)


def close(x, y, ulps=200):
    dtype = np.asarray(y).dtype
    np.testing.assert_allclose(x, y, atol=ulps * np.finfo(dtype).eps if dtype.kind in "fc" else 0)


def also_traced(fun, *args):
    """Return the results of a function, which must be the same when it is traced."""
    outs = fun(*args)
    jaxpr = make_jaxpr(fun)(*args)
    for x, y in zip(eval_jaxpr(jaxpr, jaxpr.consts, *args), outs if isinstance(outs, tuple) else (outs,), strict=True):
        assert (np.shape(x), np.asarray(x).dtype) == (np.shape(y), np.asarray(y).dtype)
        close(x, y)
    return outs


SHAPES = [((3, 3), (3,)), ((3, 3), (4, 3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 1)), ((0, 0), (0,)), ((1, 1), (1, 2))]


def op(a, trans):
    return [a, a.mT, a.conj().mT][trans]


def columns(x, b):
    return x[..., None] if b.ndim == 1 else x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("a_shape", "b_shape"), SHAPES)
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_solutions_by_factors_solve_the_system(a_shape, b_shape, trans, dtype):
    a, b = regular(a_shape, dtype), random(b_shape, dtype, 1)
    x = also_traced(lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans), a, b)
    close(op(a, trans) @ columns(x, b), np.broadcast_to(columns(b, b), columns(x, b).shape))
    for lower in (False, True):
        x = also_traced(lambda a, b, low=lower: linalg.solve_triangular(a, b, trans, low), a + a.mT, b)
        triangle = np.tril(a + a.mT) if lower else np.triu(a + a.mT)
        if np.abs(np.diagonal(triangle, axis1=-2, axis2=-1)).min(initial=1) > 0.3:
            close(op(triangle, trans) @ columns(x, b), np.broadcast_to(columns(b, b), columns(x, b).shape), 5000)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("a_shape", "b_shape"), SHAPES)
def test_solutions_by_cholesky_solve_the_system(a_shape, b_shape, dtype, lower):
    a, b = definite(a_shape, dtype), random(b_shape, dtype, 1)
    for x in (
        also_traced(lambda a, b: linalg.cho_solve(linalg.cho_factor(a, lower), b), a, b),
        linalg.solve(a, b, lower, assume_a="pos"),
        linalg.solve(a, b, assume_a="her"),
    ):
        close(a @ columns(x, b), np.broadcast_to(columns(b, b), columns(x, b).shape))
    factor = linalg.cholesky(a, lower)
    close(factor @ factor.conj().mT if lower else factor.conj().mT @ factor, a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 3), (1, 1), (0, 0)])
def test_the_factors_of_elimination_give_the_matrix_back(shape, dtype):
    a = random(shape, dtype)
    p, lower, upper = also_traced(linalg.lu, a)
    close(p @ lower @ upper, a)
    assert p.dtype == np.asarray(a).real.dtype
    product = also_traced(lambda a: linalg.lu(a, permute_l=True), a)
    close(product[0] @ product[1], a)
    q, r, order = also_traced(lambda a: linalg.qr(a, mode="economic", pivoting=True), a)
    close(q @ r, np.take_along_axis(a, order[..., None, :], -1))
    assert linalg.qr(a)[0].shape[-1] == shape[-2]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
def test_the_exponential_of_a_skew_matrix_is_a_rotation_of_the_angle(size, dtype):
    angles = size * np.array([1.0, 2.0, -0.5])
    a = angles[:, None, None] * np.array([[0.0, -1.0], [1.0, 0.0]])
    out = also_traced(linalg.expm, a.astype(dtype))
    cosines, sines = np.cos(angles), np.sin(angles)
    close(out, np.array([[cosines, -sines], [sines, cosines]]).transpose(2, 0, 1).astype(dtype), 2000)


def test_the_exponential_of_a_triangle_and_of_a_nilpotent_matrix():
    a = np.triu(np.ones((4, 4)), 1)
    powers = [np.linalg.matrix_power(a, k) / math.factorial(k) for k in range(4)]
    close(linalg.expm(a), sum(powers))
    close(linalg.expm(a + np.eye(4), upper_triangular=True), math.e * sum(powers))
    assert linalg.expm(np.zeros((0, 0))).shape == (0, 0)


def test_the_exponential_that_needs_more_squarings_than_allowed_is_nan():
    assert np.isnan(linalg.expm(np.array([[50.0]]), max_squarings=1)).all()
    close(linalg.expm(np.stack([np.zeros((1, 1)), np.ones((1, 1))]), max_squarings=0)[:, 0, 0], [1.0, math.e])


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda x: linalg.solve(x, x, assume_a="banded"), ValueError, "assume_a is 'banded'. Use 'gen'"),
        (lambda x: linalg.solve_triangular(x, x, "H"), ValueError, "trans is 'H'. Use 0 for the matrix"),
        (lambda x: linalg.lu_solve((x, np.zeros(2, int)), x), ShapeError, r"lu_solve of float64\[2,3\].*no square"),
        (lambda x: linalg.qr(x, mode="complete"), ValueError, "mode is 'complete'. Use 'full'"),
        (linalg.expm, ShapeError, r"expm of float64\[2,3\] at .*no square matrix"),
    ],
)
def test_operands_that_do_not_fit_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        make_jaxpr(call)(np.ones((2, 3)))


@pytest.mark.parametrize("name", ["cho", "lu"])
def test_a_factor_that_is_no_pair_is_refused_with_words(name):
    with pytest.raises(TypeError, match=rf"^{name}_solve at .* is array\(.*Give the pair that {name}_factor returns"):
        getattr(linalg, f"{name}_solve")(np.eye(3), np.ones(3))


def test_what_is_no_function_of_eigenvalues_is_refused_with_words():
    with pytest.raises(TypeError, match=r"^funm got None of type NoneType at .*Give a function"):
        linalg.funm(np.eye(2), None)
    with pytest.raises(
        TypeError, match=r"^funm of <lambda> .* takes 0 positional arguments but 1 was given. Call it as"
    ):
        linalg.funm(np.eye(2), lambda: 1.0)
    with pytest.raises(ShapeError, match=r"^funm of len at .* it returned complex128\[\]\. Return one number for each"):
        linalg.funm(np.eye(2), len)
