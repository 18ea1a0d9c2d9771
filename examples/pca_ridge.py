"""One singular value decomposition gives principal components, ridge regression and its leave-one-out error.

Ridge regression on random cosines (Rahimi & Recht 2007) reads handwritten digits.  Its leave-one-out error has a closed
form (Allen 1974); the gradient of the error, through the `svd`, learns the scale of the cosines and the penalty.

Run: python examples/pca_ridge.py
"""

import numpy as np
from digits_data import load
from gallery import plt, save
from scipy.optimize import minimize

import calque

(IMAGES, LABELS), HELD_OUT = load()
FREQUENCIES = np.random.default_rng(0).normal(size=(64, 256)).astype(np.float32)
PHASES = np.random.default_rng(1).uniform(0.0, 2.0 * np.pi, 256).astype(np.float32)


def features(images: np.ndarray, log_scale: np.ndarray) -> np.ndarray:
    """Return cosines whose dot products are near exp(-|x - y|^2 / 2 scale^2).  Shapes: [n, 64] -> [n, 256]."""
    return np.cos(images @ FREQUENCIES / np.exp(log_scale) + PHASES) / np.sqrt(128.0)


def components(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return u, s, v with x = mean + (u * s) @ v: the rows of v are the axes of largest variance, u * s the scores."""
    return np.linalg.svd(x - np.mean(x, axis=0), full_matrices=False)


def leave_one_out(log_scale: np.ndarray, log_penalty: np.ndarray) -> np.ndarray:
    """Return the mean square error of each image's labels, predicted from all other images."""
    u, s, _ = components(features(IMAGES, log_scale))
    labels = LABELS - np.mean(LABELS, axis=0)
    # Ridge regression predicts H y.  Without row i it would miss y_i by (y - H y)_i / (1 - H_ii).
    kept = s**2 / (s**2 + np.exp(log_penalty))
    missed = labels - u @ (kept[:, None] * (u.T @ labels))
    return np.mean((missed / (1.0 - np.sum(u**2 * kept, axis=1) - 1.0 / len(u))[:, None]) ** 2)


def held_out_accuracy(log_scale: np.ndarray, log_penalty: np.ndarray) -> float:
    x = features(IMAGES, log_scale)
    u, s, v = components(x)
    weights = v.T @ ((s / (s**2 + np.exp(log_penalty)))[:, None] * (u.T @ LABELS))
    scores = (features(HELD_OUT.images, log_scale) - np.mean(x, axis=0)) @ weights + np.mean(LABELS, axis=0)
    return np.mean(np.argmax(scores, axis=1) == np.argmax(HELD_OUT.labels, axis=1))


def draw(learned: np.ndarray) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    u, s, _ = components(IMAGES)
    for digit in range(10):
        x, y = (u * s)[np.argmax(LABELS, axis=1) == digit][:30, :2].T
        left.scatter(x, y, s=40, marker=f"${digit}$", color=f"C{digit % 5}")
    left.set(xlabel="first component", ylabel="second component", title="Two principal components sort the digits")
    penalties = np.linspace(-9.0, 3.0, 25, dtype=np.float32)
    curve = calque.jit(calque.vmap(leave_one_out, in_axes={"log_scale": None}))  # one svd for all penalties
    for (scale, penalty), color, name in (((0.0, 0.0), "C5", "start"), (learned, "C0", "learned")):
        label = f"{name}: scale {np.exp(scale):.1f}"
        right.loglog(np.exp(penalties), curve(scale, penalties), color=color, label=label)
        right.plot(np.exp(penalty), leave_one_out(scale, penalty), "o", color=color, markersize=8)
    right.set(xlabel="penalty", ylabel="leave-one-out error", title="The gradient finds scale and penalty")
    right.legend()
    save(figure, __file__)


def main() -> None:
    loss = calque.jit(calque.value_and_grad(lambda p: np.log(leave_one_out(*p))))
    learned = minimize(loss, np.zeros(2, np.float32), jac=True, method="BFGS", options={"gtol": 1e-3}).x
    scale, penalty = np.exp(learned)
    before, after = held_out_accuracy(0.0, 0.0), held_out_accuracy(*learned)
    print(f"scale {scale:.2f}, penalty {penalty:.3f}: held-out accuracy {before:.3f} -> {after:.3f}")
    draw(learned)
    if after < 0.97:
        raise SystemExit("the accuracy is below 0.97: something is wrong")


if __name__ == "__main__":
    main()
