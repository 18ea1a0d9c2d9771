"""Programs that use optimistix: roots, minima, least squares, fixed points, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optimistix as optx
import pytest

START = jnp.array([-1.2, 1.0])


def residuals(x, args):
    return jnp.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


@pytest.mark.parametrize(
    "solver", [optx.LevenbergMarquardt, optx.GaussNewton, optx.Dogleg, optx.IndirectLevenbergMarquardt]
)
def test_least_squares(solver):
    found = optx.least_squares(residuals, solver(1e-5, 1e-5), START, throw=False).value
    np.testing.assert_allclose(found, 1.0, atol=1e-2)


@pytest.mark.parametrize("solver", [optx.BFGS, optx.LBFGS, optx.NelderMead])
def test_minima(solver):
    f = lambda x, args: jnp.sum(residuals(x, args) ** 2)
    found = optx.minimise(f, solver(1e-6, 1e-6), START, max_steps=3000, throw=False).value
    np.testing.assert_allclose(found, 1.0, atol=0.05)


@pytest.mark.parametrize("solver", [optx.Newton, optx.Chord, optx.Dogleg, optx.LevenbergMarquardt])
def test_roots_and_their_derivatives(solver):
    root = lambda a: optx.root_find(lambda y, a: y**2 - a, solver(1e-3, 1e-3), jnp.array(1.2), a).value
    assert abs(float(root(2.0)) - 2**0.5) < 5e-3
    assert abs(float(jax.grad(root)(2.0)) - 0.5 / 2**0.5) < 5e-3
    np.testing.assert_allclose(jax.jit(jax.vmap(root))(jnp.array([1.5, 2.0])), np.sqrt([1.5, 2.0]), atol=5e-3)


def test_bisection():
    options = {"lower": 0.0, "upper": 4.0}
    found = optx.root_find(lambda y, a: y**2 - 2, optx.Bisection(1e-5, 1e-5), jnp.array(1.0), options=options)
    assert abs(float(found.value) - 2**0.5) < 1e-3


def test_fixed_points():
    found = optx.fixed_point(lambda y, a: jnp.cos(y), optx.FixedPointIteration(1e-5, 1e-5), 0.5).value
    assert abs(float(found) - 0.739085) < 1e-3


def test_a_solver_that_fails_is_an_error():
    with pytest.raises(Exception, match="maximum number of steps"):
        optx.root_find(lambda y, a: y**2 + 1, optx.Newton(1e-6, 1e-6), jnp.array(1.0), max_steps=4)


def test_a_minimiser_of_optax_and_the_best_point():
    f = lambda x, args: jnp.sum((x - 2.0) ** 2)
    solver = optx.BestSoFarMinimiser(optx.OptaxMinimiser(optax.adam(0.3), 1e-4, 1e-4))
    np.testing.assert_allclose(optx.minimise(f, solver, jnp.zeros(2), max_steps=500, throw=False).value, 2.0, atol=1e-2)
    for solver in (optx.GradientDescent(0.1, 1e-5, 1e-5), optx.NonlinearCG(1e-5, 1e-5)):
        np.testing.assert_allclose(optx.minimise(f, solver, jnp.zeros(2), max_steps=500).value, 2.0, atol=1e-2)


def test_parameters_are_trees_and_extra_results_are_kept():
    def f(params, args):
        error = params["slope"] * args[0] + params["offset"] - args[1]
        return error, {"largest": jnp.abs(error).max()}

    x = jnp.linspace(0.0, 1.0, 8)
    solver, start = optx.LevenbergMarquardt(1e-6, 1e-6), {"slope": jnp.array(0.0), "offset": jnp.array(0.0)}
    found = optx.least_squares(f, solver, start, (x, 3 * x - 1), has_aux=True)
    assert abs(float(found.value["slope"]) - 3) < 1e-3
    assert float(found.aux["largest"]) < 1e-2
    assert found.result == optx.RESULTS.successful


@pytest.mark.parametrize("adjoint", [optx.ImplicitAdjoint, optx.RecursiveCheckpointAdjoint])
def test_the_derivative_of_a_minimum(adjoint):
    f = lambda x, a: jnp.sum((x - a) ** 2 + x**2)
    solve = lambda a: optx.minimise(f, optx.BFGS(1e-6, 1e-6), jnp.zeros(2), a, adjoint=adjoint()).value.sum()
    assert abs(float(solve(3.0)) - 3.0) < 1e-3
    assert abs(float(jax.grad(solve)(3.0)) - 1.0) < 1e-2


def test_many_minima_at_once():
    solve = lambda a: optx.minimise(lambda x, a: jnp.cosh(x - a), optx.BFGS(1e-5, 1e-5), jnp.array(0.0), a).value
    np.testing.assert_allclose(jax.jit(jax.vmap(solve))(jnp.array([0.5, 1.5])), [0.5, 1.5], atol=1e-2)


def test_a_solver_works_step_by_step():
    solver, f = optx.Newton(1e-5, 1e-5), lambda y, args: (y**2 - 2.0, None)
    struct = jax.eval_shape(lambda: jnp.array(1.0))
    y, state = jnp.array(1.0), solver.init(f, jnp.array(1.0), None, {}, struct, None, frozenset())
    for _ in range(6):
        y, state, _ = solver.step(f, y, None, {}, state, frozenset())
    assert abs(float(y) - 2**0.5) < 1e-5
