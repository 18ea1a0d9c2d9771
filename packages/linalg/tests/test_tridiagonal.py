"""Tridiagonal systems, by the solutions of the whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import ShapeError, make_jaxpr
from calque_linalg import tridiagonal_solve


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, shape)
    return (values + 1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def whole(dl, d, du):
    eye = np.eye(d.shape[-1], dtype=d.dtype)
    below, above = np.eye(d.shape[-1], k=-1, dtype=d.dtype), np.eye(d.shape[-1], k=1, dtype=d.dtype)
    return dl[..., None] * below + d[..., None] * eye + du[..., None] * above


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 1), (0,)])
@pytest.mark.parametrize(("n", "m"), [(5, 2), (2, 1), (1, 3), (0, 2), (4, 0)])
def test_the_solution_is_that_of_the_whole_matrix(dtype, batch, n, m):
    dl, d, du = (random((*batch, n), dtype, seed) for seed in range(3))
    d = d * 0.2  # small, so that rows are exchanged
    b = random((*batch, n, m), dtype, 3)
    x = tridiagonal_solve(dl, d, du, b)
    assert (x.shape, x.dtype) == (b.shape, b.dtype)
    np.testing.assert_allclose(whole(dl, d, du) @ x, b, atol=5000 * np.finfo(dtype).eps)


def test_elements_outside_of_the_matrix_are_not_read():
    x = tridiagonal_solve(
        np.array([np.nan, 1.0]), np.array([2.0, 3.0]), np.array([1.0, np.nan]), np.array([[3.0], [4.0]])
    )
    np.testing.assert_allclose(x, [[1.0], [1.0]])


def test_a_singular_matrix_is_an_error_with_the_place():
    with pytest.raises(np.linalg.LinAlgError, match=r"tridiagonal_solve of float64\[2\] at test_tridiagonal.py:\d+"):
        tridiagonal_solve(np.ones(2), np.ones(2), np.ones(2), np.ones((2, 1)))


@pytest.mark.parametrize(
    ("shapes", "error", "words"),
    [
        (((3,), (3,), (3,), (3,)), ShapeError, "at least two axes"),
        (((2,), (3,), (3,), (3, 1)), ShapeError, "Give three diagonals with one element for each row"),
        (((3,), (3,), (3,), (2, 3, 1)), ShapeError, r"float64\[3\] and float64\[2,3,1\] at"),
    ],
)
def test_operands_that_do_not_fit_are_refused(shapes, error, words):
    args = [np.ones(shape) for shape in shapes]
    for call in (tridiagonal_solve, make_jaxpr(tridiagonal_solve)):
        with pytest.raises(error, match=words):
            call(*args)
