"""Adam, the optimiser of the examples: two functions over any pytree of parameters.

Source: Kingma & Ba (2015), algorithm 1, with the corrections of both means joined in the step size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import calque.numpy as cnp
from calque import tree

Params = Any


class AdamState(NamedTuple):
    """The means of the gradient and of its square, in the structure of the parameters, and the number of steps."""

    mean: Params
    square: Params
    step: Any


def adam_start(params: Params) -> AdamState:
    """Return the state before the first step."""
    zeros = tree.map(lambda p: np.zeros(p.shape, p.dtype), params)
    return AdamState(zeros, zeros, np.float32(0.0))


def adam_step(params: Params, state: AdamState, gradient: Params, rate: Any) -> tuple[Params, AdamState]:
    """Return the parameters and the state after one step."""
    step = state.step + 1.0
    mean = tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, gradient)
    square = tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, state.square, gradient)
    rate = rate * cnp.sqrt(1.0 - 0.999**step) / (1.0 - 0.9**step)
    params = tree.map(lambda p, m, s: p - rate * m / (cnp.sqrt(s) + 1e-8), params, mean, square)
    return params, AdamState(mean, square, step)
