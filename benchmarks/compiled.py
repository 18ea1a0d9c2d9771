"""Rows: calling compiled programs.

One idea: with small arrays a call is all dispatch, with a network's it is all XLA; the two show different faults.
Read next: `trees.py`, a part of each call.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from kits import Function, Kit, kits
from measure import Effort, Samples, check_agreement, race, warm_up
from programs import mlp_batch, mlp_params, mlp_step
from table import row
from trees import tree_of_198

BOTH = ("calque", "jax")
MANY = 5_000  # calls before a figure is taken, unless the time for warming ends first
compiled_row = partial(row, needs="calque_xla_backend")


def one_leaf(kit: Kit) -> tuple[Function, tuple]:
    """Return a function of a scalar."""
    return (lambda x: x + 1.0), (np.ones((), np.float32),)


def ten_leaves(kit: Kit) -> tuple[Function, tuple]:
    """Return a function of ten vectors, each a parameter, that gives as many."""
    return (lambda a, b, c, d, e, f, g, h, i, j: (b, c, d, e, f, g, h, i, j, a + 1.0)), ten_vectors()


def ten_variadic(kit: Kit) -> tuple[Function, tuple]:
    """Return the same function with `*args` for its parameters."""
    return (lambda *xs: (*xs[1:], xs[0] + 1.0)), ten_vectors()


def ten_vectors() -> tuple[np.ndarray, ...]:
    return tuple(np.full(8, i, np.float32) for i in range(10))


def descent_step(kit: Kit) -> tuple[Function, tuple]:
    """Return p, g -> p - 0.1 g over two trees of 198 leaves."""
    leaf = np.ones(8, np.float32)

    def step(params: Any, grads: Any) -> Any:
        return kit.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    return step, (tree_of_198(leaf), tree_of_198(leaf))


@compiled_row("warm jit call on device arrays: 1 leaf", "us", budget=1.0, jax=1.0)
def device_1(effort: Effort) -> Samples:
    return race_calls(effort, one_leaf, on_device=True)


@compiled_row("warm jit call on device arrays: 10 leaves", "us", budget=1.0, jax=1.0)
def device_10(effort: Effort) -> Samples:
    return race_calls(effort, ten_leaves, on_device=True)


@compiled_row("warm jit call on device arrays: 10 leaves, *args", "us", budget=1.0, jax=1.0)
def device_10_variadic(effort: Effort) -> Samples:
    return race_calls(effort, ten_variadic, on_device=True)


@compiled_row("warm jit call on device arrays: 198 + 198 leaves", "us", budget=1.0, jax=1.0)
def device_198(effort: Effort) -> Samples:
    return race_calls(effort, descent_step, on_device=True)


@compiled_row("warm jit call on NumPy arrays: 1 leaf", "us", budget=1.2, jax=1.0)
def host_1(effort: Effort) -> Samples:
    return race_calls(effort, one_leaf, on_device=False)


@compiled_row("warm jit call on NumPy arrays: 10 leaves", "us", budget=1.2, jax=1.0)
def host_10(effort: Effort) -> Samples:
    return race_calls(effort, ten_leaves, on_device=False)


@compiled_row("warm jit call on NumPy arrays: 198 + 198 leaves", "us", budget=1.2, jax=1.0)
def host_198(effort: Effort) -> Samples:
    return race_calls(effort, descent_step, on_device=False)


@compiled_row("warm jit calls on device arrays of two shapes in turn", "us", budget=1.2, jax=1.0)
def two_shapes(effort: Effort) -> Samples:
    """One function for batches of training and of tests, say: its programs are found by the types of each call."""

    def in_turn(f: Function, x: Any, y: Any) -> Function:
        return lambda: (f(x), f(y))

    calls = {}
    for kit in kits(*BOTH):
        arrays = [kit.device_put(np.ones(n, np.float32)) for n in (3, 4)]
        calls[kit.name] = in_turn(kit.jit(lambda x: x + 1.0), *arrays)
        warm_up(calls[kit.name], MANY, effort.warm_seconds)
    return race(effort, calls, per=2, unit=1e-6)


def race_calls(effort: Effort, program: Function, *, on_device: bool) -> Samples:
    calls = {}
    for kit in kits(*BOTH):
        f, args = program(kit)
        placed = kit.tree_map(kit.device_put, args) if on_device else args
        calls[kit.name] = partial(kit.jit(f), *placed)
        warm_up(calls[kit.name], MANY, effort.warm_seconds)
    return race(effort, calls, per=1, unit=1e-6)


@compiled_row("compiled steady state: MLP step, 128 images", "us", budget=1.0, jax=1.0)
def mlp(effort: Effort) -> Samples:
    """Each call takes the parameters of the one before, and waits for its own."""
    steps = {kit.name: MlpTraining(kit) for kit in kits(*BOTH)}
    check_agreement({name: step() for name, step in steps.items()})
    return race(effort, steps, per=1, unit=1e-6)


class MlpTraining:
    """A training loop: a call is one step, and returns the last layer's bias when it is there."""

    def __init__(self, kit: Kit) -> None:
        self.step = kit.jit(mlp_step(kit))
        self.params = kit.tree_map(kit.device_put, mlp_params())
        self.batch = kit.tree_map(kit.device_put, mlp_batch())

    def __call__(self) -> np.ndarray:
        self.params = self.step(self.params, *self.batch)
        return np.asarray(self.params[-1]["b"])
