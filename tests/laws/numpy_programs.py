"""Programs of ten to thirty lines as NumPy's users write them, with plain `import numpy as np` only.

One idea: each program is about a habit and not about an operation: in-place operators, dicts of arrays, dataclasses,
generators, closures, recursion, caches, text, random numbers drawn inside, errors that are caught.

Read next: `test_numpy_programs.py`.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

RNG = np.random.default_rng(7)
POINTS, TARGETS = RNG.normal(size=(20, 3)), RNG.normal(size=20)
log = logging.getLogger(__name__)


class Plain(NamedTuple):
    """A row of the table: a program, and its argument."""

    fun: Callable[[Any], Any]
    arg: Any


def blurred(image):
    """Average each inner pixel with its neighbours: a copy that grows in place."""
    rows, columns = image.shape
    out = image[1:-1, 1:-1].copy()
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            if i or j:
                out += image[1 + i : rows - 1 + i, 1 + j : columns - 1 + j]
    return out / 9


def oscillator(k):
    """Integrate an equation by Runge and Kutta; the function is a closure, the states are a list."""

    def field(t, y):
        return np.stack([y[1], -k[0] * y[0] - k[1] * y[1] + np.sin(t)])

    y, h = np.array([1.0, 0.0]), 0.1
    states = [y]
    for i in range(6):
        t = i * h
        k1 = field(t, y)
        k2 = field(t + h / 2, y + h / 2 * k1)
        k3 = field(t + h / 2, y + h / 2 * k2)
        k4 = field(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(y)
    return np.vstack(states)


def edit_distance(costs):
    """Compare two words by dynamic programming, with a soft minimum: a dict of numbers."""
    a, b = "mitten", "sitting"
    table = {}
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if i == 0 or j == 0:
                table[i, j] = (i + j) * costs[0]
                continue
            change = 0.0 if a[i - 1] == b[j - 1] else costs[1]
            ways = [table[i - 1, j] + costs[0], table[i, j - 1] + costs[0], table[i - 1, j - 1] + change]
            table[i, j] = -0.1 * np.log(np.sum(np.exp(-np.stack(ways) / 0.1)))
    return table[len(a), len(b)]


def sampled_covariance(scales, rng=None):
    """Draw correlated samples with a generator made inside."""
    rng = np.random.default_rng(0) if rng is None else rng
    factor = np.linalg.cholesky(np.outer(scales, scales) + np.diag(np.exp(scales)))
    samples = rng.standard_normal((50, len(scales))) @ factor.T
    samples -= samples.mean(axis=0)
    return np.cov(samples, rowvar=False), samples[rng.permutation(50)[:3]]


def network(params):
    """Compute the loss of a small network from a dict with a list of layers."""
    hidden = np.tanh(POINTS @ params["in"])
    for layer in params["layers"]:
        hidden = np.maximum(hidden @ layer["w"] + layer["b"], 0.01 * hidden)
    guess = hidden @ params["out"]
    assert guess.shape == TARGETS.shape, f"wrong shape {guess.shape}"
    penalty = sum(np.sum(layer["w"] ** 2) for layer in params["layers"])
    return {"loss": np.mean((guess - TARGETS) ** 2) + 1e-3 * penalty, "guess": guess[:3]}


def square_roots(x, steps=6, *, verbose=True):
    """Solve y**2 = x**2 + 1 by Newton's method, and tell of each step."""
    y = np.ones_like(x)
    for i in range(steps):
        y = 0.5 * (y + (x**2 + 1) / y)
        if verbose:
            log.warning("step %d: %s, sum %s", i, f"{y[0]:.3e}", y.sum())
    return y


@dataclasses.dataclass
class Pendulum:
    """The state of a pendulum."""

    angle: Any
    speed: Any
    time: float = 0.0

    def stepped(self, dt):
        speed = self.speed - dt * np.sin(self.angle)
        return dataclasses.replace(self, angle=self.angle + dt * speed, speed=speed, time=self.time + dt)

    @property
    def energy(self):
        return 0.5 * self.speed**2 - np.cos(self.angle)

    def __str__(self):
        return f"t={self.time:.2f} energy={self.energy.sum():.3e}"


