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


def test_operators_are_added_composed_and_scaled():
    a, b = lx.MatrixLinearOperator(A), lx.DiagonalLinearOperator(jnp.arange(1.0, 6.0))
    d = jnp.diag(jnp.arange(1.0, 6.0))
    for operator, matrix in [
        (a + b, A + d),
        (a @ b, A @ d),
        (2.0 * a, 2 * A),
        (-a, -A),
        (a / 2.0, A / 2),
        (a - b, A - d),
    ]:
        np.testing.assert_allclose(operator.as_matrix(), matrix, atol=1e-5)
        np.testing.assert_allclose(operator.T.mv(B), matrix.T @ B, atol=1e-4)
    assert lx.is_diagonal(b)
    assert lx.is_symmetric(b)
    assert not lx.is_symmetric(a)
    np.testing.assert_allclose(lx.diagonal(a), jnp.diag(A))
    np.testing.assert_allclose(lx.materialise(a @ b).as_matrix(), A @ d, atol=1e-5)
    np.testing.assert_allclose(lx.linearise(a).mv(B), A @ B, atol=1e-4)


def test_an_operator_on_trees():
    operator = lx.PyTreeLinearOperator(
        {"u": {"x": 2 * jnp.eye(2), "y": jnp.zeros((2, 1))}, "v": {"x": jnp.zeros((1, 2)), "y": 4 * jnp.eye(1)}},
        jax.eval_shape(lambda: {"u": jnp.zeros(2), "v": jnp.zeros(1)}),
    )
    found = lx.linear_solve(operator, {"u": jnp.ones(2), "v": jnp.ones(1)}).value
    np.testing.assert_allclose(found["x"], 0.5)
    np.testing.assert_allclose(found["y"], 0.25)


def test_a_factorisation_is_used_again():
    solver = lx.LU()
    state = solver.init(lx.MatrixLinearOperator(SPD), options={})
    solve = jax.jit(lambda b: lx.linear_solve(lx.MatrixLinearOperator(SPD), b, solver, state=state).value)
    np.testing.assert_allclose(SPD @ solve(B), B, atol=1e-3)
    np.testing.assert_allclose(solve(2 * B), 2 * solve(B), atol=1e-4)


def test_least_squares_by_iterations_and_by_svd():
    tall = jax.random.normal(jax.random.key(4), (8, 3))
    b = jax.random.normal(jax.random.key(5), (8,))
    for solver in (lx.NormalCG(1e-6, 1e-6), lx.SVD(), lx.AutoLinearSolver(well_posed=None)):
        x = lx.linear_solve(lx.MatrixLinearOperator(tall), b, solver).value
        np.testing.assert_allclose(tall.T @ (tall @ x - b), 0, atol=1e-3)
    wide = lx.linear_solve(lx.MatrixLinearOperator(tall.T), jnp.ones(3), lx.SVD()).value
    np.testing.assert_allclose(wide, jnp.linalg.pinv(tall.T) @ jnp.ones(3), atol=1e-4)


def test_many_systems_and_second_derivatives():
    f = lambda a: lx.linear_solve(lx.MatrixLinearOperator(a), B, lx.LU()).value.sum()
    single = f(SPD)
    np.testing.assert_allclose(jax.vmap(f)(jnp.stack([SPD, 2 * SPD])), [single, single / 2], atol=1e-4)
    g = lambda s: f(s * SPD)  # f(s A) = f(A) / s
    assert abs(float(jax.hessian(g)(1.0) - 2 * single)) < 1e-2


def test_a_complex_system():
    matrix = A + 1j * jnp.eye(5)
    x = lx.linear_solve(lx.MatrixLinearOperator(matrix), B.astype(jnp.complex64), lx.LU()).value
    np.testing.assert_allclose(matrix @ x, B, atol=1e-3)


def test_the_result_of_a_solver_can_be_read():
    solution = lx.linear_solve(lx.MatrixLinearOperator(SPD, TAG), B, lx.CG(1e-8, 1e-8, max_steps=1), throw=False)
    assert solution.result != lx.RESULTS.successful
    assert int(solution.stats["num_steps"]) == 1
