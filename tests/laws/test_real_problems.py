"""Problems that people differentiate, as they would write them: Hessians, third derivatives, mixed modes.

Each result is compared with differences or with a closed form that no rule knows, run eagerly and compiled.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from calque import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    lax,
    value_and_grad,
    vmap,
)
from calque_autodiff import custom_root

pytestmark = pytest.mark.sampled(keep=0.1)

RNG = np.random.default_rng(20)
each_way = pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eagerly", "compiled"])


def slope(f, x, step=1e-3):
    """Return the derivative of a function of a number by differences of fourth order."""
    near, far = (np.asarray(f(x + h * step)) - np.asarray(f(x - h * step)) for h in (1, 2))
    return (8.0 * near - far) / (12.0 * step)


def slopes(f, x, step=1e-3):
    """Return the Jacobian of a function of a vector by differences, with the argument's axis last."""
    return np.stack([slope(lambda t, e=e: f(x + t * e), 0.0, step) for e in np.eye(len(x))], axis=-1)


def assert_close(found, wanted, tolerance=1e-8):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=tolerance, atol=tolerance)


@custom_jvp
def log1pexp(x):
    """Return log(1 + exp x), which does not overflow, and whose derivative does not either."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return log1pexp(x), x_dot * lax.logistic(x)


def rk4(field, state, dt, steps):
    """Return the state after `steps` steps of the classical method of Runge and Kutta."""

    def step(y, _):
        k1 = field(y)
        k2 = field(y + 0.5 * dt * k1)
        k3 = field(y + 0.5 * dt * k2)
        k4 = field(y + dt * k3)
        return y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return lax.scan(step, state, None, length=steps)[0]


def eliminated(a, b):
    """Solve a x = b, and return x and the logarithm of det a, for a positive definite matrix."""
    n = b.shape[0]

    def step(carry, i):
        a, b, logdet = carry
        unit = np.where(lax.iota("int64", n) == i, 1.0, 0.0)
        row = unit @ a
        pivot = row @ unit
        column = unit - a @ unit
        a = a + np.expand_dims(column, 1) * (row / pivot)
        return (a, b + column * (unit @ b / pivot), logdet + np.log(pivot)), None

    (_, x, logdet), _ = lax.scan(step, (a, b, 0.0), np.arange(n))
    return x, logdet


# Logistic regression

POINTS, LABELS = RNG.normal(size=(40, 3)), np.sign(RNG.normal(size=40))


def logistic_loss(w):
    return np.mean(log1pexp(-LABELS * (POINTS @ w))) + 0.05 * (w @ w)


@each_way
@pytest.mark.parametrize("modes", [hessian, lambda f: jacrev(jacrev(f)), lambda f: jacrev(jacfwd(f))])
def test_the_hessian_of_logistic_regression_is_that_of_the_textbook(run, modes):
    w = np.array([0.3, -0.2, 0.5])
    p = 1.0 / (1.0 + np.exp(-(POINTS @ w)))
    wanted = POINTS.T @ (POINTS * (p * (1.0 - p))[:, None]) / len(POINTS) + 0.1 * np.eye(3)
    assert_close(run(modes(logistic_loss))(w), wanted, 1e-13)


@each_way
def test_newtons_method_for_logistic_regression_converges_quadratically(run):
    gradient, curvature = run(grad(logistic_loss)), run(hessian(logistic_loss))
    w, sizes = np.zeros(3), []
    for _ in range(7):
        g = np.asarray(gradient(w))
        sizes.append(np.linalg.norm(g))
        w = w - np.linalg.solve(np.asarray(curvature(w)), g)
    assert sizes[0] > 1e-2
    assert sizes[-1] < 1e-14
    assert_close(slopes(logistic_loss, w), np.zeros(3), 1e-11)


# Ordinary differential equations


def pendulum(start):
    """Return the state of a damped pendulum after 2 seconds."""
    rates = lambda y: np.stack([y[1], -np.sin(y[0]) - 0.1 * y[1]])
    return rk4(rates, start, 0.05, 40)


@each_way
def test_first_and_second_sensitivities_of_a_pendulum_agree_with_differences(run):
    start = np.array([1.0, 0.3])
    assert_close(jacfwd(pendulum)(start), slopes(pendulum, start))
    assert_close(run(jacrev(pendulum))(start), slopes(pendulum, start))
    assert_close(run(jacfwd(jacrev(pendulum)))(start), slopes(jacfwd(pendulum), start))


@each_way
def test_derivatives_of_decay_with_respect_to_its_rate_are_those_of_the_exponential(run):
    end = lambda k: rk4(lambda y: -k * y, 2.0, 0.02, 50)
    k, wanted = 1.3, 2.0 * np.exp(-1.3)
    for order, f in enumerate([end, grad(end), grad(grad(end)), lambda k: jvp(grad(grad(end)), (k,), (1.0,))[1]]):
        assert_close(run(f)(k), wanted * (-1.0) ** order, 1e-7)


# Equations


@each_way
def test_derivatives_of_a_fixed_point_agree_with_differences(run):
    def newton(f, x):
        return lax.fori_loop(0, 20, lambda _, x: x - f(x) / jvp(f, (x,), (1.0,))[1], x)

    def fixed_point(a):
        return custom_root(lambda x: np.cos(a * x) - x, 0.5, newton, lambda g, y: y / g(1.0))

    first, second = grad(fixed_point), grad(grad(fixed_point))
    third = lambda a: jvp(second, (a,), (1.0,))[1]
    assert_close(np.cos(1.2 * np.asarray(run(fixed_point)(1.2))), fixed_point(1.2), 1e-14)
    for f, derivative in ((fixed_point, first), (first, second), (second, third)):
        assert_close(run(derivative)(1.2), slope(f, 1.2), 1e-9)


@custom_vjp
def eccentric_anomaly(mean, e):
    """Solve Kepler's equation E - e sin E = mean for E."""
    body = lambda _, x: x - (x - e * np.sin(x) - mean) / (1.0 - e * np.cos(x))
    return lax.fori_loop(0, 12, body, mean + e * np.sin(mean))


