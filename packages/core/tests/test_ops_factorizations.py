"""Factorisations, by the products of their factors, and beside NumPy's where it has them."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import config
from calque_core.errors import ShapeError
from calque_core.jaxprs.interpret import eval_jaxpr
from calque_core.lax import linalg
from calque_core.staging.make_jaxpr import make_jaxpr

DTYPES = ["float32", "float64", "complex64", "complex128"]
BATCHES = [(), (2,), (2, 1), (0,)]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    return values.astype(dtype)


def definite(shape, dtype):
    x = random(shape, dtype)
    return x @ x.conj().mT + np.eye(shape[-1], dtype=dtype)


def close(x, y):
    np.testing.assert_allclose(x, y, atol=100 * np.finfo(np.asarray(y).dtype).eps)


def check_staged(fun, *args):
    """Check that the type rule tells the types of the results, and that the program gives the results."""
    outs = fun(*args)
    outs = outs if isinstance(outs, tuple) else (outs,)
    jaxpr = make_jaxpr(fun)(*args)
    assert [(a.shape, a.dtype) for a in jaxpr.out_avals] == [(x.shape, x.dtype) for x in outs]
    for x, y in zip(eval_jaxpr(jaxpr, jaxpr.consts, *args), outs, strict=True):
        np.testing.assert_array_equal(x, y)


# Cholesky


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_cholesky_gives_a_lower_triangle_with_the_product_x(dtype, batch, n):
    x = definite((*batch, n, n), dtype)
    factor = linalg.cholesky(x)
    assert (factor.shape, factor.dtype) == (x.shape, x.dtype)
    np.testing.assert_array_equal(factor, np.tril(factor))
    close(factor @ factor.conj().mT, x)
    check_staged(linalg.cholesky, x)


def test_cholesky_takes_the_mean_of_a_matrix_and_its_adjoint_or_its_lower_triangle():
    x = definite((3, 3), "complex128")
    other = x + 1j * np.triu(np.ones((3, 3)), 1)
    close(linalg.cholesky(x + np.triu(x, 1) - np.triu(x, 1).conj().T), linalg.cholesky(x))
    close(linalg.cholesky(other, symmetrize_input=False), linalg.cholesky(x))


def test_cholesky_of_integers_is_that_of_floats():
    assert linalg.cholesky(np.array([[4, 2], [2, 5]], np.int8)).dtype == np.float64
    with config.enable_x64(False):
        assert linalg.cholesky(np.array([[4, 2], [2, 5]])).dtype == np.float32


def test_cholesky_of_a_matrix_that_is_not_positive_definite_is_an_error_with_the_place():
    words = r"cholesky of float64\[2,2\] at test_ops_factorizations\.py:\d+ .*the matrix is not positive definite"
    with pytest.raises(np.linalg.LinAlgError, match=words):
        linalg.cholesky(-np.eye(2))


# Refusals


@pytest.mark.parametrize("name", ["cholesky"])
def test_operands_that_are_no_square_matrices_are_refused(name):
    for call in (getattr(linalg, name), make_jaxpr(getattr(linalg, name))):
        with pytest.raises(ShapeError, match=rf"{name} of float64\[2,3\] at .*the last two sizes differ"):
            call(np.ones((2, 3)))


@pytest.mark.parametrize("name", ["cholesky"])
def test_operands_that_lapack_has_no_dtype_or_no_matrix_for_are_refused(name):
    for call in (getattr(linalg, name), make_jaxpr(getattr(linalg, name))):
        with pytest.raises(ShapeError, match=rf"{name} of float64\[3\] at .*at least two axes"):
            call(np.ones(3))
        with pytest.raises(TypeError, match=rf"{name} of float16\[2,2\].*not defined for float16\. Convert"):
            call(np.eye(2, dtype=np.float16))
