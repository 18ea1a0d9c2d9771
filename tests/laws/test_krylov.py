"""`cg`, `bicgstab` and `gmres`: beside SciPy; derivatives by differences; compiled as evaluated; a batch is a loop."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg

import calque
from calque.scipy.sparse.linalg import bicgstab, cg, gmres

RNG = np.random.default_rng(1)
SHIFTED = RNG.normal(size=(8, 8)) / 3 + 2 * np.eye(8)
DEFINITE = SHIFTED @ SHIFTED.T
B = RNG.normal(size=8)
SOLVERS = {"cg": (cg, DEFINITE), "bicgstab": (bicgstab, SHIFTED), "gmres": (gmres, SHIFTED)}
TIGHT = {"tol": 1e-12}


@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_agree_with_scipy(name):
    solve, A = SOLVERS[name]
    want, _ = getattr(scipy.sparse.linalg, name)(A, B, rtol=1e-12)
    np.testing.assert_allclose(solve(A, B, **TIGHT)[0], want, rtol=1e-10)


def test_the_steps_of_cg_are_those_of_scipy():
    M = np.diag(1 / np.diag(DEFINITE))
    for steps in (1, 3):
        want, _ = scipy.sparse.linalg.cg(DEFINITE, B, B, rtol=0.0, maxiter=steps, M=M)
        np.testing.assert_allclose(cg(DEFINITE, B, B, tol=0.0, maxiter=steps, M=M)[0], want, rtol=1e-10)


@pytest.mark.parametrize("name", SOLVERS)
def test_derivatives_agree_with_differences(name):
    solve, A = SOLVERS[name]
    M = np.linalg.inv(A) + (name != "cg") * np.triu(SHIFTED) / 9
    fun = lambda s, b: solve(lambda x: A @ x + s * x, b, M=M, **TIGHT)[0]
    calque.test_util.check_grads(fun, (0.3, B), order=2 if name == "cg" else 1)


@pytest.mark.parametrize("name", SOLVERS)
def test_complex_gradients_are_those_of_a_direct_method(name):
    solve, A = SOLVERS[name]
    A, b = A + 0.2j * (SHIFTED - SHIFTED.T), B + 1j * B[::-1]
    pulls = [calque.vjp(f, A, b)[1](b) for f in (lambda A, b: solve(A, b, M=2 * A, **TIGHT)[0], np.linalg.solve)]
    for got, want in zip(*pulls):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_compiled_batch_of_gradients_equals_a_loop(name):
    solve, A = SOLVERS[name]
    loss = lambda s, b: np.sum(solve(A + s * np.eye(8), b, **TIGHT)[0] ** 2)
    scales, vectors = np.array([0.1, 0.5, 4.0]), RNG.normal(size=(3, 8))
    gradient = calque.value_and_grad(loss, argnums=(0, 1))
    value, (by_scale, by_vector) = calque.jit(calque.vmap(gradient))(scales, vectors)
    for i in range(3):
        want, (s_bar, b_bar) = gradient(scales[i], vectors[i])
        np.testing.assert_allclose(value[i], want, rtol=1e-9)
        np.testing.assert_allclose(by_scale[i], s_bar, rtol=1e-8)
        np.testing.assert_allclose(by_vector[i], b_bar, rtol=1e-8, atol=1e-10)
