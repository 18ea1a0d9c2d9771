"""The programs that are measured, each written once against a `Kit`.

One idea: the same mathematics in the same order for every library, from fixed seeds.
Read next: `tracing.py`, `eager.py`, `compiled.py`, which run them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from kits import Function, Kit

WIDTH, HEADS, TOKENS, LAYERS = 64, 4, 16, 12


def lax_chain(kit: Kit, length: int) -> Function:
    """Return x -> the result of `length` alternating sines and products with x, by the most direct functions."""
    sin, mul = kit.lax.sin, kit.lax.mul

    def chain(x: Any) -> Any:
        y = x
        for _ in range(length // 2):
            y = mul(sin(y), x)
        return y

    return chain


def numpy_chain(xp: Any, length: int) -> Function:
    """Return the same function in NumPy's spelling, with an operator for the product."""

    def chain(x: Any) -> Any:
        y = x
        for _ in range(length // 2):
            y = xp.sin(y) * x
        return y

    return chain


def rosenbrock(xp: Any, x: Any) -> Any:
    """Return the sum of Rosenbrock's function over neighbours.  Shapes: x [n] -> []."""
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def small_params() -> dict[str, np.ndarray]:
    """Return the parameters of a network 16-32-32-4 in doubles."""
    rng = np.random.default_rng(0)
    shapes = {"w1": (16, 32), "b1": (32,), "w2": (32, 32), "b2": (32,), "w3": (32, 4), "b3": (4,)}
    return {name: 0.1 * rng.standard_normal(shape) for name, shape in shapes.items()}


def network_loss(xp: Any, p: dict[str, Any]) -> Any:
    """Return the mean square error of the small network on 8 examples."""
    inputs, targets = np.linspace(-1.0, 1.0, 8 * 16).reshape(8, 16), np.linspace(-1.0, 1.0, 8 * 4).reshape(8, 4)
    hidden = xp.tanh(xp.dot(inputs, p["w1"]) + p["b1"])
    hidden = xp.tanh(xp.dot(hidden, p["w2"]) + p["b2"])
    return xp.mean((xp.dot(hidden, p["w3"]) + p["b3"] - targets) ** 2)


def network_output(xp: Any, x: Any) -> Any:
    """Return the number that a network 8-16-1 with fixed weights makes of 8 numbers."""
    weights = np.linspace(-0.5, 0.5, 8 * 16).reshape(8, 16)
    return xp.tanh(xp.dot(xp.tanh(xp.dot(x, weights) + 0.1), np.linspace(-1.0, 1.0, 16)))


def transformer_params() -> dict[str, Any]:
    """Return the parameters of a pre-norm decoder: 12 layers of 16 arrays, and 6 more; 198 leaves."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    def dense(n: int, m: int) -> dict[str, np.ndarray]:
        return {"w": weights(n, m), "b": np.zeros(m, np.float32)}

    def norm() -> dict[str, np.ndarray]:
        return {"scale": np.ones(WIDTH, np.float32), "shift": np.zeros(WIDTH, np.float32)}

    def layer() -> dict[str, Any]:
        attention = {name: dense(WIDTH, WIDTH) for name in ("query", "key", "value", "out")}
        mlp = {"up": dense(WIDTH, 4 * WIDTH), "down": dense(4 * WIDTH, WIDTH)}
        return {"norm1": norm(), "attention": attention, "norm2": norm(), "mlp": mlp}

    layers = [layer() for _ in range(LAYERS)]
    return {"embed": dense(WIDTH, WIDTH), "layers": layers, "norm": norm(), "head": dense(WIDTH, WIDTH)}


def transformer_loss(xp: Any) -> Function:
    """Return (params, x) -> the mean square of the network's output.  Shapes: x [tokens, width] -> []."""

    def dense(p: Any, x: Any) -> Any:
        return x @ p["w"] + p["b"]

    def normalize(p: Any, x: Any) -> Any:
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        variance = xp.mean(centred * centred, axis=-1, keepdims=True)
        return centred / xp.sqrt(variance + 1e-5) * p["scale"] + p["shift"]

    def softmax(x: Any) -> Any:
        e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
        return e / xp.sum(e, axis=-1, keepdims=True)

    def heads(x: Any) -> Any:
        return xp.transpose(xp.reshape(x, (TOKENS, HEADS, WIDTH // HEADS)), (1, 0, 2))

    def attend(p: Any, x: Any) -> Any:
        query, key, value = (heads(dense(p[name], x)) for name in ("query", "key", "value"))
        scores = query @ xp.transpose(key, (0, 2, 1)) / float(np.sqrt(WIDTH // HEADS))
        mixed = softmax(scores) @ value
        return dense(p["out"], xp.reshape(xp.transpose(mixed, (1, 0, 2)), (TOKENS, WIDTH)))

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1.0 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def loss(params: Any, x: Any) -> Any:
        x = dense(params["embed"], x)
        for p in params["layers"]:
            x = x + attend(p["attention"], normalize(p["norm1"], x))
            x = x + dense(p["mlp"]["down"], gelu(dense(p["mlp"]["up"], normalize(p["norm2"], x))))
        y = dense(params["head"], normalize(params["norm"], x))
        return xp.mean(y * y)

    return loss


def transformer_input() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((TOKENS, WIDTH)).astype(np.float32)


def mlp_params() -> list[dict[str, np.ndarray]]:
    """Return the parameters of a network 784-512-512-10."""
    rng, sizes = np.random.default_rng(2), (784, 512, 512, 10)
    return [
        {"w": (rng.standard_normal((n, m)) / np.sqrt(n)).astype(np.float32), "b": np.zeros(m, np.float32)}
        for n, m in pairwise(sizes)
    ]


def mlp_batch() -> tuple[np.ndarray, np.ndarray]:
    """Return 128 images and their labels, one-hot."""
    rng = np.random.default_rng(3)
    images = rng.random((128, 784), dtype=np.float32)
    return images, np.eye(10, dtype=np.float32)[rng.integers(0, 10, 128)]


def mlp_step(kit: Kit) -> Function:
    """Return (params, images, labels) -> the parameters after one step of gradient descent."""
    loss = mlp_loss(kit)

    def step(params: Any, images: Any, labels: Any) -> Any:
        return kit.tree_map(lambda p, g: p - 0.1 * g, params, kit.grad(loss)(params, images, labels))

    return step


def mlp_loss(kit: Any) -> Function:
    """Return (params, images, labels) -> the mean cross-entropy."""
    xp = kit.numpy

    def loss(params: Any, images: Any, labels: Any) -> Any:
        *hidden, last = params
        for p in hidden:
            images = xp.tanh(images @ p["w"] + p["b"])
        scores = images @ last["w"] + last["b"]
        scores = scores - xp.max(scores, axis=-1, keepdims=True)
        return -xp.mean(xp.sum(labels * (scores - xp.log(xp.sum(xp.exp(scores), axis=-1, keepdims=True))), axis=-1))

    return loss
