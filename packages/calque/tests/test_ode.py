"""`odeint`: known solutions, derivatives by differences, ends of the search for steps, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

import calque
from calque.ode import odeint

TIMES = np.array([0.0, 0.3, 1.0, 2.5])


def hunt(y, t, birth, death):
    hares, lynxes = y["hares"], y["lynxes"]
    return {"hares": birth * hares - hares * lynxes + 0.1 * np.cos(t), "lynxes": hares * lynxes - death * lynxes}


START = {"hares": np.array(1.5), "lynxes": np.array(0.5)}


def summary(start, times, birth, death):
    path = odeint(hunt, start, times, birth, death)
    return np.sum(np.sin(path["hares"] + np.arange(4)) * path["lynxes"])


def test_known_solutions_are_found():
    np.testing.assert_allclose(odeint(lambda y, t: -2 * t * y, 1.0, TIMES), np.exp(-(TIMES**2)), atol=1e-7)
    np.testing.assert_allclose(odeint(lambda y, t: 1j * y, 1 + 0j, TIMES), np.exp(1j * TIMES), atol=1e-7)
    state = odeint(lambda y, t: {"x": y["v"], "v": -y["x"]}, {"x": np.zeros(2), "v": np.ones(2)}, TIMES)
    np.testing.assert_allclose(state["x"], np.sin(TIMES)[:, None] * np.ones(2), atol=1e-7)
    assert odeint(lambda y, t: -y, 3, np.array([1.0])).tolist() == [3.0]
    assert odeint(lambda y, t: -y, np.float32(1), TIMES).dtype == np.float32


def test_the_error_follows_the_tolerance():
    errors = []
    for tol in (1e-4, 1e-7, 1e-10):
        path = odeint(lambda y, t: np.cos(t) * y, 1.0, np.linspace(0.0, 5.0, 40), rtol=tol, atol=tol)
        errors.append(np.max(np.abs(path - np.exp(np.sin(np.linspace(0.0, 5.0, 40))))) / tol)
    assert max(errors) < 50.0
    assert errors[2] > 0.01


def test_where_steps_cannot_reach_a_time_the_solution_is_nan():
    assert np.isnan(odeint(lambda y, t: y * y, 2.0, TIMES)).tolist() == [False, False, True, True]
    assert np.isnan(odeint(lambda y, t: -y, 1.0, TIMES, mxstep=2)).tolist() == [False, True, True, True]
    assert np.isnan(odeint(lambda y, t: np.nan * y, 1.0, TIMES)).tolist() == [False, True, True, True]


def test_hmax_bounds_the_steps():
    calls = []
    velocity = lambda y, t: calque.pure_callback(lambda t: calls.append(float(t)) or t, t, t) * y * 0.0
    odeint(velocity, 1.0, np.array([0.0, 10.0]), hmax=0.5)
    assert len(calls) > 6 * 20
    calls.clear()
    odeint(velocity, 1.0, np.array([0.0, 10.0]))
    assert len(calls) < 6 * 20


def test_both_modes_agree_with_differences():
    args = START, TIMES, 1.1, 0.7
    reverse = calque.grad(summary, argnums=(0, 1, 2, 3))(*args)
    forward = calque.jacfwd(summary, argnums=(0, 1, 2, 3))(*args)
    h = 1e-4
    by_birth = (summary(START, TIMES, 1.1 + h, 0.7) - summary(START, TIMES, 1.1 - h, 0.7)) / (2 * h)
    by_times = [
        (summary(START, TIMES + h * e, 1.1, 0.7) - summary(START, TIMES - h * e, 1.1, 0.7)) / (2 * h) for e in np.eye(4)
    ]
    by_hares = [summary({**START, "hares": START["hares"] + s}, *args[1:]) / (2 * s) for s in (h, -h)]
    for start_bar, t_bar, birth_bar, _ in (reverse, forward):
        np.testing.assert_allclose(birth_bar, by_birth, atol=2e-6)
        np.testing.assert_allclose(t_bar, by_times, atol=2e-6)
        np.testing.assert_allclose(start_bar["hares"], sum(by_hares), atol=2e-6)
    np.testing.assert_allclose(reverse[3], forward[3], atol=1e-6)


def test_the_gradient_reaches_values_that_the_function_closes_over():
    loss = lambda birth: np.sum(odeint(lambda y, t: hunt(y, t, birth, 0.7), START, TIMES)["hares"])
    by_argument = lambda birth: np.sum(odeint(hunt, START, TIMES, birth, 0.7)["hares"])
    np.testing.assert_allclose(calque.grad(loss)(1.1), calque.grad(by_argument)(1.1), rtol=1e-9)


REFUSED = {
    "after the time 1.0 comes 0.5. Give times that grow": lambda: odeint(
        lambda y, t: y, 1.0, np.array([0.0, 1.0, 0.5])
    ),
    "the times are float64[]. Give a vector of times": lambda: odeint(lambda y, t: y, 1.0, 2.0),
    "the function returned (float64[],) for the state float64[]": lambda: odeint(lambda y, t: (y,), 1.0, TIMES),
    "the function returned complex128[] for the state float64[]": lambda: odeint(lambda y, t: 1j * y, 1.0, TIMES),
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_refusal_names_the_values_and_the_way_out(words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        REFUSED[words]()
