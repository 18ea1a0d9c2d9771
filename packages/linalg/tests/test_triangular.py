"""Triangular systems, by their residuals: NumPy has no solver of its own to compare with."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calque_core import ShapeError, config, eval_jaxpr, make_jaxpr
from calque_linalg import triangular_solve

DTYPES = ["float32", "float64", "complex64", "complex128"]
OPTIONS = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    return values.astype(dtype)


def triangle(a, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False, **_):
    """Return op(a) as the documentation describes it."""
    out = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        out = out - out * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    out = out.mT if transpose_a else out
    return out.conj() if conjugate_a else out


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("flags", list(product([False, True], repeat=5)))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 1, 3, 3), (1, 1), (0, 0), (0, 2, 2)])
def test_the_solution_solves_the_system(flags, dtype, shape):
    options = dict(zip(OPTIONS, flags))
    n = shape[-1]
    a = random(shape, dtype) / max(n, 1) + 2 * np.eye(n, dtype=dtype)
    b = random((*shape[:-2], *((n, 2) if options["left_side"] else (2, n))), dtype, 1)
    x = triangular_solve(a, b, **options)
    assert (x.shape, x.dtype) == (b.shape, b.dtype)
    op_a = triangle(a, **options)
    product_ = op_a @ x if options["left_side"] else x @ op_a
    np.testing.assert_allclose(product_, b, atol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("n", [47, 48, 49, 97, 200])
def test_large_systems_are_solved_by_blocks(n, lower):
    a = random((2, n, n), "float64") / n + np.eye(n)
    b = random((2, n, 3), "float64", 1)
    x = triangular_solve(a, b, left_side=True, lower=lower)
    np.testing.assert_allclose((np.tril(a) if lower else np.triu(a)) @ x, b, atol=1e-13)


def test_the_other_triangle_is_not_read():
    a = np.array([[2.0, np.nan], [1.0, 4.0]])
    np.testing.assert_array_equal(triangular_solve(a, np.eye(2), left_side=True, lower=True)[0], [0.5, 0.0])
    a = np.array([[np.nan, np.nan], [1.0, np.nan]])
    x = triangular_solve(a, np.ones(2), left_side=True, lower=True, unit_diagonal=True)
    np.testing.assert_array_equal(x, [1.0, 0.0])


def test_a_vector_is_a_column_on_the_right_of_the_matrix_and_a_row_on_its_left():
    a = np.array([[2.0, 1.0], [0.0, 4.0]])
    np.testing.assert_array_equal(triangular_solve(a, [4.0, 8.0] @ np.eye(2), left_side=True), [1.0, 2.0])
    np.testing.assert_array_equal(triangular_solve(a, np.array([4.0, 10.0])), [2.0, 2.0])
    batch = triangular_solve(np.stack([a, 2 * a]), np.ones((2, 2)), left_side=True)
    np.testing.assert_array_equal(batch[0], 2 * batch[1])


def test_integers_become_floats_and_dtypes_are_promoted():
    a = np.array([[2, 1], [0, 4]], np.int8)
    assert triangular_solve(a, np.ones(2, np.int8)).dtype == np.float64
    assert triangular_solve(a.astype(np.float32), np.ones(2, np.complex64)).dtype == np.complex64
    with config.enable_x64(False):
        assert triangular_solve(a, np.ones(2)).dtype == np.float32


def test_staging_agrees_with_evaluation():
    a, b = random((2, 3, 3), "complex64") + 2 * np.eye(3, dtype="complex64"), random((2, 5, 3), "float32", 1)
    call = lambda a, b: triangular_solve(a, b, transpose_a=True, conjugate_a=True)
    jaxpr = make_jaxpr(call)(a, b)
    (out,) = eval_jaxpr(jaxpr, jaxpr.consts, a, b)
    np.testing.assert_array_equal(out, call(a, b))
    assert (jaxpr.out_avals[0].shape, jaxpr.out_avals[0].dtype) == (out.shape, out.dtype)


def test_a_conjugate_is_taken_of_complex_numbers_only_and_alone_it_is_no_parameter():
    real = make_jaxpr(lambda a: triangular_solve(a, a, transpose_a=True, conjugate_a=True))(np.eye(2)).eqns
    assert [eqn.params["conjugate_a"] for eqn in real] == [False]
    alone = make_jaxpr(lambda a: triangular_solve(a, a, conjugate_a=True))(np.eye(2, dtype=complex)).eqns
    assert [eqn.primitive.name for eqn in alone] == ["conj", "triangular_solve"]
    assert not alone[1].params["conjugate_a"]


@pytest.mark.parametrize(
    ("a", "b", "error", "words"),
    [
        (np.ones((2, 3)), np.ones(2), ShapeError, r"of float64\[2,3\] at .*the last two sizes differ\. Give a square"),
        (np.ones(3), np.ones(3), ShapeError, r"of float64\[3\].*at least two axes"),
        (np.eye(2), np.ones((3, 1)), ShapeError, r"must have 2 columns\. Use left_side=True"),
        (np.ones((4, 2, 2)), np.ones((3, 1, 2)), ShapeError, r"the leading axes differ\. Broadcast"),
        (np.eye(2, dtype=np.float16), np.ones(2, np.float16), TypeError, "not defined for float16. Convert"),
    ],
)
def test_operands_that_do_not_fit_are_refused_with_their_types(a, b, error, words):
    with pytest.raises(error, match=words):
        triangular_solve(a, b)
    with pytest.raises(error, match=words):
        make_jaxpr(triangular_solve)(a, b)


def test_a_zero_on_the_diagonal_is_an_error_with_the_place():
    with pytest.raises(np.linalg.LinAlgError, match=r"triangular_solve of float64\[2,2\] at test_triangular\.py:\d+"):
        triangular_solve(np.diag([1.0, 0.0]), np.ones(2))
