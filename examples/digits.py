"""Train a network on handwritten digits: jit, value_and_grad, vmap and pytrees in one program.

The script trains a small network for a few seconds, prints its accuracy on images it has not seen, finds the images
that pull hardest on the parameters (per-example gradient norms, by `vmap(grad)`), and draws what it did into
`examples/output/digits.png`.  `digits_cnn.py` makes half as many errors, by convolutions.

Run: python examples/digits.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from adam import AdamState, adam_start, adam_step
from digits_data import Data, cross_entropy, load
from gallery import plt, save
from tqdm import tqdm

import calque
import calque.numpy as cnp
from calque import random, tree

Params = list[dict[str, Any]]
LAYERS = (64, 128, 64, 10)
EPOCHS, BATCH, LEARNING_RATE = 40, 64, 2e-3


def initial_params(key: Any) -> Params:
    """Return random weights, scaled to the number of inputs of each layer, and zero biases."""
    keys = random.split(key, len(LAYERS) - 1)
    return [
        {
            "w": np.float32(np.sqrt(2.0 / n)) * random.normal(k, (n, m), dtype=np.float32),
            "b": np.zeros(m, np.float32),
        }
        for k, n, m in zip(keys, LAYERS, LAYERS[1:])
    ]


def logits(params: Params, images: Any) -> Any:
    """Return the scores of the ten classes.  Shapes: images [.., 64] -> [.., 10]."""
    *hidden, last = params
    for layer in hidden:
        images = cnp.maximum(images @ layer["w"] + layer["b"], 0.0)
    return images @ last["w"] + last["b"]


def loss(params: Params, images: Any, labels: Any) -> Any:
    """Return the mean cross-entropy between the softmax of the scores and the labels."""
    return cross_entropy(logits(params, images), labels)


@calque.jit
def train_step(params: Params, state: AdamState, images: Any, labels: Any) -> tuple[Params, AdamState, Any]:
    """Return the parameters and the optimiser's state after one step of Adam, and the loss before it."""
    value, gradient = calque.jit(calque.value_and_grad(loss))(params, images, labels)
    params, state = adam_step(params, state, gradient, LEARNING_RATE)
    return params, state, value


@calque.jit
def gradient_norms(params: Params, images: Any, labels: Any) -> Any:
    """Return the norm of each example's own gradient.  Shapes: images [n, 64], labels [n, 10] -> [n]."""
    gradients = calque.vmap(calque.grad(loss), in_axes=(None, 0, 0))(params, images, labels)
    return cnp.sqrt(sum(cnp.sum(g * g, axis=tuple(range(1, g.ndim))) for g in tree.leaves(gradients)))


def train(data: Data, key: Any) -> tuple[Params, list[float]]:
    """Return the trained parameters and the loss of every step."""
    key, params_key = random.split(key)
    params = initial_params(params_key)
    state = adam_start(params)
    losses = []
    with tqdm(random.split(key, EPOCHS), desc="training", unit="epoch") as epochs:
        for epoch_key in epochs:
            for batch in data.batches(BATCH, epoch_key):
                params, state, value = train_step(params, state, batch.images, batch.labels)
                losses.append(value)
            epochs.set_postfix(loss=f"{float(losses[-1]):.4f}")
    return params, [float(value) for value in losses]


def draw(losses: list[float], data: Data, predicted: np.ndarray, norms: np.ndarray) -> None:
    """Draw the training curve and the held-out digits that the network got wrong."""
    truth = data.labels.argmax(axis=1)
    wrong = np.flatnonzero(predicted != truth)[:6]
    names = [f"digit {i}" for i in range(6)]
    figure, axes = plt.subplot_mosaic([["curve"] * 6, names], figsize=(9, 5))
    axes["curve"].semilogy(losses, linewidth=0.8)
    axes["curve"].set(xlabel="step", ylabel="training loss", title="Training")
    for name in names:
        axes[name].axis("off")
    for name, i in zip(names, wrong):
        axes[name].imshow(data.images[i].reshape(8, 8), cmap="gray_r")
        axes[name].set_title(f"{truth[i]} read as {predicted[i]}\n|gradient| {norms[i]:.1f}", fontsize=8)
    save(figure, __file__)


def main() -> None:
    """Train, evaluate, draw."""
    start = time.perf_counter()
    training, held_out = load()
    params, losses = train(training, random.key(0))
    predicted = np.asarray(calque.jit(logits)(params, held_out.images)).argmax(axis=1)
    accuracy = float(np.mean(predicted == held_out.labels.argmax(axis=1)))
    norms = np.asarray(gradient_norms(params, held_out.images, held_out.labels))
    hardest = norms.argsort()[::-1][:5]
    draw(losses, held_out, predicted, norms)
    print(f"held-out accuracy {accuracy:.4f} after {len(losses)} steps in {time.perf_counter() - start:.1f} s")
    print("largest gradients:", ", ".join(f"image {i}: {norms[i]:.1f}" for i in hardest))
    if accuracy < 0.96:
        raise SystemExit("the accuracy is below 0.96: something is wrong")


if __name__ == "__main__":
    main()
