"""Programs that use optimistix: roots, minima, least squares, fixed points, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
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
    root = lambda a: optx.root_find(lambda y, a: y**2 - a, solver(1e-4, 1e-4), jnp.array(1.2), a).value
    assert abs(float(root(2.0)) - 2**0.5) < 1e-3
    assert abs(float(jax.grad(root)(2.0)) - 0.5 / 2**0.5) < 1e-3
    np.testing.assert_allclose(jax.jit(jax.vmap(root))(jnp.array([1.5, 2.0])), np.sqrt([1.5, 2.0]), atol=1e-3)


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