def kepler_fwd(mean, e):
    x = eccentric_anomaly(mean, e)
    return x, (x, e)


def kepler_bwd(residuals, ct):
    x, e = residuals
    scaled = ct / (1.0 - e * np.cos(x))
    return scaled, scaled * np.sin(x)


def kepler_jvp(primals, tangents):
    x, (mean_dot, e_dot) = eccentric_anomaly(*primals), tangents
    return x, (mean_dot + e_dot * np.sin(x)) / (1.0 - primals[1] * np.cos(x))


eccentric_anomaly.defvjp(kepler_fwd, kepler_bwd, jvp=kepler_jvp)


@each_way
@pytest.mark.parametrize("modes", [(jacrev, jacrev), (jacfwd, jacrev), (jacrev, jacfwd), (jacfwd, jacfwd)])
def test_first_and_second_derivatives_of_keplers_equation_agree_with_differences(run, modes):
    outer, inner = modes
    orbit = lambda p: eccentric_anomaly(p[0], p[1])
    p = np.array([1.1, 0.4])
    assert_close(run(inner(orbit))(p), slopes(orbit, p), 1e-10)
    assert_close(run(outer(inner(orbit)))(p), slopes(jacrev(orbit), p), 1e-10)


@each_way
def test_a_planet_at_many_times_has_the_speed_that_differences_give(run):
    times = np.linspace(0.0, 6.0, 7)
    velocity = vmap(grad(lambda t: np.cos(eccentric_anomaly(t, 0.6)) - 0.6))
    assert_close(run(velocity)(times), [slope(lambda t: np.cos(eccentric_anomaly(t, 0.6)), t) for t in times], 1e-9)


# Finance


@custom_jvp
def error_function(x):
    """Return erf x by its series, whose terms all have the sign of x."""
    term = lambda carry, n: ((carry[0] * 2.0 * x * x / (2.0 * n + 1.0), carry[1] + carry[0]), None)
    (_, total), _ = lax.scan(term, (x, 0.0 * x), np.arange(1.0, 80.0))
    return 2.0 / math.sqrt(math.pi) * np.exp(-x * x) * total


@error_function.defjvp
def error_function_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return error_function(x), 2.0 / math.sqrt(math.pi) * np.exp(-x * x) * x_dot


def call_price(spot, volatility, maturity, rate=0.03, strike=100.0):
    """Return the price of an option to buy, by Black and Scholes."""
    normal = lambda x: 0.5 * (1.0 + error_function(x / math.sqrt(2.0)))
    spread = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / spread
    return spot * normal(d1) - strike * np.exp(-rate * maturity) * normal(d1 - spread)


SPOTS = np.array([80.0, 95.0, 101.0, 130.0])


