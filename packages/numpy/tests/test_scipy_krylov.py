"""Linear equations by iteration: trees, dtypes, counts of steps, refusals.  Derivatives are in the laws."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calque_core import ShapeError, pure_callback
from calque_numpy.scipy.krylov import bicgstab, cg, gmres

RNG = np.random.default_rng(0)
SHIFTED = RNG.normal(size=(9, 9)) / 3 + 2 * np.eye(9)
DEFINITE = SHIFTED @ SHIFTED.T
B = RNG.normal(size=9)
SOLVERS = {
    "cg": (cg, DEFINITE),
    "bicgstab": (bicgstab, SHIFTED),
    "gmres": (gmres, SHIFTED),
    "gmres incremental": (lambda *args, **options: gmres(*args, solve_method="incremental", **options), SHIFTED),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_the_solution_of_a_tree_of_arrays_solves_the_equation(name):
    solve, A = SOLVERS[name]

    def multiply(tree):
        y = A @ np.append(tree["a"].ravel(), tree["b"])
        return {"a": y[:8].reshape(2, 4), "b": y[8]}

    b = {"a": B[:8].reshape(2, 4), "b": B[8]}
    x, info = solve(multiply, b, tol=1e-10)
    assert info == 0
    np.testing.assert_allclose(A @ np.append(x["a"].ravel(), x["b"]), B, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_first_result_has_the_precision_asked_for_and_the_second_counts_the_steps_of_a_failure(name):
    solve, A = SOLVERS[name]
    for options in ({"tol": 1e-3}, {"tol": 0.0, "atol": 1e-3 * np.linalg.norm(B)}):
        x, info = solve(A, B, **options)
        assert info == 0
        assert np.linalg.norm(A @ x - B) <= 1e-3 * np.linalg.norm(B)
    assert solve(A, B, x, atol=1.0)[0] is not None
    assert solve(A, np.full(9, np.nan))[1] != 0
    assert solve(np.zeros((9, 9)), B, maxiter=3)[1] == 3
    assert solve(A, np.zeros(9))[1] == 0


@pytest.mark.parametrize("name", SOLVERS)
def test_a_start_that_solves_the_equation_is_returned(name):
    solve, A = SOLVERS[name]
    x, info = solve(A, B, np.linalg.solve(A, B))
    np.testing.assert_array_equal(x, np.linalg.solve(A, B))
    assert info == 0


@pytest.mark.parametrize("name", SOLVERS)
def test_complex_equations_have_their_solution_and_the_dtype_is_that_of_matrix_and_vector(name):
    solve, A = SOLVERS[name]
    skew = 0.2j * (SHIFTED - SHIFTED.T)
    x, _ = solve(A + skew, B, tol=1e-10)
    assert x.dtype == np.complex128
    np.testing.assert_allclose((A + skew) @ x, B, rtol=0, atol=1e-8)
    assert solve(A.astype(np.float32), B.astype(np.float32))[0].dtype == np.float32
    assert solve(2 * np.eye(2, dtype=int), np.array([2, 4]))[0].dtype == np.float64


def test_a_good_preconditioner_saves_steps():
    A = np.diag(np.geomspace(1.0, 1e6, 40))
    b = np.ones(40)
    assert cg(A, b, maxiter=2)[1] == 2
    assert cg(A, b, maxiter=2, M=np.diag(1 / np.diag(A)))[1] == 0
    assert bicgstab(A, b, maxiter=2, M=lambda x: x / np.diag(A))[1] == 0
    assert gmres(A, b, maxiter=1, restart=2, M=lambda x: x / np.diag(A))[1] == 0


def test_an_incremental_cycle_ends_early():
    counts = {}
    for method in ("batched", "incremental"):
        calls = []
        multiply = lambda x, calls=calls: pure_callback(lambda x: calls.append(x) or DEFINITE @ x, x, x)
        assert gmres(multiply, B, tol=0.5, solve_method=method)[1] == 0
        counts[method] = len(calls)
    assert counts["incremental"] < 9 < counts["batched"]


REFUSED = {
    "A of cg at": (TypeError, lambda: cg(3.0, B)),
    "has the shape (9, 3). Give a square": (
        ShapeError,
        lambda: cg(np.ones((9, 3)), B),
    ),
    "the result of A of gmres": (ShapeError, lambda: gmres(lambda x: x[:3], B)),
    "has the shapes [(3,)], but b has [(9,)]. Both must be equal.": (ShapeError, lambda: cg(SHIFTED, B, B[:3])),
    "x0 of bicgstab": (ShapeError, lambda: bicgstab(SHIFTED, B, [B])),
    "has the dtype complex128 for a vector of float64. Give b the": (TypeError, lambda: cg(lambda x: 1j * x, B)),
    "has the solve_method 'batch'. Use 'batched' or": (ValueError, lambda: gmres(SHIFTED, B, solve_method="batch")),
    "restart is 0. Give the size": (ValueError, lambda: gmres(SHIFTED, B, restart=0)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_refusal_names_the_values_and_the_way_out(words):
    error, call = REFUSED[words]
    with pytest.raises(error, match=re.escape(words)):
        call()
