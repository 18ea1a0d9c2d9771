"""Rows: loops as compiled programs, and tracing the gradient of one.

One idea: a step of these loops is so small that what a loop adds to it shows: copies, slices, the counter.
Read next: `trees.py`; `compiled.py` has programs without loops.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from kits import Function, Kit, fresh, kits
from measure import Effort, Samples, check_agreement, race
from table import row

BOTH = ("calque", "jax")
STEPS, WIDTH = 1_000, 32
BODIES, LEAPS, LEAP = 64, 200, 1e-3
UNKNOWNS, CONDITION, TOLERANCE = 128, 100.0, 1e-4
ORBITS, POINTS, RK4_STEPS, INTERVAL = 1_024, 100, 100, 0.01
Program = tuple[Function, tuple[Any, ...]]  # with its arguments
loop_row = partial(row, needs="calque_xla_backend", budget=1.0, jax=1.0)


def rnn_params_and_inputs() -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    inner, outer = (rng.standard_normal((2, WIDTH, WIDTH)) / np.sqrt(2 * WIDTH)).astype(np.float32)
    xs = rng.standard_normal((STEPS, WIDTH)).astype(np.float32)
    return (inner, outer, np.zeros(WIDTH, np.float32)), np.zeros(WIDTH, np.float32), xs


def rnn(kit: Kit) -> Program:
    """Return (params, h, xs) -> the last state and all states of a recurrent network."""
    xp = kit.numpy

    def states(params: Any, h: Any, xs: Any) -> Any:
        inner, outer, bias = params

        def step(h: Any, x: Any) -> Any:
            h = xp.tanh(h @ inner + x @ outer + bias)
            return h, h

        return kit.lax.scan(step, h, xs)

    return states, rnn_params_and_inputs()


def rnn_loss_grad(kit: Kit) -> Program:
    """Return (params, h, xs) -> the gradient in params of the mean square of the network's states."""
    states, args = rnn(kit)

    def loss(*args: Any) -> Any:
        ys = states(*args)[1]
        return kit.numpy.mean(ys * ys)

    return kit.grad(loss), args


def n_body(kit: Kit) -> Program:
    """Return (positions, velocities) -> both after some leaps under softened gravity.  Shapes: [n, 3] each."""
    xp = kit.numpy

    def acceleration(positions: Any) -> Any:
        apart = positions[None, :, :] - positions[:, None, :]
        squares = xp.sum(apart * apart, axis=-1) + 0.01
        return xp.sum(apart / (squares * xp.sqrt(squares))[:, :, None], axis=1)

    def leap(_: Any, state: Any) -> Any:
        positions, velocities = state
        velocities = velocities + LEAP * acceleration(positions)
        return positions + LEAP * velocities, velocities

    def simulate(positions: Any, velocities: Any) -> Any:
        return kit.lax.fori_loop(0, LEAPS, leap, (positions, velocities))

    positions, velocities = np.random.default_rng(1).standard_normal((2, BODIES, 3)).astype(np.float32)
    return simulate, (positions, velocities)


def conjugate_gradient(kit: Kit) -> Program:
    """Return (matrix, b) -> the solution of a linear system, and in how many steps it was found."""

    def solve(matrix: Any, b: Any) -> Any:
        enough = TOLERANCE**2 * (b @ b)

        def step(state: Any) -> Any:
            x, residual, direction, square, steps = state
            image = matrix @ direction
            length = square / (direction @ image)
            residual = residual - length * image
            new_square = residual @ residual
            direction = residual + new_square / square * direction
            return x + length * state[2], residual, direction, new_square, steps + 1

        start = (0.0 * b, b, b, b @ b, np.int32(0))
        x, _, _, _, steps = kit.lax.while_loop(lambda state: state[3] > enough, step, start)
        return x, steps

    return solve, linear_system()


def kepler(kit: Kit) -> Program:
    """Return (mean anomalies, eccentricities) -> eccentric anomalies, each found in as many steps as it takes."""
    sin = kit.lax.sin

    def anomaly(mean: Any, eccentricity: Any) -> Any:
        def goes_on(state: Any) -> Any:
            angle, before = state
            return (angle - before) * (angle - before) > 1e-9

        def step(state: Any) -> Any:
            angle, _ = state
            return mean + eccentricity * sin(angle), angle

        return kit.lax.while_loop(goes_on, step, (mean + eccentricity, mean))[:1]

    rng = np.random.default_rng(3)
    means, eccentricities = rng.uniform(0.0, np.pi, ORBITS), rng.uniform(0.0, 0.95, ORBITS)
    return kit.vmap(anomaly), (means.astype(np.float32), eccentricities.astype(np.float32))


