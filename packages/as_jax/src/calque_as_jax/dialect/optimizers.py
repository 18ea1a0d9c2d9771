"""`jax.example_libraries.optimizers`: rules that move parameters along gradients, each a triple of functions.

One idea: a rule is written for one array, `init(x)`, `update(i, g, state)` and `params(state)`, and applied to each
leaf of a pytree; the state of a tree has the states of its leaves.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce, wraps
from typing import Any, NamedTuple

import calque.numpy as cnp
from calque_as_jax.values import to_arrays
from calque_pytree import register_pytree_node, tree_flatten, tree_leaves, tree_map

__all__ = [
    "Optimizer", "OptimizerState", "adagrad", "adam", "adamax", "clip_grads", "constant", "exponential_decay",
    "inverse_time_decay", "l2_norm", "make_schedule", "momentum", "nesterov", "optimizer", "piecewise_constant",
    "polynomial_decay", "rmsprop", "rmsprop_momentum", "sgd", "sm3",
]  # fmt: skip

Tree = Any
Schedule = Callable[[Any], Any]
Rule = tuple[Callable[[Any], Any], Callable[[Any, Any, Any], Any], Callable[[Any], Any]]


class Optimizer(NamedTuple):
    """The functions `init_fn(params)`, `update_fn(i, gradients, state)` and `params_fn(state)`."""

    init_fn: Callable[[Tree], Any]
    update_fn: Callable[[Any, Tree, Any], Any]
    params_fn: Callable[[Any], Tree]


class OptimizerState:
    """The states of the leaves of a pytree of parameters."""

    def __init__(self, leaves: list[Any], tree: Any) -> None:
        self.leaves, self.tree = leaves, tree


register_pytree_node(OptimizerState, lambda state: (state.leaves, state.tree), lambda t, x: OptimizerState(list(x), t))


def optimizer(maker: Callable[..., Rule]) -> Callable[..., Optimizer]:
    """Return the maker of a rule for one array as a maker of an optimiser of pytrees.

    >>> init, update, params = sgd(0.1)
    >>> params(update(0, {"x": 1.0}, init({"x": 2.0})))
    {'x': Array(1.9, dtype=float32, weak_type=True)}
    """

    @wraps(maker)
    def make(*args: Any, **options: Any) -> Optimizer:
        init, update, params = maker(*args, **options)

        def init_tree(tree: Tree) -> OptimizerState:
            leaves, structure = tree_flatten(tree)
            return OptimizerState([init(to_arrays(x)) for x in leaves], structure)

        def update_tree(i: Any, gradients: Tree, state: OptimizerState) -> OptimizerState:
            leaves, structure = tree_flatten(gradients)
            if structure != state.tree:
                raise TypeError(f"the gradients are {structure}, but the parameters {state.tree}. Use one structure.")
            return OptimizerState([update(i, g, x) for g, x in zip(leaves, state.leaves, strict=True)], structure)

        return Optimizer(init_tree, update_tree, lambda state: state.tree.unflatten(list(map(params, state.leaves))))

    return make


def _first(state: Any) -> Any:
    return state[0]


def _with_zeros(number: int) -> Callable[[Any], Any]:
    """Return the function that makes a state of an array: itself, and zeros of its shape."""
    return lambda x: (x, *[cnp.zeros_like(x) for _ in range(number)])


def _inverse_root(x: Any) -> Any:
    return cnp.where(x > 0, 1.0 / cnp.sqrt(cnp.where(x > 0, x, 1.0)), 0.0)


@optimizer
def sgd(step_size: Any) -> Rule:
    """Return an optimiser that moves against the gradient."""
    step = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - step(i) * g, lambda x: x


@optimizer
def momentum(step_size: Any, mass: float) -> Rule:
    """Return an optimiser that moves by a velocity, which sums gradients.  Source: Polyak (1964)."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - step(i) * velocity, velocity

    return _with_zeros(1), update, _first


