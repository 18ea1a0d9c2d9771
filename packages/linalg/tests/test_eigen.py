"""Eigenvalues and singular values, by what their definitions say of the products of the results."""

from __future__ import annotations

import numpy as np
import pytest

import calque_linalg as linalg
from calque_core import ShapeError, config, eval_jaxpr, make_jaxpr
from calque_linalg.ops.diagonals import inverse, inverse_gaps
from calque_pytree import tree_leaves

DTYPES = ["float32", "float64", "complex64", "complex128"]
BATCHES = [(), (2,), (2, 1), (0,)]
SIZES = [0, 1, 3]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    return values.astype(dtype)


def real_of(dtype):
    return np.finfo(dtype).dtype


def close(x, y):
    np.testing.assert_allclose(x, y, atol=200 * np.finfo(np.asarray(y).dtype).eps, rtol=1e-4)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def check_staged(fun, *args):
    """Check that the type rule tells the types of the results, and that the program gives the results."""
    outs = tree_leaves(fun(*args))
    jaxpr = make_jaxpr(fun)(*args)
    assert [(a.shape, a.dtype) for a in jaxpr.out_avals] == [(x.shape, x.dtype) for x in outs]
    for x, y in zip(eval_jaxpr(jaxpr, jaxpr.consts, *args), outs, strict=True):
        np.testing.assert_array_equal(x, y)


# Symmetric and Hermitian matrices


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", SIZES)
def test_eigh_gives_orthonormal_vectors_and_ascending_values_of_the_mean_with_the_adjoint(dtype, batch, n):
    x = random((*batch, n, n), dtype)
    vectors, values = linalg.eigh(x)
    assert (vectors.shape, vectors.dtype) == (x.shape, x.dtype)
    assert (values.shape, values.dtype) == (x.shape[:-1], real_of(dtype))
    assert np.all(np.diff(values) >= 0)
    close(adjoint(vectors) @ vectors, np.broadcast_to(np.eye(n, dtype=dtype), x.shape))
    close((vectors * values[..., None, :]) @ adjoint(vectors), (x + adjoint(x)) / 2)
    check_staged(linalg.eigh, x)


@pytest.mark.parametrize("lower", [True, False])
def test_eigh_reads_one_triangle_if_it_does_not_symmetrize(lower):
    x = random((3, 3), "complex128")
    triangle = np.tril(x) if lower else np.triu(x)
    whole = triangle + adjoint(triangle) - np.diag(np.diag(x).real)
    np.fill_diagonal(whole, np.diag(x).real)
    close(linalg.eigh(x, lower=lower, symmetrize_input=False)[1], linalg.eigh(whole)[1])


def test_eigh_returns_a_range_of_the_values_with_their_vectors():
    x = random((2, 4, 4), "float64")
    vectors, values = linalg.eigh(x)
    some_vectors, some_values = linalg.eigh(x, subset_by_index=(1, 3))
    np.testing.assert_array_equal(some_vectors, vectors[..., 1:3])
    np.testing.assert_array_equal(some_values, values[..., 1:3])
    assert linalg.eigh(x, subset_by_index=(2, 2))[0].shape == (2, 4, 0)


# General square matrices


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", SIZES)
def test_eig_gives_values_with_left_and_right_vectors(dtype, batch, n):
    x = random((*batch, n, n), dtype)
    values, left, right = linalg.eig(x)
    assert {a.dtype for a in (values, left, right)} == {np.result_type(dtype, np.complex64)}
    close(x @ right, right * values[..., None, :])
    close(adjoint(left) @ x, values[..., :, None] * adjoint(left))
    check_staged(linalg.eig, x)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvectors_have_length_one_and_a_real_largest_component(dtype):
    for vectors in linalg.eig(random((5, 5), dtype))[1:]:
        close(np.linalg.norm(vectors, axis=0), np.ones(5))
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(0)[None], 0)
        close(largest.imag, np.zeros((1, 5)))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_eig_returns_the_vectors_that_are_asked_for(left, right):
    x = random((3, 3), "float64")
    values, lefts, rights = linalg.eig(x)
    outs = linalg.eig(x, compute_left_eigenvectors=left, compute_right_eigenvectors=right)
    wanted = [values, *([lefts] if left else []), *([rights] if right else [])]
    assert len(outs) == len(wanted)
    for out, want in zip(outs, wanted):
        close(out, want)


