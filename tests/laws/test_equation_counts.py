"""How many equations the gradients of real programs have: fewer than jax's, and no more than before."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad
from calque_core import count_eqns, make_jaxpr

jax = pytest.importorskip("jax", reason="jax is not installed")

WIDTH, HEADS, TOKENS = 8, 2, 4


def dense(p, x):
    return x @ p["w"] + p["b"]


def normalize(xp, p, x):
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * p["w"] + p["b"]


def softmax(xp, x):
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def attend(xp, p, x):
    heads = lambda x: xp.transpose(xp.reshape(x, (TOKENS, HEADS, WIDTH // HEADS)), (1, 0, 2))
    query, key, value = (heads(dense(p, x)) for _ in range(3))
    mixed = softmax(xp, query @ xp.transpose(key, (0, 2, 1))) @ value
    return dense(p, xp.reshape(xp.transpose(mixed, (1, 0, 2)), (TOKENS, WIDTH)))


def gelu(xp, x):
    return 0.5 * x * (1.0 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def mean_square(f):
    return lambda xp, p, x: xp.mean(f(xp, p, x) ** 2)


# A loss of parts of a transformer, and the most equations that its gradient has.
LOSSES = {
    "dense": (mean_square(lambda xp, p, x: dense(p, x)), 13),
    "normalize": (mean_square(normalize), 46),
    "attend": (mean_square(attend), 88),
    "gelu": (mean_square(lambda xp, p, x: gelu(xp, dense(p, x))), 38),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_parts_of_a_transformer_have_fewer_equations_than_those_of_jax(name):
    loss, most = LOSSES[name]
    p = {"w": np.ones((WIDTH, WIDTH), np.float32), "b": np.zeros(WIDTH, np.float32)}
    p = p | {"w": np.ones(WIDTH, np.float32)} if name == "normalize" else p
    x = np.linspace(-1.0, 1.0, TOKENS * WIDTH, dtype=np.float32).reshape(TOKENS, WIDTH)
    ours = make_jaxpr(grad(lambda p, x: loss(np, p, x), argnums=(0, 1)))(p, x)
    theirs = jax.make_jaxpr(jax.grad(lambda p, x: loss(jax.numpy, p, x), argnums=(0, 1)))(p, x)
    assert count_eqns(ours) < count_in_jax(theirs.jaxpr)
    assert count_eqns(ours) <= most


def count_in_jax(jaxpr):
    inner = [getattr(held, "jaxpr", held) for eqn in jaxpr.eqns for held in eqn.params.values()]
    return len(jaxpr.eqns) + sum(count_in_jax(held) for held in inner if hasattr(held, "eqns"))
