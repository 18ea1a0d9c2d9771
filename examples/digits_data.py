"""The handwritten digits that two examples read, in batches, and the loss that both make smaller.

The data are the UCI handwritten digits that scikit-learn ships: 1,797 images of 8 x 8 pixels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import calque.numpy as cnp
from calque import nn, random


class Data(NamedTuple):
    """Images [n, 64] with pixels from 0 to 1, and labels [n, 10], one-hot."""

    images: np.ndarray
    labels: np.ndarray

    def batches(self, size: int, key: Any) -> Iterator[Data]:
        """Return the images in random order, by batches of one size; the last few are left out."""
        order = np.asarray(random.permutation(key, len(self.images)))
        for start in range(0, len(order) - size + 1, size):
            batch = order[start : start + size]
            yield Data(self.images[batch], self.labels[batch])


def load() -> tuple[Data, Data]:
    """Return the training images and the held-out ones, a fifth of all."""
    digits = load_digits()
    images = (digits.data / 16.0).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[digits.target]
    order = np.random.default_rng(0).permutation(len(images))
    held_out, train = np.split(order, [len(order) // 5])
    return Data(images[train], labels[train]), Data(images[held_out], labels[held_out])


def cross_entropy(scores: Any, labels: Any) -> Any:
    """Return the mean cross-entropy between the softmax of the scores and the labels.  Shapes: both [n, 10] -> []."""
    return -cnp.mean(cnp.sum(labels * nn.log_softmax(scores), axis=-1))