@optimizer
def nesterov(step_size: Any, mass: float) -> Rule:
    """Return an optimiser that looks ahead along its velocity.  Source: Nesterov (1983)."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - step(i) * (mass * velocity + g), velocity

    return _with_zeros(1), update, _first


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Rule:
    """Return an optimiser that divides by the root of summed squares.  Source: Duchi, Hazan & Singer (2011)."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + g * g
        mean = (1 - momentum) * g * _inverse_root(squares) + momentum * mean
        return x - step(i) * mean, squares, mean

    return _with_zeros(2), update, _first


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Rule:
    """Return an optimiser that divides by the root of a mean square.  Source: Tieleman & Hinton (2012)."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, square = state
        square = gamma * square + (1 - gamma) * g * g
        return x - step(i) * g / cnp.sqrt(square + eps), square

    return _with_zeros(1), update, _first


@optimizer
def rmsprop_momentum(step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9) -> Rule:
    """Return `rmsprop` whose steps are summed in a velocity.  Source: Tieleman & Hinton (2012)."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, square, velocity = state
        square = gamma * square + (1 - gamma) * g * g
        velocity = momentum * velocity + step(i) * g / cnp.sqrt(square + eps)
        return x - velocity, square, velocity

    return _with_zeros(2), update, _first


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Rule:
    """Return Adam.  Source: Kingma & Ba (2015), algorithm 1."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, square = state
        mean, square = b1 * mean + (1 - b1) * g, b2 * square + (1 - b2) * g * g
        mean_hat = mean / (1 - cnp.asarray(b1, mean.dtype) ** (i + 1))
        square_hat = square / (1 - cnp.asarray(b2, square.dtype) ** (i + 1))
        return x - step(i) * mean_hat / (cnp.sqrt(square_hat) + eps), mean, square

    return _with_zeros(2), update, _first


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Rule:
    """Return Adam with the largest gradient in the place of the mean square.  Source: Kingma & Ba (2015), section 7."""
    step = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean, largest = b1 * mean + (1 - b1) * g, cnp.maximum(b2 * largest, cnp.abs(g))
        rate = step(i) / (1 - cnp.asarray(b1, mean.dtype) ** (i + 1))
        return x - rate * mean / (largest + eps), mean, largest

    return _with_zeros(2), update, _first


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Rule:
    """Return an optimiser that keeps one sum of squares per index of each axis.  Source: Anil et al. (2019), SM3-II."""
    step = make_schedule(step_size)

    def init(x: Any) -> Any:
        sums = [cnp.zeros([size if axis == own else 1 for axis, size in enumerate(x.shape)], x.dtype)
                for own in range(x.ndim)]  # fmt: skip
        return x, cnp.zeros_like(x), sums or [cnp.zeros_like(x)]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, sums = state
        squares = reduce(cnp.minimum, sums) + g * g
        mean = (1 - momentum) * g * _inverse_root(squares) + momentum * mean
        axes = [tuple(axis for axis in range(x.ndim) if axis != own) for own in range(len(sums))]
        return x - step(i) * mean, mean, [cnp.max(squares, axis=each, keepdims=True) for each in axes]

    return init, update, _first


def constant(step_size: Any) -> Schedule:
    """Return the schedule of one step size."""
    return lambda _: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return a schedule that multiplies by `decay_rate` in `decay_steps` steps."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """Return a schedule that divides by a line in the number of the step."""
    return lambda i: step_size / (1 + decay_rate * (cnp.floor(i / decay_steps) if staircase else i / decay_steps))


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: float = 1.0) -> Schedule:
    """Return a schedule from one step size to another by a power of the steps that are left."""

    def schedule(i: Any) -> Any:
        left = (1 - cnp.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return a schedule with one value between two boundaries.  Raises: ValueError unless there is one value more."""
    boundaries, values = cnp.asarray(boundaries), cnp.asarray(values)
    if boundaries.ndim != 1 or values.shape != (len(boundaries) + 1,):
        raise ValueError(f"{len(boundaries)} boundaries have {values.shape} values. Give one value more, in one axis.")
    return lambda i: cnp.take(values, cnp.sum(i > boundaries))


def make_schedule(step_size: Any) -> Schedule:
    """Return a schedule, or the schedule of one number."""
    return step_size if callable(step_size) else constant(step_size)


def l2_norm(tree: Tree) -> Any:
    """Return the Euclidean norm of all elements of a pytree."""
    return cnp.sqrt(reduce(operator.add, [cnp.vdot(x, x) for x in map(cnp.asarray, tree_leaves(tree))]))


def clip_grads(grad_tree: Tree, max_norm: Any) -> Tree:
    """Return gradients, scaled to the norm `max_norm` if theirs is larger."""
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: cnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)
