"""`calque.ode.odeint` beside SciPy's solver; compiled batches of gradients, and second derivatives."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.integrate

import calque
from calque.ode import odeint

TIMES = np.linspace(0.0, 4.0, 5)


def oscillate(y, t, mu):
    """The equation of van der Pol."""
    return np.stack([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])


def loss(start, mu, tol=1e-8):
    return np.sum(odeint(oscillate, start, TIMES, mu, rtol=tol, atol=tol) ** 2)


def test_the_path_agrees_with_scipy():
    start = np.array([2.0, 0.0])
    want = scipy.integrate.solve_ivp(
        lambda t, y: oscillate(y, t, 1.5), (0.0, 4.0), start, "DOP853", TIMES, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(odeint(oscillate, start, TIMES, 1.5), want.y.T, atol=1e-6)


def test_a_compiled_batch_of_gradients_equals_a_loop():
    starts, mus = np.array([[2.0, 0.0], [0.1, -1.0], [1.0, 3.0]]), np.array([0.5, 1.5, 3.0])
    gradient = calque.grad(loss, argnums=(0, 1))
    by_start, by_mu = calque.jit(calque.vmap(gradient))(starts, mus)
    for i in range(3):
        start_bar, mu_bar = gradient(starts[i], mus[i])
        np.testing.assert_allclose(by_start[i], start_bar, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(by_mu[i], mu_bar, rtol=1e-8, atol=1e-8)


def test_second_derivatives_agree_in_both_orders():
    start, gradient = np.array([1.0, 0.5]), calque.grad(partial(loss, tol=1e-5))
    forward, reverse = (jacobian(gradient)(start, 1.0) for jacobian in (calque.jacfwd, calque.jacrev))
    np.testing.assert_allclose(forward, reverse, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(forward, forward.T, rtol=1e-3, atol=1e-3)