@each_way
def test_greeks_to_third_order_are_those_of_the_textbook(run):
    volatility, maturity, rate = 0.25, 0.7, 0.03
    spread = volatility * math.sqrt(maturity)
    d1 = (np.log(SPOTS / 100.0) + (rate + 0.5 * volatility**2) * maturity) / spread
    density = np.exp(-0.5 * d1**2) / math.sqrt(2.0 * math.pi)
    gamma, vega = density / (SPOTS * spread), SPOTS * density * math.sqrt(maturity)
    by_spot, by_volatility = (lambda f: grad(f, 0)), (lambda f: grad(f, 1))
    greeks = {
        "delta": (by_spot(call_price), [0.5 * math.erfc(-x / math.sqrt(2.0)) for x in d1]),
        "gamma": (by_spot(by_spot(call_price)), gamma),
        "vega": (by_volatility(call_price), vega),
        "vanna": (by_volatility(by_spot(call_price)), vega / SPOTS * (1.0 - d1 / spread)),
        "volga": (by_volatility(by_volatility(call_price)), vega * d1 * (d1 - spread) / volatility),
        "speed": (by_spot(by_spot(by_spot(call_price))), -gamma / SPOTS * (d1 / spread + 1.0)),
        "zomma": (by_volatility(by_spot(by_spot(call_price))), gamma * (d1 * (d1 - spread) - 1.0) / volatility),
    }
    for greek, wanted in greeks.values():
        assert_close(run(vmap(greek, (0, None, None)))(SPOTS, volatility, maturity), wanted, 1e-12)


# Optimization


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@each_way
def test_newtons_method_finds_the_minimum_of_rosenbrocks_valley(run):
    gradient, curvature = run(grad(rosenbrock)), run(hessian(rosenbrock))
    x = np.array([0.8, 0.7, 0.6, 0.4])
    for _ in range(12):
        x = x - np.linalg.solve(np.asarray(curvature(x)), np.asarray(gradient(x)))
    assert_close(x, np.ones(4), 1e-12)


@each_way
def test_the_third_derivative_of_rosenbrocks_valley_is_symmetric_and_that_of_a_polynomial(run):
    x = np.array([0.8, 0.7, 0.6])
    third = np.asarray(run(jacfwd(jacrev(jacfwd(rosenbrock))))(x))
    wanted = np.zeros((3, 3, 3))
    for i in range(2):  # of 100 (y - x^2)^2
        wanted[i, i, i] = 2400.0 * x[i]
        for place in ((i, i, i + 1), (i, i + 1, i), (i + 1, i, i)):
            wanted[place] = -400.0
    assert_close(third, wanted, 1e-10)


# Statistics

INPUTS = np.linspace(-2.0, 2.0, 8)
OUTPUTS = np.sin(INPUTS) + 0.1 * RNG.normal(size=8)


def covariance(p):
    distance = INPUTS[:, None] - INPUTS
    return np.exp(p[0]) * np.exp(-0.5 * distance**2 * np.exp(-2.0 * p[1])) + np.exp(p[2]) * np.eye(8)


def marginal_likelihood(p):
    """Return the logarithm of the likelihood of a Gaussian process, up to a constant."""
    weights, logdet = eliminated(covariance(p), OUTPUTS)
    return -0.5 * (OUTPUTS @ weights) - 0.5 * logdet


@each_way
def test_the_gradient_of_the_likelihood_of_a_gaussian_process_is_that_of_the_textbook(run):
    p = np.array([0.2, 0.1, -3.0])
    inverse = np.linalg.inv(covariance(p))
    weights = inverse @ OUTPUTS
    signal = covariance(p) - np.exp(p[2]) * np.eye(8)
    distance = (INPUTS[:, None] - INPUTS) ** 2 * np.exp(-2.0 * p[1])
    changes = [signal, signal * distance, np.exp(p[2]) * np.eye(8)]
    wanted = [0.5 * np.trace((np.outer(weights, weights) - inverse) @ change) for change in changes]
    value, found = run(value_and_grad(marginal_likelihood))(p)
    assert_close(value, -0.5 * OUTPUTS @ weights - 0.5 * np.linalg.slogdet(covariance(p))[1], 1e-11)
    assert_close(found, wanted, 1e-10)