def pendulums(angles):
    """Move objects that hold arrays."""
    state = Pendulum(angles, np.zeros(len(angles)))
    texts = []
    for _ in range(5):
        state = state.stepped(0.1)
        texts.append(str(state))
    return state.energy * len(texts), state.angle


def chebyshev_series(x):
    """Sum a recursive sequence that a generator yields."""

    def terms(n: int) -> Iterator[Any]:
        before, now = np.ones_like(x), np.tanh(x)
        for k in range(n):
            yield before / (k + 1)
            before, now = now, 2 * np.tanh(x) * now - before

    return sum(terms(6)) + max(1.0, 2.0)


@functools.lru_cache
def gauss(n):
    """Return nodes and weights, computed once."""
    return np.polynomial.legendre.leggauss(n)


def integral(p):
    """Integrate with a cached rule, and fall back where a shape does not fit."""
    nodes, weights = gauss(5)
    values = np.exp(-p[0] * nodes) * np.cos(p[1] * nodes)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.log(np.abs(values)) / np.where(np.abs(nodes) < 1e-9, 1.0, nodes))
    try:
        ratio = ratio.reshape(2, 2)
    except ValueError:
        ratio = ratio[:4].reshape(2, 2)
    return np.dot(weights, values) + np.linalg.det(ratio)


def forward_algorithm(scores):
    """Return the likelihood of observations under a Markov chain, normalised in place at each step."""
    moves = np.exp(scores)
    moves /= moves.sum(axis=1, keepdims=True)
    emissions = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    state, likelihood = np.full(3, 1 / 3) * emissions[:, 0], 0
    for observation in [1, 1, 2, 0]:
        state = (state @ moves) * emissions[:, observation]
        size = state.sum()
        likelihood += np.log(size)
        state /= size
    return likelihood, state


def without_trend(x, window=3):
    """Smooth with a padded window, subtract a fitted line, and group what remains by known labels."""
    smooth = np.convolve(np.pad(x, window // 2, mode="edge"), np.ones(window) / window, mode="valid")
    places = np.arange(len(x))
    rest = smooth - np.polyval(np.polyfit(places, smooth, 1), places)
    names, members, counts = np.unique(places % 3, return_inverse=True, return_counts=True)
    means = np.bincount(members, weights=rest) / counts
    return {f"group {name}": mean for name, mean in zip(names.tolist(), means)}


def eliminated(a):
    """Solve equations by Gauss and Jordan on a list of rows, and the determinant by recursion."""

    def determinant(m):
        if m.shape == (1, 1):
            return m[0, 0]
        minors = (np.delete(m[1:], j, axis=1) for j in range(len(m)))
        return sum((-1) ** j * m[0, j] * determinant(minor) for j, minor in enumerate(minors))

    a = a + 4 * np.eye(3)
    rows = list(np.column_stack([a, np.ones(3)]))
    for i in range(3):
        rows[i] = rows[i] / rows[i][i]
        for j in range(3):
            if j != i:
                rows[j] = rows[j] - rows[j][i] * rows[i]
    return np.stack(rows)[:, -1] * determinant(a)


def parameters():
    layers = [{"w": RNG.normal(size=(4, 4)), "b": np.zeros(4)} for _ in range(2)]
    return {"in": RNG.normal(size=(3, 4)), "layers": layers, "out": RNG.normal(size=4)}


PROGRAMS = [
    Plain(blurred, RNG.normal(size=(4, 5))),
    Plain(oscillator, RNG.normal(size=2)),
    Plain(edit_distance, np.array([1.0, 0.7])),
    Plain(sampled_covariance, RNG.normal(size=3)),
    Plain(network, parameters()),
    Plain(square_roots, RNG.normal(size=4)),
    Plain(pendulums, RNG.normal(size=3)),
    Plain(chebyshev_series, RNG.normal(size=4)),
    Plain(integral, RNG.normal(size=2)),
    Plain(forward_algorithm, RNG.normal(size=(3, 3))),
    Plain(without_trend, RNG.normal(size=7)),
    Plain(eliminated, RNG.normal(size=(3, 3))),
]
