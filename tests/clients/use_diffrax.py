"""Programs that use diffrax: explicit and implicit solvers, events of time, derivatives, noise."""

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

DECAY = dfx.ODETerm(lambda t, y, args: -args * y)
STEPS = dfx.PIDController(1e-5, 1e-5)


def final(solver, a, **options):
    options = {"stepsize_controller": STEPS} | options
    return dfx.diffeqsolve(DECAY, solver, 0.0, 1.0, 0.1, jnp.array(1.0), args=a, **options).ys[-1]


@pytest.mark.parametrize("solver", [dfx.Tsit5, dfx.Dopri5, dfx.Dopri8, dfx.Heun, dfx.Bosh3, dfx.Kvaerno3, dfx.Kvaerno5])
def test_a_solver_decays(solver):
    assert abs(float(final(solver(), 2.0)) - np.exp(-2.0)) < 1e-3


@pytest.mark.parametrize("adjoint", [dfx.RecursiveCheckpointAdjoint, dfx.DirectAdjoint, dfx.BacksolveAdjoint])
def test_the_derivative_of_a_solution(adjoint):
    gradient = jax.grad(lambda a: final(dfx.Tsit5(), a, adjoint=adjoint()))(1.0)
    assert abs(float(gradient) + np.exp(-1.0)) < 1e-3


def test_many_solutions_at_once():
    ys = jax.jit(jax.vmap(lambda a: final(dfx.Tsit5(), a)))(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(ys, np.exp([-1.0, -2.0]), atol=1e-3)


def test_saved_times_and_dense_output():
    ts = jnp.linspace(0.0, 1.0, 5)
    options = {"saveat": dfx.SaveAt(ts=ts, dense=True), "stepsize_controller": STEPS}
    solution = dfx.diffeqsolve(DECAY, dfx.Tsit5(), 0.0, 1.0, 0.1, jnp.array(1.0), args=1.0, **options)
    np.testing.assert_allclose(solution.ys, np.exp(-ts), atol=1e-3)
    assert abs(float(solution.evaluate(0.3)) - np.exp(-0.3)) < 1e-3


def test_an_event_ends_the_integration():
    event = dfx.Event(lambda t, y, args, **kwargs: y < 0.5)
    solution = dfx.diffeqsolve(
        DECAY, dfx.Euler(), 0.0, 3.0, 0.01, jnp.array(1.0), args=1.0, event=event, max_steps=None
    )
    assert 0.6 < float(solution.ts[-1]) < 0.8


@pytest.mark.parametrize("make_key", [jax.random.key, jax.random.PRNGKey])
def test_noise(make_key):
    noise = dfx.VirtualBrownianTree(0.0, 1.0, 1e-3, (), make_key(0))
    terms = dfx.MultiTerm(DECAY, dfx.ControlTerm(lambda t, y, args: 0.1, noise))
    solution = dfx.diffeqsolve(terms, dfx.EulerHeun(), 0.0, 1.0, 0.05, jnp.array(1.0), args=1.0)
    assert np.isfinite(solution.ys).all()