@each_way
def test_the_hessian_of_the_likelihood_of_a_gaussian_process_agrees_with_differences(run):
    p = np.array([0.2, 0.1, -3.0])
    assert_close(run(hessian(marginal_likelihood))(p), slopes(grad(marginal_likelihood), p), 1e-8)


@custom_jvp
def logdet(a):
    """Return log det of a positive definite matrix."""
    return eliminated(a, a[0])[1]


@logdet.defjvp
def logdet_jvp(primals, tangents):
    (a,), (a_dot,) = primals, tangents
    solved = vmap(lambda b: eliminated(a, b)[0], in_axes=1, out_axes=1)(a_dot)
    return logdet(a), np.sum(solved * np.eye(a.shape[0]))


@each_way
def test_three_derivatives_of_a_log_determinant_are_traces_of_powers(run):
    a, b = POINTS[:3] @ POINTS[:3].T + 3.0 * np.eye(3), np.diag([1.0, 2.0, -1.0]) + 0.3
    along = lambda t: logdet(a + t * b)
    m = np.linalg.solve(a, b)
    assert_close(along(0.0), np.linalg.slogdet(a)[1], 1e-13)
    assert_close(run(jacrev(logdet))(a), np.linalg.inv(a).T, 1e-12)
    assert_close(run(grad(grad(along)))(0.0), -np.trace(m @ m), 1e-12)
    third = jvp(lambda t: jvp(grad(along), (t,), (1.0,))[1], (0.0,), (1.0,))[1]
    assert_close(third, 2.0 * np.trace(m @ m @ m), 1e-12)


def mixture_likelihood(p, xs):
    """Return the logarithm of the likelihood of a mixture of two normal distributions."""
    part = lambda m, s: -0.5 * ((xs - m) * np.exp(-s)) ** 2 - s
    first, second = part(p[0], p[1]), part(p[2], p[3])
    return np.sum(first + log1pexp(second - first + p[4]) - log1pexp(p[4]))


@each_way
def test_a_mixture_model_has_the_derivatives_that_differences_give(run):
    p, xs = np.array([-1.0, 0.1, 2.0, -0.2, 0.3]), 2.0 * POINTS[:12, 0]
    f = lambda p: mixture_likelihood(p, xs)
    assert_close(run(grad(f))(p), slopes(f, p), 1e-8)
    assert_close(run(hessian(f))(p), slopes(grad(f), p), 1e-8)


@each_way
def test_a_mixture_model_stays_finite_for_points_far_away(run):
    p, far = np.array([-1.0, 0.0, 2.0, 0.0, 0.3]), np.array([500.0, -500.0])
    wanted = [-499.0, 499.0**2 - 1.0, 498.0, 498.0**2 - 1.0]
    found = np.asarray(run(grad(lambda p: mixture_likelihood(p, far)))(p))
    assert_close(found[:4], wanted, 1e-12)  # each point belongs to the nearer part alone
    assert np.isfinite(np.asarray(run(hessian(lambda p: mixture_likelihood(p, far)))(p))).all()


@each_way
def test_laplaces_approximation_of_the_gamma_function_is_stirlings_formula(run):
    def newton(f, x):
        return lax.fori_loop(0, 30, lambda _, x: x - f(x) / jvp(f, (x,), (1.0,))[1], x)

    def approximation(a):
        exponent = lambda x: a * np.log(x) - x
        mode = custom_root(grad(exponent), 4.0, newton, lambda g, y: y / g(1.0))
        return exponent(mode) + 0.5 * np.log(2.0 * math.pi / -grad(grad(exponent))(mode))

    a = 5.0
    stirling = a * math.log(a) - a + 0.5 * math.log(2.0 * math.pi * a)
    assert_close(run(approximation)(a), stirling, 1e-13)
    assert_close(run(grad(approximation))(a), math.log(a) + 0.5 / a, 1e-13)
    assert_close(run(grad(grad(approximation)))(a), 1.0 / a - 0.5 / a**2, 1e-13)


@each_way
def test_derivatives_of_a_log_partition_function_are_the_cumulants(run):
    levels = np.array([-1.0, 0.2, 0.7, 2.5])
    log_partition = lambda t: np.log(np.sum(np.exp(t * levels)))
    t = 0.4
    p = np.exp(t * levels) / np.sum(np.exp(t * levels))
    mean = p @ levels
    second, third, fourth = (p @ (levels - mean) ** n for n in (2, 3, 4))
    derivatives, wanted = [grad(log_partition)], [mean, second, third, fourth - 3.0 * second**2]
    for _ in range(3):
        derivatives.append(grad(derivatives[-1]))
    for f, cumulant in zip(derivatives, wanted, strict=True):
        assert_close(run(f)(t), cumulant, 1e-12)
    mixed = lambda t: jvp(grad(lambda s: jvp(log_partition, (s,), (1.0,))[1]), (t,), (1.0,))[1]
    assert_close(run(mixed)(t), third, 1e-12)