# Singular values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0), (1, 1), (3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("full_matrices", [False, True])
def test_svd_gives_orthonormal_vectors_and_descending_values_with_the_product_x(dtype, batch, shape, full_matrices):
    x = random((*batch, *shape), dtype)
    u, values, vh = linalg.svd(x, full_matrices=full_matrices)
    rank = min(shape)
    assert values.dtype == real_of(dtype)
    assert np.all(np.diff(values) <= 0)
    assert np.all(values >= 0)
    assert u.shape[-1] == (shape[0] if full_matrices else rank)
    assert vh.shape[-2] == (shape[1] if full_matrices else rank)
    close((u[..., :rank] * values[..., None, :]) @ vh[..., :rank, :], x)
    close(adjoint(u) @ u, np.broadcast_to(np.eye(u.shape[-1], dtype=dtype), (*batch, *u.shape[-1:] * 2)))
    close(linalg.svd(x, compute_uv=False), values)
    check_staged(lambda x: linalg.svd(x, full_matrices=full_matrices), x)
    check_staged(lambda x: linalg.svd(x, compute_uv=False), x)


def test_svd_returns_a_range_of_the_values_with_their_vectors():
    x = random((2, 4, 3), "float64")
    u, values, vh = linalg.svd(x, full_matrices=False)
    some = linalg.svd(x, full_matrices=False, subset_by_index=(1, 3))
    for out, want in zip(some, (u[..., 1:3], values[..., 1:3], vh[..., 1:3, :])):
        np.testing.assert_array_equal(out, want)
    close(linalg.svd(x, compute_uv=False, subset_by_index=(0, 1)), values[..., :1])
    with pytest.raises(ValueError, match=r"svd at .*vectors that belong to no value.*Set full_matrices=False"):
        linalg.svd(x, subset_by_index=(0, 2))


# Types and refusals


@pytest.mark.parametrize("name", ["eigh", "eig", "svd"])
def test_integers_are_taken_as_floats(name):
    x = np.array([[4, 2], [2, 5]], np.int8)
    real = {"float64", "complex128"}
    assert {str(a.dtype) for a in tree_leaves(getattr(linalg, name)(x))} <= real
    with config.enable_x64(False):
        assert {str(a.dtype) for a in tree_leaves(getattr(linalg, name)(x))} <= {"float32", "complex64"}


@pytest.mark.parametrize("name", ["eigh", "eig"])
def test_matrices_that_are_not_square_are_refused(name):
    for call in (getattr(linalg, name), make_jaxpr(getattr(linalg, name))):
        with pytest.raises(ShapeError, match=rf"{name} of float64\[2,3\] at .*the last two sizes differ"):
            call(np.ones((2, 3)))


@pytest.mark.parametrize("name", ["eigh", "eig", "svd"])
def test_operands_that_lapack_has_no_dtype_or_no_matrix_for_are_refused(name):
    for call in (getattr(linalg, name), make_jaxpr(getattr(linalg, name))):
        with pytest.raises(ShapeError, match=rf"{name} of float64\[3\] at .*at least two axes"):
            call(np.ones(3))
        with pytest.raises(TypeError, match=rf"{name} of float16\[2,2\].*not defined for float16\. Convert"):
            call(np.eye(2, dtype=np.float16))


@pytest.mark.parametrize("name", ["eigh", "svd"])
@pytest.mark.parametrize("subset", [(0, 4), (-1, 2), (2, 1), (0, 1, 2)])
def test_ranges_outside_the_values_are_refused(name, subset):
    with pytest.raises(ValueError, match=rf"{name} at .*subset_by_index is .* from 0 to 3, in this order"):
        getattr(linalg, name)(np.eye(3), subset_by_index=subset)
    with pytest.raises(TypeError, match=f"{name} at .*subset_by_index is 'a'"):
        getattr(linalg, name)(np.eye(3), subset_by_index="a")


@pytest.mark.parametrize("name", ["eigh", "eig", "svd"])
def test_an_iteration_that_does_not_converge_is_an_error_with_the_place(name):
    words = rf"{name} of float64\[3,3\] at test_eigen\.py:\d+ .*Check that all elements of the matrix are finite"
    with pytest.raises(np.linalg.LinAlgError, match=words):
        getattr(linalg, name)(np.full((3, 3), np.nan))


# The tools of derivatives


def test_no_gap_is_nan_without_a_warning_except_of_a_value_and_itself():
    gaps = np.array([[0.0, 2.0], [0.0, 4.0]])
    np.testing.assert_array_equal(inverse_gaps(gaps), [[0.0, 0.5], [np.nan, 0.25]])
    np.testing.assert_array_equal(inverse(np.array([2.0, 0.0])), [0.5, np.nan])
    assert inverse_gaps(gaps.astype(np.float32)).dtype == np.float32
