"""Programs that use jaxopt: minima, projections, proximal steps, roots, fixed points, and derivatives of solutions."""

import jax
import jax.numpy as jnp
import jaxopt
import numpy as np
import pytest
import scipy.optimize

X = jax.random.normal(jax.random.key(0), (20, 4))
TRUTH = jnp.array([1.0, -2.0, 0.0, 0.5])
Y = X @ TRUTH
PENALTY = 0.1


def ridge(w, penalty=PENALTY):
    return jnp.mean((X @ w - Y) ** 2) + penalty * jnp.sum(w**2)


RIDGE = jnp.linalg.solve(X.T @ X / 20 + PENALTY * jnp.eye(4), X.T @ Y / 20)


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        (jaxopt.GradientDescent, {"maxiter": 200}),
        (jaxopt.NonlinearCG, {"maxiter": 100}),
        (jaxopt.BFGS, {"maxiter": 100}),
        (jaxopt.LBFGS, {"maxiter": 100}),
    ],
)
def test_a_solver_finds_the_minimum(solver, options):
    found = solver(ridge, **options).run(jnp.zeros(4))
    np.testing.assert_allclose(found.params, RIDGE, atol=1e-2)


def test_the_derivative_of_a_solution_is_implicit():
    solve = lambda penalty: jaxopt.LBFGS(ridge, maxiter=100, tol=1e-5).run(jnp.zeros(4), penalty).params
    slope = (solve(0.12) - solve(0.08)) / 0.04
    np.testing.assert_allclose(jax.jacobian(solve)(PENALTY), slope, atol=2e-2)


def test_many_problems_at_once():
    solver = jaxopt.LBFGS(ridge, maxiter=50)
    found = jax.jit(jax.vmap(lambda penalty: solver.run(jnp.zeros(4), penalty).params))(jnp.array([0.1, 1.0]))
    np.testing.assert_allclose(found[0], RIDGE, atol=1e-2)
    assert jnp.sum(found[1] ** 2) < jnp.sum(found[0] ** 2)


def test_a_solver_works_step_by_step():
    solver = jaxopt.LBFGS(rosenbrock, linesearch="backtracking")
    params = jnp.array([-1.0, 1.0])
    state = solver.init_state(params)
    for _ in range(60):
        params, state = solver.update(params, state)
    np.testing.assert_allclose(params, 1.0, atol=1e-2)


def test_parameters_are_trees():
    loss = lambda tree: jnp.sum((tree["a"] - 3.0) ** 2) + tree["b"][0] ** 2
    found = jaxopt.GradientDescent(loss, maxiter=100).run({"a": jnp.zeros(2), "b": (1.0,)})
    np.testing.assert_allclose(found.params["a"], 3.0, atol=1e-2)
    assert abs(float(found.params["b"][0])) < 1e-2


@pytest.mark.parametrize(
    ("project", "options", "holds"),
    [
        ("projection_simplex", (1.0,), lambda x: abs(x.sum() - 1) < 1e-5 and (x >= 0).all()),
        ("projection_non_negative", (), lambda x: (x >= 0).all()),
        ("projection_box", ((-0.5, 0.5),), lambda x: (abs(x) <= 0.5).all()),
        ("projection_l1_ball", (1.0,), lambda x: abs(x).sum() < 1 + 1e-4),
        ("projection_l2_ball", (1.0,), lambda x: (x**2).sum() < 1 + 1e-4),
        ("projection_linf_ball", (1.0,), lambda x: (abs(x) <= 1).all()),
    ],
)
def test_a_projection_is_in_its_set_and_keeps_it(project, options, holds):
    function = getattr(jaxopt.projection, project)
    point = function(jnp.array([0.7, -1.4, 2.0]), *options)
    assert holds(np.asarray(point))
    np.testing.assert_allclose(function(point, *options), point, atol=1e-5)


def test_projected_gradients_stay_in_the_box():
    solver = jaxopt.ProjectedGradient(ridge, jaxopt.projection.projection_box, maxiter=200)
    found = solver.run(jnp.zeros(4), hyperparams_proj=(-0.5, 0.5)).params
    assert (np.abs(found) <= 0.5 + 1e-6).all()
    bounded = jaxopt.LBFGSB(ridge, maxiter=50).run(jnp.zeros(4), bounds=(-0.5 * jnp.ones(4), 0.5 * jnp.ones(4))).params
    np.testing.assert_allclose(found, bounded, atol=1e-2)


def test_proximal_gradients_give_zeros():
    loss = lambda w: 0.5 * jnp.mean((X @ w - Y) ** 2)
    found = jaxopt.ProximalGradient(loss, jaxopt.prox.prox_lasso, maxiter=200).run(jnp.zeros(4), 0.3).params
    assert abs(float(found[2])) < 1e-6
    slope = jax.grad(loss)(found)
    np.testing.assert_allclose(slope[found != 0], -0.3 * np.sign(found[found != 0]), atol=1e-2)