# Learning


def cross_entropy(logits, label):
    top = np.max(logits)
    return np.log(np.sum(np.exp(logits - top))) + top - np.sum(np.where(np.arange(len(logits)) == label, logits, 0.0))


@each_way
def test_the_hessian_of_cross_entropy_times_a_vector_is_that_of_the_textbook(run):
    logits, v = np.array([0.3, -1.0, 2.0, 0.5]), np.array([1.0, 0.5, -2.0, 0.1])
    p = np.exp(logits) / np.sum(np.exp(logits))
    f = lambda z: cross_entropy(z, 2)
    wanted = p * v - p * (p @ v)
    assert_close(run(lambda z, v: hvp(f, (z,), (v,)))(logits, v), wanted, 1e-14)
    assert_close(run(lambda z, v: jvp(grad(f), (z,), (v,))[1])(logits, v), wanted, 1e-14)
    assert_close(run(lambda z, v: grad(lambda z: grad(f)(z) @ v)(z))(logits, v), wanted, 1e-14)


BATCH = RNG.normal(size=(6, 3)), RNG.integers(0, 2, 6)
PARAMS = {"w1": RNG.normal(size=(3, 4)), "b1": np.zeros(4), "w2": RNG.normal(size=(4, 2))}
DIRECTION = RNG.normal(size=(3, 4))


def network_loss(params, x, label):
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    return cross_entropy(hidden @ params["w2"], label)


@each_way
def test_gradients_of_each_example_are_those_of_the_examples_one_by_one(run):
    xs, labels = BATCH
    found = run(vmap(grad(network_loss), (None, 0, 0)))(PARAMS, xs, labels)
    for name in PARAMS:
        one_by_one = [np.asarray(grad(network_loss)(PARAMS, x, int(label))[name]) for x, label in zip(xs, labels)]
        assert_close(found[name], np.stack(one_by_one), 1e-13)
    total = grad(lambda p: np.sum(vmap(network_loss, (None, 0, 0))(p, xs, labels)))(PARAMS)
    assert_close(np.sum(np.asarray(found["w1"]), axis=0), total["w1"], 1e-13)


@each_way
def test_the_curvature_of_a_network_along_a_direction_agrees_with_differences(run):
    x, label = BATCH[0][0], 1
    loss = lambda w: network_loss({**PARAMS, "w1": w}, x, label)
    w, v = PARAMS["w1"], DIRECTION
    found = run(lambda w: hvp(loss, (w,), (v,)))(w)
    assert_close(found, slope(lambda t: grad(loss)(w + t * v), 0.0), 1e-9)


# Mechanics

LENGTHS = np.array([1.0, 0.7, 0.5, 0.3])


def hand(angles):
    """Return where a planar arm of several links ends."""
    total = np.tril(np.ones((4, 4))) @ angles
    return np.stack([np.sum(LENGTHS * np.cos(total)), np.sum(LENGTHS * np.sin(total))])


@each_way
def test_the_jacobian_of_an_arm_is_that_of_the_textbook_in_both_modes(run):
    angles = np.array([0.3, -0.5, 1.1, 0.2])
    total = np.cumsum(angles)
    moved = [[-(LENGTHS * np.sin(total))[i:].sum(), (LENGTHS * np.cos(total))[i:].sum()] for i in range(4)]
    assert_close(run(jacfwd(hand))(angles), np.transpose(moved), 1e-14)
    assert_close(run(jacrev(hand))(angles), np.transpose(moved), 1e-14)
    bent = [[-(LENGTHS * np.cos(total))[max(i, j) :].sum() for j in range(4)] for i in range(4)]
    assert_close(run(jacfwd(jacrev(hand)))(angles)[0], bent, 1e-14)


def lagrangian(q, q_dot):
    """Return kinetic less potential energy of a double pendulum of unit masses and rods."""
    a, b = q[0], q[1]
    kinetic = q_dot[0] ** 2 + 0.5 * q_dot[1] ** 2 + q_dot[0] * q_dot[1] * np.cos(a - b)
    return kinetic + 9.81 * (2.0 * np.cos(a) + np.cos(b))


