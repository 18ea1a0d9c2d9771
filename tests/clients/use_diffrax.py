"""Programs that use diffrax: explicit and implicit solvers, events, controls, derivatives, noise, learning."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import optimistix as optx
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


def test_trees_and_steps_are_saved():
    term = dfx.ODETerm(lambda t, y, args: {"x": y["v"], "v": -y["x"]})
    start = {"x": jnp.array(1.0), "v": jnp.array(0.0)}
    saveat = dfx.SaveAt(steps=True, t0=True, fn=lambda t, y, args: y["x"] ** 2 + y["v"] ** 2)
    solution = dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 3.0, 0.1, start, saveat=saveat, stepsize_controller=STEPS)
    energies = np.asarray(solution.ys)[np.isfinite(solution.ts)]
    np.testing.assert_allclose(energies, 1.0, atol=1e-3)
    assert int(solution.stats["num_accepted_steps"]) == len(energies) - 1


@pytest.mark.parametrize("solver", [dfx.SemiImplicitEuler, dfx.ReversibleHeun, dfx.LeapfrogMidpoint, dfx.Midpoint])
def test_solvers_with_constant_steps(solver):
    pair = solver is dfx.SemiImplicitEuler
    turn = (dfx.ODETerm(lambda t, v, args: v), dfx.ODETerm(lambda t, x, args: -x))
    start = (jnp.array(1.0), jnp.array(0.0)) if pair else jnp.array(1.0)
    found = dfx.diffeqsolve(turn if pair else DECAY, solver(), 0.0, 1.0, 0.01, start, args=1.0).ys
    expected = np.cos(1.0) if pair else np.exp(-1.0)
    assert abs(float((found[0] if pair else found)[-1]) - expected) < 2e-2


def test_a_stiff_system():
    rates = lambda t, y, args: jnp.array([-1e3 * (y[0] - jnp.cos(t)), y[0] - y[1]])
    controller = dfx.PIDController(1e-4, 1e-6)
    options = {"stepsize_controller": controller, "max_steps": 4096}
    found = dfx.diffeqsolve(dfx.ODETerm(rates), dfx.Kvaerno3(), 0.0, 1.0, 1e-3, jnp.zeros(2), **options)
    assert abs(float(found.ys[0, 0]) - np.cos(1.0)) < 1e-2


def test_too_few_steps_are_an_error():
    with pytest.raises(Exception, match="maximum number of solver steps"):
        final(dfx.Tsit5(), 1.0, max_steps=1, stepsize_controller=dfx.ConstantStepSize())


def test_an_event_is_found_by_a_root():
    event = dfx.Event(lambda t, y, args, **kwargs: y - 0.5, optx.Newton(1e-4, 1e-4))
    options = {"args": 1.0, "event": event, "stepsize_controller": STEPS}
    stop = lambda a: dfx.diffeqsolve(DECAY, dfx.Tsit5(), 0.0, 3.0, 0.1, jnp.array(1.0), **(options | {"args": a})).ts[
        -1
    ]
    assert abs(float(stop(1.0)) - np.log(2.0)) < 1e-3
    assert abs(float(jax.grad(stop)(1.0)) + np.log(2.0)) < 1e-2


def test_a_controlled_equation_follows_its_data():
    ts = jnp.linspace(0.0, 1.0, 8)
    data = jnp.stack([ts, jnp.sin(ts)], axis=1)
    path = dfx.CubicInterpolation(ts, dfx.backward_hermite_coefficients(ts, data))
    term = dfx.ControlTerm(lambda t, y, args: jnp.array([[0.0, 1.0]]), path).to_ode()
    found = dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 1.0, 0.05, jnp.zeros(1)).ys
    assert abs(float(found[0, 0]) - np.sin(1.0)) < 1e-3
    assert abs(float(dfx.LinearInterpolation(ts, data).evaluate(0.5)[1]) - np.sin(0.5)) < 1e-2


def test_paths_of_noise_are_drawn_at_once():
    def path(key):
        noise = dfx.UnsafeBrownianPath((), key)
        terms = dfx.MultiTerm(DECAY, dfx.ControlTerm(lambda t, y, args: 0.3, noise))
        options = {"args": 1.0, "adjoint": dfx.DirectAdjoint()}
        return dfx.diffeqsolve(terms, dfx.Euler(), 0.0, 1.0, 0.02, jnp.array(1.0), **options).ys[-1]

    ends = jax.jit(jax.vmap(path))(jax.random.split(jax.random.key(0), 200))
    assert abs(float(ends.mean()) - np.exp(-1.0)) < 0.1
    assert abs(float(ends.std()) - 0.3 * np.sqrt((1 - np.exp(-2.0)) / 2)) < 0.05


def test_a_neural_equation_learns():
    field = eqx.nn.MLP(1, 1, 8, 1, key=jax.random.key(0))
    optimiser = optax.adam(3e-2)
    starts = jnp.array([[0.5], [1.0], [2.0]])

    def loss(field):
        term = dfx.ODETerm(lambda t, y, args: field(y))
        end = lambda y: dfx.diffeqsolve(term, dfx.Heun(), 0.0, 1.0, 0.1, y).ys[-1]
        return jnp.mean((jax.vmap(end)(starts) - starts * jnp.exp(-1.0)) ** 2)

    @eqx.filter_jit
    def step(field, state):
        value, grads = eqx.filter_value_and_grad(loss)(field)
        updates, state = optimiser.update(grads, state)
        return eqx.apply_updates(field, updates), state, value

    state = optimiser.init(eqx.filter(field, eqx.is_array))
    losses = []
    for _ in range(60):
        field, state, value = step(field, state)
        losses.append(float(value))
    assert losses[-1] < 0.1 * losses[0]