def test_coordinates_are_descended_one_by_one():
    solver = jaxopt.BlockCoordinateDescent(jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=100)
    found = solver.run(jnp.zeros(4), 0.1, (X, Y)).params
    assert jnp.mean((X @ found - Y) ** 2) < 0.1


@pytest.mark.parametrize("solver", [jaxopt.GaussNewton, jaxopt.LevenbergMarquardt])
def test_least_squares(solver):
    residuals = lambda x: jnp.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    np.testing.assert_allclose(solver(residuals, maxiter=50).run(jnp.array([-1.0, 1.0])).params, 1.0, atol=1e-2)


@pytest.mark.parametrize("solver", [jaxopt.FixedPointIteration, jaxopt.AndersonAcceleration])
def test_fixed_points_and_their_derivatives(solver):
    point = lambda a: solver(lambda x, a: a * jnp.cos(x), maxiter=100).run(jnp.array([0.5]), a).params[0]
    assert abs(float(point(1.0)) - 0.739085) < 1e-3
    slope = (point(1.01) - point(0.99)) / 0.02
    assert abs(float(jax.grad(point)(1.0) - slope)) < 1e-2


def test_roots():
    bisection = jaxopt.Bisection(lambda x, a: x**3 - a, 0.0, 3.0, maxiter=60, check_bracket=False)
    assert abs(float(bisection.run(1.0, 8.0).params) - 2.0) < 1e-3
    assert abs(float(jax.grad(lambda a: bisection.run(1.0, a).params)(8.0)) - 1 / 12) < 1e-3
    broyden = jaxopt.Broyden(lambda x: x**3 - 8.0, maxiter=60).run(jnp.array([1.5])).params
    np.testing.assert_allclose(broyden, 2.0, atol=1e-2)


@pytest.mark.parametrize("solve", ["solve_cg", "solve_normal_cg", "solve_gmres", "solve_bicgstab", "solve_lu"])
def test_linear_systems_and_their_derivatives(solve):
    matrix = X.T @ X + jnp.eye(4)
    function = lambda b: getattr(jaxopt.linear_solve, solve)(lambda x: matrix @ x, b)
    np.testing.assert_allclose(matrix @ function(TRUTH), TRUTH, atol=1e-2)
    np.testing.assert_allclose(jax.jacobian(function)(TRUTH), jnp.linalg.inv(matrix), atol=1e-2)


def test_quadratic_programs():
    q, c = 2 * jnp.eye(2), jnp.array([-2.0, -6.0])
    g, h = jnp.array([[1.0, 1.0]]), jnp.array([2.0])
    found = jaxopt.OSQP(maxiter=400).run(params_obj=(q, c), params_ineq=(g, h)).params.primal
    np.testing.assert_allclose(found, [0.0, 2.0], atol=2e-2)
    equal = jaxopt.EqualityConstrainedQP().run(params_obj=(q, c), params_eq=(g, h)).params.primal
    np.testing.assert_allclose(equal, [0.0, 2.0], atol=1e-3)


def test_a_solver_of_optax_and_armijo_steps():
    optax = pytest.importorskip("optax")
    found = jaxopt.OptaxSolver(ridge, optax.adam(0.1), maxiter=200).run(jnp.zeros(4)).params
    np.testing.assert_allclose(found, RIDGE, atol=5e-2)
    step = jaxopt.BacktrackingLineSearch(fun=ridge, maxiter=20, condition="armijo")
    direction = -jax.grad(ridge)(jnp.zeros(4))
    stepsize, _ = step.run(init_stepsize=1.0, params=jnp.zeros(4), descent_direction=direction)
    assert ridge(stepsize * direction) < ridge(jnp.zeros(4))


def test_a_solver_of_scipy_agrees():
    found = jaxopt.ScipyMinimize(fun=ridge, method="L-BFGS-B").run(jnp.zeros(4)).params
    other = scipy.optimize.minimize(
        lambda w: float(ridge(jnp.asarray(w, jnp.float32))), np.zeros(4), method="Nelder-Mead"
    )
    np.testing.assert_allclose(found, other.x, atol=1e-2)


def test_losses_isotonic_regression_and_perturbed_maxima():
    labels, logits = jnp.array([0, 2]), jnp.array([[1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    losses = jax.vmap(jaxopt.loss.multiclass_logistic_loss)(labels, logits)
    np.testing.assert_allclose(losses, -jax.nn.log_softmax(logits)[jnp.arange(2), labels], atol=1e-5)
    np.testing.assert_allclose(jaxopt.isotonic.isotonic_l2_pav(jnp.array([1.0, 3.0, 2.0])), [1.0, 2.5, 2.5], atol=1e-5)
    sparse = jaxopt.projection.projection_transport(jnp.ones((2, 2)), (jnp.ones(2) / 2, jnp.ones(2) / 2), None)
    np.testing.assert_allclose(sparse.sum(0), 0.5, atol=1e-3)