def acceleration(q, q_dot):
    """Return what the equation of Euler and Lagrange says: d/dt L_v = L_q."""
    inertia = hessian(lagrangian, 1)(q, q_dot)
    force = grad(lagrangian, 0)(q, q_dot) - jacfwd(grad(lagrangian, 1), 0)(q, q_dot) @ q_dot
    return eliminated(inertia, force)[0]


@each_way
def test_a_double_pendulum_falls_as_the_textbook_says(run):
    q, v, g = np.array([1.2, -0.4]), np.array([0.3, 0.9]), 9.81
    sine, cosine = np.sin(q[0] - q[1]), np.cos(q[0] - q[1])
    forces = [-sine * v[1] ** 2 - 2.0 * g * np.sin(q[0]), sine * v[0] ** 2 - g * np.sin(q[1])]
    wanted = np.linalg.solve(np.array([[2.0, cosine], [cosine, 1.0]]), forces)
    assert_close(run(acceleration)(q, v), wanted, 1e-13)


def test_a_double_pendulum_keeps_its_energy_and_its_sensitivity_agrees_with_differences():
    def energy(state):
        q, v = state[:2], state[2:]
        return grad(lagrangian, 1)(q, v) @ v - lagrangian(q, v)

    rates = lambda y: np.concatenate([y[2:], acceleration(y[:2], y[2:])])
    end = lambda y: rk4(rates, y, 0.01, 40)
    start = np.array([1.2, -0.4, 0.0, 0.0])
    assert_close(energy(np.asarray(end(start))), energy(start), 1e-6)
    along = lambda t: end(start + t * np.array([1.0, 0.0, 0.0, 0.0]))
    assert_close(jvp(along, (0.0,), (1.0,))[1], slope(along, 0.0), 1e-8)


# Fields


def heat(source, checkpointed=True):
    """Return the temperature of a rod after 30 steps, heated where the source says."""

    def step(u, _):
        flow = np.concatenate([u[:1], u[:-1]]) - 2.0 * u + np.concatenate([u[1:], u[-1:]])
        return u + 0.2 * flow + 0.01 * source * (1.0 - u**2), None

    return lax.scan(checkpoint(step) if checkpointed else step, np.zeros(10), None, length=30)[0]


SOURCE = np.exp(-((np.arange(10.0) - 3.0) ** 2))
MEASURED = heat(SOURCE)


def misfit(source, checkpointed=True):
    return 100.0 * np.sum((heat(source, checkpointed) - MEASURED) ** 2)


@each_way
def test_the_gradient_of_an_inverse_problem_is_the_same_with_and_without_checkpoints(run):
    guess = 0.5 * SOURCE + 0.1
    found = run(grad(misfit))(guess)
    assert_close(found, run(grad(lambda s: misfit(s, checkpointed=False)))(guess), 1e-12)
    assert_close(found, slopes(misfit, guess), 1e-8)


def test_an_inverse_problem_is_solved_by_newtons_method():
    gradient, curvature = jit(grad(misfit)), jit(hessian(misfit))
    source = 0.9 * SOURCE + 0.02
    for _ in range(8):
        source = source - np.linalg.solve(np.asarray(curvature(source)), np.asarray(gradient(source)))
    assert_close(source, SOURCE, 1e-6)


@each_way
def test_predator_and_prey_in_a_loop_that_ends_by_itself_have_the_derivatives_that_differences_give(run):
    def rates(y):
        return np.stack([y[0] * (1.0 - y[1]), y[1] * (y[0] - 1.0)])

    def until(start, limit=3.0):
        def step(state):
            y, t = state
            k = rates(y + 0.025 * rates(y))
            return y + 0.05 * k, t + 0.05

        return lax.while_loop(lambda state: state[1] < limit - 1e-9, step, (start, 0.0), max_steps=64)[0]

    kept = lambda y: np.sum(y - np.log(y))
    start = np.array([1.4, 0.8])
    assert_close(kept(np.asarray(run(until)(start))), kept(start), 1e-3)
    wanted = slopes(until, start)
    assert_close(run(jacrev(until))(start), wanted, 1e-9)
    assert_close(run(jacfwd(until))(start), wanted, 1e-9)
    assert_close(run(jacfwd(jacrev(until)))(start), slopes(jacfwd(until), start), 1e-8)
