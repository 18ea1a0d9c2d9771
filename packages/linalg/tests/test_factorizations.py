"""Factorisations, by the products of their factors, and beside NumPy's where it has them."""

from __future__ import annotations

import numpy as np
import pytest

import calque_linalg as linalg
from calque_core import ShapeError, config, eval_jaxpr, make_jaxpr

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
    place = r"cholesky of float64\[2,2\] at test_factorizations\.py:\d+ .*"
    words = (
        place + r"the matrix is not positive definite, its smallest eigenvalue is -2\. Add a multiple of the identity"
    )
    with pytest.raises(np.linalg.LinAlgError, match=words):
        linalg.cholesky(np.diag([1.0, -2.0]))
    with pytest.raises(np.linalg.LinAlgError, match=place + r"the matrix has elements that are not finite\. Check"):
        linalg.cholesky(np.array([[-1.0, 0.0], [np.nan, 1.0]]), symmetrize_input=False)


# LU


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("sizes", [(3, 3), (4, 2), (2, 4), (1, 1), (0, 0), (3, 0), (0, 3), (35, 70), (70, 35)])
def test_lu_has_a_unit_lower_and_an_upper_triangle_whose_product_is_the_permuted_matrix(dtype, batch, sizes):
    x = random((*batch, *sizes), dtype)
    factors, pivots, permutation = linalg.lu(x)
    size = min(sizes)
    assert (factors.shape, pivots.shape, permutation.shape) == (x.shape, (*batch, size), (*batch, sizes[0]))
    assert (factors.dtype, pivots.dtype, permutation.dtype) == (x.dtype, np.int32, np.int32)
    lower = np.tril(factors[..., :size], -1) + np.eye(sizes[0], size, dtype=dtype)
    close(lower @ np.triu(factors[..., :size, :]), np.take_along_axis(x, permutation[..., None], -2))
    assert np.abs(lower).max(initial=1) <= np.sqrt(2) + 1e-5  # of complex numbers, |re| + |im| is at most 1
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(pivots, sizes[0]), permutation)
    check_staged(linalg.lu, x)


def test_lu_of_a_singular_matrix_goes_on_past_a_column_of_zeros():
    factors, pivots, permutation = linalg.lu(np.array([[0.0, 1.0], [0.0, 2.0]]))
    np.testing.assert_array_equal(factors, [[0.0, 1.0], [0.0, 2.0]])
    np.testing.assert_array_equal([pivots, permutation], [[0, 1], [0, 1]])


def test_the_permutation_by_operations_is_that_of_the_evaluation():
    pivots = np.array([[2, 2, 2], [0, 3, 3]], np.int8)
    by_operations = linalg.lu_pivots_to_permutation_p.rules["decomposition"](pivots, permutation_size=4)
    np.testing.assert_array_equal(by_operations, [[2, 0, 1, 3], [0, 3, 1, 2]])
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(pivots, 4), by_operations)
    assert linalg.lu_pivots_to_permutation(pivots, 4).dtype == np.int8


def test_more_pivots_than_rows_are_refused():
    with pytest.raises(ShapeError, match=r"of int64\[2\] at .* with permutation_size=1: the size must be at least"):
        linalg.lu_pivots_to_permutation(np.array([0, 1]), 1)


# QR


@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("full_matrices", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("sizes", [(3, 3), (4, 2), (2, 4), (1, 1), (0, 0), (3, 0), (0, 3)])
def test_qr_has_orthonormal_columns_and_an_upper_triangle_whose_product_is_the_matrix(
    pivoting, full_matrices, dtype, batch, sizes
):
    x = random((*batch, *sizes), dtype)
    q, r, *order = linalg.qr(x, pivoting=pivoting, full_matrices=full_matrices)
    inner = sizes[0] if full_matrices else min(sizes)
    assert (q.shape, r.shape) == ((*batch, sizes[0], inner), (*batch, inner, sizes[1]))
    assert q.dtype == r.dtype == x.dtype
    close(q @ r, np.take_along_axis(x, order[0][..., None, :], -1) if pivoting else x)
    close(q.conj().mT @ q, np.broadcast_to(np.eye(inner), (*batch, inner, inner)).astype(dtype))
    np.testing.assert_array_equal(r, np.triu(r))
    assert np.isrealobj(r) or not np.diagonal(r, axis1=-2, axis2=-1).imag.any()
    check_staged(lambda x: linalg.qr(x, pivoting=pivoting, full_matrices=full_matrices), x)


def test_with_pivoting_the_diagonal_of_r_does_not_grow_and_the_first_column_is_the_longest():
    x = random((3, 5, 4), "float64") * np.array([1.0, 9.0, 3.0, 0.1])
    _, r, order = linalg.qr(x, pivoting=True)
    assert order.dtype == np.int32
    np.testing.assert_array_equal(order[:, 0], np.linalg.norm(x, axis=1).argmax(-1))
    assert (np.diff(np.abs(np.diagonal(r, axis1=1, axis2=2)), axis=1) <= 1e-14).all()


# Reflections


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("sizes", [(3, 3), (4, 2), (1, 1), (3, 0)])
def test_the_product_of_reflections_is_the_first_factor_of_qr(dtype, batch, sizes):
    x = random((*batch, *sizes), dtype)
    packed, taus = linalg.geqrf(x)
    q, r = linalg.qr(x, full_matrices=False)
    close(linalg.householder_product(packed, taus), q)
    close(np.triu(packed[..., : sizes[1], :]), r)
    check_staged(linalg.geqrf, x)
    check_staged(linalg.householder_product, packed, taus)


@pytest.mark.parametrize(
    ("a", "taus", "error", "words"),
    [
        (np.ones((2, 3)), np.ones(2), ShapeError, "more columns than rows. Slice"),
        (np.ones((3, 2)), np.ones(3), ShapeError, r"of float64\[3,2\] and float64\[3\] at .*at most one per column"),
        (np.ones((2, 3, 2)), np.ones(2), ShapeError, "for each matrix"),
    ],
)
def test_reflections_that_do_not_fit_are_refused(a, taus, error, words):
    with pytest.raises(error, match=words):
        linalg.householder_product(a, taus)


# Refusals


@pytest.mark.parametrize("name", ["cholesky"])
def test_operands_that_are_no_square_matrices_are_refused(name):
    for call in (getattr(linalg, name), make_jaxpr(getattr(linalg, name))):
        with pytest.raises(ShapeError, match=rf"{name} of float64\[2,3\] at .*the last two sizes differ"):
            call(np.ones((2, 3)))


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr", "geqrf"])
def test_operands_that_lapack_has_no_dtype_or_no_matrix_for_are_refused(name):
    for call in (getattr(linalg, name), make_jaxpr(getattr(linalg, name))):
        with pytest.raises(ShapeError, match=rf"{name} of float64\[3\] at .*at least two axes"):
            call(np.ones(3))
        with pytest.raises(TypeError, match=rf"{name} of float16\[2,2\].*not defined for float16\. Convert"):
            call(np.eye(2, dtype=np.float16))
