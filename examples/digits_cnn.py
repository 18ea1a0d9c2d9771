"""Train a convolutional network on handwritten digits: convolutions, max pooling, batch normalisation.

The script trains for a few seconds, prints the accuracy on images that the network has not seen, and draws the training
curve, the kernels of the first layer and the digits that it misreads into `examples/output/digits_cnn.png`.
`digits.py` is the same with a network of plain matrices.

Run: python examples/digits_cnn.py
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
from calque import lax, random

Params = dict[str, Any]
Moments = list[dict[str, Any]]  # the mean and the variance of each feature, one dict per convolution
FEATURES = (1, 32, 64)
EPOCHS, BATCH, LEARNING_RATE = 20, 64, 3e-3


def initial_params(key: Any) -> Params:
    """Return random kernels of 3 x 3 pixels and a random matrix, scaled to the number of inputs of each sum."""
    *kernel_keys, key = random.split(key, len(FEATURES))
    layers = [
        {
            "kernel": np.float32(np.sqrt(2.0 / (9 * n))) * random.normal(k, (3, 3, n, m), dtype=np.float32),
            "scale": np.ones(m, np.float32),
            "shift": np.zeros(m, np.float32),
        }
        for k, n, m in zip(kernel_keys, FEATURES, FEATURES[1:])
    ]
    n = 2 * 2 * FEATURES[-1]  # each layer halves the 8 x 8 pixels
    readout = np.float32(np.sqrt(1.0 / n)) * random.normal(key, (n, 10), dtype=np.float32)
    return {"layers": layers, "readout": readout, "bias": np.zeros(10, np.float32)}


def initial_moments() -> Moments:
    """Return the moments before the first batch."""
    return [{"mean": np.zeros(m, np.float32), "variance": np.ones(m, np.float32)} for m in FEATURES[1:]]


def convolve(images: Any, kernel: Any) -> Any:
    """Return the convolution with a kernel.  Shapes: images [n, h, w, c], kernel [3, 3, c, d] -> [n, h, w, d]."""
    return lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pool(images: Any) -> Any:
    """Return the largest of each 2 x 2 pixels.  Shapes: [n, h, w, c] -> [n, h / 2, w / 2, c]."""
    return lax.reduce_window(images, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def moments_of(images: Any) -> dict[str, Any]:
    """Return the mean and the variance of each feature, over all images and pixels."""
    return {"mean": cnp.mean(images, axis=(0, 1, 2)), "variance": cnp.var(images, axis=(0, 1, 2))}


def block(layer: Params, moments: dict[str, Any], images: Any) -> Any:
    """Return the layer's features of images that are convolved already: normalised, rectified and pooled."""
    scale = layer["scale"] * lax.rsqrt(moments["variance"] + 1e-5)
    return max_pool(cnp.maximum((images - moments["mean"]) * scale + layer["shift"], 0.0))


def readout(params: Params, features: Any) -> Any:
    """Return the scores of the ten classes."""
    return features.reshape(features.shape[0], -1) @ params["readout"] + params["bias"]


def training_scores(params: Params, images: Any) -> tuple[Any, Moments]:
    """Return the scores, normalised by the moments of this batch, and these.  Shapes: images [n, 64] -> [n, 10]."""
    features, all_moments = images.reshape(-1, 8, 8, 1), []
    for layer in params["layers"]:
        features = convolve(features, layer["kernel"])
        all_moments.append(moments_of(features))
        features = block(layer, all_moments[-1], features)
    return readout(params, features), all_moments


@calque.jit
def scores(params: Params, moments: Moments, images: Any) -> Any:
    """Return the scores, normalised by the moments of the training.  Shapes: images [n, 64] -> [n, 10]."""
    features = images.reshape(-1, 8, 8, 1)
    for layer, known in zip(params["layers"], moments):
        features = block(layer, known, convolve(features, layer["kernel"]))
    return readout(params, features)


def loss(params: Params, images: Any, labels: Any) -> tuple[Any, Moments]:
    """Return the cross-entropy of a batch, and its moments."""
    batch_scores, moments = training_scores(params, images)
    return cross_entropy(batch_scores, labels), moments


@calque.jit
def train_step(
    params: Params, moments: Moments, state: AdamState, batch: Data, rate: Any
) -> tuple[Params, Moments, AdamState, Any]:
    """Return parameters, running moments and the optimiser's state after one step, and the loss before it."""
    (value, new), gradient = calque.value_and_grad(loss, has_aux=True)(params, *batch)
    params, state = adam_step(params, state, gradient, rate)
    moments = calque.tree.map(lambda old, new: 0.9 * old + 0.1 * new, moments, new)
    return params, moments, state, value


def train(data: Data, key: Any) -> tuple[Params, Moments, list[float]]:
    """Return the trained parameters, the moments of their features, and the loss of every step."""
    key, params_key = random.split(key)
    params, moments = initial_params(params_key), initial_moments()
    state, losses = adam_start(params), []
    with tqdm(random.split(key, EPOCHS), desc="training", unit="epoch") as epochs:
        for epoch, epoch_key in enumerate(epochs):
            rate = np.float32(LEARNING_RATE * (1.0 - epoch / EPOCHS))
            for batch in data.batches(BATCH, epoch_key):
                params, moments, state, value = train_step(params, moments, state, batch, rate)
                losses.append(value)
            epochs.set_postfix(loss=f"{float(losses[-1]):.4f}")
    return params, moments, [float(value) for value in losses]


def draw(losses: list[float], kernels: np.ndarray, data: Data, predicted: np.ndarray) -> None:
    """Draw the training curve, the kernels [3, 3, 1, n] of the first layer, and the held-out digits misread."""
    truth = data.labels.argmax(axis=1)
    wrong = np.flatnonzero(predicted != truth)[:8]
    rows = [[f"{row} {i}" for i in range(8)] for row in ("kernel", "digit")]
    figure, axes = plt.subplot_mosaic([["curve"] * 8] * 2 + rows, figsize=(9, 6))
    axes["curve"].semilogy(losses, linewidth=0.8)
    axes["curve"].set(
        xlabel="step", ylabel="training loss", title="Training, kernels of the first layer, misread digits"
    )
    for name in (name for row in rows for name in row):
        axes[name].axis("off")
    for i in range(8):
        axes[f"kernel {i}"].imshow(kernels[:, :, 0, i], cmap="RdBu")
    for i, image in enumerate(wrong):
        axes[f"digit {i}"].imshow(data.images[image].reshape(8, 8), cmap="gray_r")
        axes[f"digit {i}"].set_title(f"{truth[image]} read as {predicted[image]}", fontsize=8)
    save(figure, __file__)


def main() -> None:
    """Train, evaluate, draw."""
    start = time.perf_counter()
    training, held_out = load()
    params, moments, losses = train(training, random.key(0))
    predicted = np.asarray(scores(params, moments, held_out.images)).argmax(axis=1)
    accuracy = float(np.mean(predicted == held_out.labels.argmax(axis=1)))
    draw(losses, np.asarray(params["layers"][0]["kernel"]), held_out, predicted)
    print(f"held-out accuracy {accuracy:.4f} after {len(losses)} steps in {time.perf_counter() - start:.1f} s")
    if accuracy < 0.98:
        raise SystemExit("the accuracy is below 0.98: something is wrong")


if __name__ == "__main__":
    main()
