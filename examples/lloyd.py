"""k-means by Lloyd's algorithm.  This module imports NumPy and nothing else; `kmeans.py` transforms its functions."""

import numpy as np


def squared_distances(centers: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the square of the distance of each point from each centre.  Shapes: [k, d], [n, d] -> [n, k]."""
    return np.sum(points**2, axis=1)[:, None] - 2.0 * points @ centers.T + np.sum(centers**2, axis=1)


def loss(centers: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the mean square of the distance of a point from its nearest centre."""
    return np.mean(np.min(squared_distances(centers, points), axis=1))


def step(centers: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the mean of the points nearest to each centre; a centre without points stays."""
    nearest = np.argmin(squared_distances(centers, points), axis=1)
    members = np.equal(nearest[:, None], np.arange(len(centers))).astype(points.dtype)
    counts = np.sum(members, axis=0)[:, None]
    return np.where(counts > 0, members.T @ points / np.maximum(counts, 1), centers)


def k_means(centers: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the centres after 40 steps."""
    for _ in range(40):
        centers = step(centers, points)
    return centers
