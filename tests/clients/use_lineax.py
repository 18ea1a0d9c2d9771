"""Programs that use lineax: solvers, structures, derivatives."""

import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
import pytest

A = jax.random.normal(jax.random.key(0), (5, 5))
SPD = A @ A.T + jnp.eye(5)
B = jax.random.normal(jax.random.key(1), (5,))
TAG = lx.positive_semidefinite_tag
CASES = {
    "auto": (lx.AutoLinearSolver(well_posed=True), lx.MatrixLinearOperator(A)),
    "lu": (lx.LU(), lx.MatrixLinearOperator(A)),
    "qr": (lx.QR(), lx.MatrixLinearOperator(A)),
    "svd": (lx.SVD(), lx.MatrixLinearOperator(A)),
    "gmres": (lx.GMRES(1e-5, 1e-5), lx.MatrixLinearOperator(A)),
    "bicgstab": (lx.BiCGStab(1e-5, 1e-5), lx.MatrixLinearOperator(SPD)),
    "cg": (lx.CG(1e-6, 1e-6), lx.MatrixLinearOperator(SPD, TAG)),
    "cholesky": (lx.Cholesky(), lx.MatrixLinearOperator(SPD, TAG)),
    "diagonal": (lx.Diagonal(), lx.DiagonalLinearOperator(jnp.arange(1.0, 6.0))),
    "triangular": (lx.Triangular(), lx.MatrixLinearOperator(jnp.tril(SPD), lx.lower_triangular_tag)),
    "tridiagonal": (lx.Tridiagonal(), lx.TridiagonalLinearOperator(4 * jnp.ones(5), jnp.ones(4), jnp.ones(4))),
}


@pytest.mark.parametrize("case", CASES)
def test_a_solver_solves(case):
    solver, operator = CASES[case]
    solve = lambda b: lx.linear_solve(operator, b, solver).value
    np.testing.assert_allclose(operator.mv(solve(B)), B, atol=2e-3)
    np.testing.assert_allclose(jax.vmap(solve)(jnp.stack([B, 2 * B]))[1], 2 * solve(B), atol=2e-3)
    _, tangent = jax.jvp(solve, (B,), (B,))
    np.testing.assert_allclose(tangent, solve(B), atol=2e-3)
    gradient = jax.grad(lambda b: solve(b)[0])(B)
    np.testing.assert_allclose(gradient, jax.jacfwd(solve)(B)[0], atol=2e-3)


def test_the_derivative_by_the_matrix():
    f = lambda a: lx.linear_solve(lx.MatrixLinearOperator(a), B).value.sum()
    eps = 1e-2 * jnp.eye(5)
    gradient = jax.grad(f)(SPD)
    assert abs(float((f(SPD + eps) - f(SPD - eps)) / 2e-2 - gradient.trace())) < 1e-2


def test_an_operator_of_a_function():
    operator = lx.FunctionLinearOperator(lambda x: SPD @ x, jax.eval_shape(lambda: B), TAG)
    np.testing.assert_allclose(operator.as_matrix(), SPD, atol=1e-5)
    np.testing.assert_allclose(operator.T.mv(B), SPD @ B, atol=1e-4)
    jacobian = lx.JacobianLinearOperator(lambda x, args: jnp.sin(x), B)
    np.testing.assert_allclose(jacobian.as_matrix(), jnp.diag(jnp.cos(B)), atol=1e-5)


def test_least_squares():
    tall = jax.random.normal(jax.random.key(2), (8, 3))
    b = jax.random.normal(jax.random.key(3), (8,))
    x = lx.linear_solve(lx.MatrixLinearOperator(tall), b, lx.QR()).value
    np.testing.assert_allclose(tall.T @ (tall @ x - b), 0, atol=1e-4)


def test_a_singular_matrix_is_an_error():
    with pytest.raises(Exception, match="non-finite"):
        lx.linear_solve(lx.MatrixLinearOperator(jnp.zeros((2, 2))), jnp.ones(2), lx.LU())