def lorenz(kit: Kit) -> Program:
    """Return (points,) -> a list of the points after some steps of RK4 in Lorenz's system.  Shape: [n, 3]."""
    xp = kit.numpy

    def velocity(point: Any) -> Any:
        x, y, z = point[0], point[1], point[2]
        return xp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(_: Any, point: Any) -> Any:
        first = velocity(point)
        second = velocity(point + INTERVAL / 2 * first)
        third = velocity(point + INTERVAL / 2 * second)
        fourth = velocity(point + INTERVAL * third)
        return point + INTERVAL / 6 * (first + 2 * second + 2 * third + fourth)

    def trajectory(point: Any) -> Any:
        return [kit.lax.fori_loop(0, RK4_STEPS, step, point)]

    return kit.vmap(trajectory), (np.random.default_rng(4).standard_normal((POINTS, 3)).astype(np.float32),)


def linear_system() -> tuple[np.ndarray, np.ndarray]:
    """Return a symmetric positive matrix whose eigenvalues are spread evenly, and a right-hand side."""
    rng = np.random.default_rng(2)
    basis, _ = np.linalg.qr(rng.standard_normal((UNKNOWNS, UNKNOWNS)))
    matrix = basis * np.linspace(1.0, CONDITION, UNKNOWNS) @ basis.T
    return matrix.astype(np.float32), rng.standard_normal(UNKNOWNS).astype(np.float32)


@loop_row("compiled scan: RNN, 1000 steps of width 32", "us")
def rnn_forward(effort: Effort) -> Samples:
    return race_programs(effort, rnn)


@loop_row("compiled scan: grad of the RNN", "us")
def rnn_grad(effort: Effort) -> Samples:
    return race_programs(effort, rnn_loss_grad)


@loop_row("compiled fori_loop: 64 bodies, 200 steps", "us")
def n_body_steps(effort: Effort) -> Samples:
    return race_programs(effort, n_body)


@loop_row("compiled while_loop: conjugate gradient, 128 unknowns", "us")
def conjugate_gradient_steps(effort: Effort) -> Samples:
    return race_programs(effort, conjugate_gradient)


@loop_row("compiled vmap of a while_loop: 1024 Kepler equations", "us")
def kepler_steps(effort: Effort) -> Samples:
    return race_programs(effort, kepler)


@loop_row("compiled vmap of a fori_loop: 100 Lorenz points, 100 RK4 steps", "us")
def lorenz_steps(effort: Effort) -> Samples:
    return race_programs(effort, lorenz)


def race_programs(effort: Effort, make: Function) -> Samples:
    """Race compiled programs on device arrays; each call waits for its own results."""
    calls = {k.name: WaitingCall(k, *make(k)) for k in kits(*BOTH)}
    check_agreement({name: call.all_results() for name, call in calls.items()})
    return race(effort, calls, per=1, unit=1e-6)


class WaitingCall:
    """A call of a compiled program, which is over when a result, and so all of them, is there."""

    def __init__(self, kit: Kit, f: Function, args: tuple[Any, ...]) -> None:
        self.kit, self.f = kit, kit.jit(f)
        self.args = kit.tree_map(kit.device_put, args)

    def __call__(self) -> np.ndarray:
        return np.asarray(self.f(*self.args)[0])

    def all_results(self) -> np.ndarray:
        leaves, _ = self.kit.flatten(self.f(*self.args))
        return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in leaves])


@row("trace of grad of the RNN scan", "ms", budget=1.0, jax=1.0)
def rnn_grad_trace(effort: Effort) -> Samples:
    traces = {k.name: partial(trace_afresh, k, *rnn_loss_grad(k)) for k in kits(*BOTH)}
    return race(effort, traces, per=1, unit=1e-3)


def trace_afresh(kit: Kit, f: Function, args: tuple[Any, ...]) -> Any:
    return kit.make_jaxpr(fresh(f))(*args)
