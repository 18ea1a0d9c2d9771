"""Describe handwritten digits by two numbers: a variational autoencoder.

The encoder returns the mean and the log variance of the two numbers z, the decoder returns the scores of 64 pixels.
Both grow a bound on the log likelihood of the images.  Source: Kingma & Welling (2014).

Run: python examples/vae.py
"""

from typing import Any

import numpy as np
from adam import AdamState, adam_start, adam_step
from digits_data import load
from gallery import plt, save

from calque import grad, jit, nn, random

SIZES, EPOCHS, BATCH, RATE = {"encoder": (64, 256, 128, 4), "decoder": (2, 128, 256, 64)}, 120, 128, 2e-3


def initial_params(key: Any, sizes: tuple) -> list:
    weights = nn.initializers.he_normal()
    return [
        (weights(k, (n, m), np.float32), np.zeros(m, np.float32))
        for k, n, m in zip(random.split(key, len(sizes)), sizes, sizes[1:])
    ]


def network(layers: list, x: np.ndarray) -> np.ndarray:
    """Return the last layer's values.  Shapes: x [.., n] -> [.., m]."""
    for weights, bias in layers[:-1]:
        x = np.tanh(x @ weights + bias)
    return x @ layers[-1][0] + layers[-1][1]


def bound(params: dict, images: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return a lower bound of the log likelihood of each image, in nats.  Shapes: [n, 64], [n, 2] -> [n]."""
    mean, log_variance = np.split(network(params["encoder"], images), 2, axis=-1)
    scores = network(params["decoder"], mean + np.exp(log_variance / 2) * noise)
    log_likelihood = np.sum(images * scores - nn.softplus(scores), axis=-1)
    return log_likelihood - 0.5 * np.sum(mean**2 + np.exp(log_variance) - log_variance - 1, axis=-1)


@jit
def train_step(params: dict, state: AdamState, images: np.ndarray, key: np.ndarray, rate: float) -> tuple:
    noise = random.normal(key, (len(images), 2), np.float32)
    gradient = grad(lambda params: -np.mean(bound(params, images, noise)))(params)
    return adam_step(params, state, gradient, rate)


def main() -> None:
    training, held_out = load()
    params = {name: initial_params(random.key(i), sizes) for i, (name, sizes) in enumerate(SIZES.items())}
    state = adam_start(params)
    for epoch, key in enumerate(random.split(random.key(2), EPOCHS)):
        rate = np.float32(RATE * (1 - epoch / EPOCHS))
        for i, batch in enumerate(training.batches(BATCH, key)):
            params, state = train_step(params, state, batch.images, random.fold_in(key, i), rate)
    nats = float(np.mean(bound(params, held_out.images, random.normal(random.key(3), (len(held_out.images), 2)))))
    mean_image = np.mean(training.images, axis=0).clip(1e-3, 1 - 1e-3)
    simple = np.mean(held_out.images @ np.log(mean_image) + (1 - held_out.images) @ np.log(1 - mean_image))
    print(f"log likelihood of held-out digits: at least {nats:.2f} nats; pixels independent: {simple:.2f}")
    figure, axes = plt.subplots(figsize=(8.4, 4.5))
    z1, z2 = np.meshgrid(np.linspace(-2.0, 2.0, 18), np.linspace(1.8, -1.8, 9))
    images = nn.sigmoid(network(params["decoder"], np.stack([z1, z2], axis=-1))).reshape(9, 18, 8, 8)
    tiles = np.pad(np.asarray(images), ((0, 0), (0, 0), (1, 1), (1, 1)))  # the digits in rows and columns
    axes.imshow(tiles.swapaxes(1, 2).reshape(90, 180), cmap="Blues", extent=(-2.12, 2.12, -2.02, 2.02), aspect="auto")
    axes.set(xlabel="$z_1$", ylabel="$z_2$", title="Two numbers make a digit, and nearby numbers a similar one")
    save(figure, __file__)
    if nats < simple + 2:
        raise SystemExit("the digits are described too badly: something is wrong")


if __name__ == "__main__":
    main()
