"""Transform a k-means that knows NumPy alone: `lloyd.py` imports nothing else; here it runs from 128 starts at once.

`vmap` maps the starts, `jit` compiles the Python loop, and the derivatives of the loss show what Lloyd's algorithm is:
Newton's method (Bottou & Bengio 1995).  The data are 1,797 images of handwritten digits, without their labels.

Run: python examples/kmeans.py
"""

import lloyd
import numpy as np
from digits_data import load
from gallery import plt, save

import calque

STARTS, CENTERS = 128, 10


@calque.jit
def cluster(starts: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centres found from each start, and the loss of each.  Shapes: [s, k, d], [n, d] -> [s, k, d], [s]."""
    centers = calque.vmap(lloyd.k_means, in_axes={"points": None})(starts, points)
    return centers, calque.vmap(lloyd.loss, in_axes={"points": None})(centers, points)


def newton_step(centers: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the centres after one step of Newton's method for the loss.  Shapes: [k, d], [n, d] -> [k, d]."""

    def loss(centers: np.ndarray) -> np.ndarray:
        return lloyd.loss(centers, points)

    # A point pulls at its nearest center alone, so the Hessian is diagonal, and its product with ones is the diagonal.
    return centers - calque.grad(loss)(centers) / calque.hvp(loss, (centers,), (np.ones_like(centers),))


def tiles(images: np.ndarray) -> np.ndarray:
    """Return ten images in two rows, with margins.  Shapes: [10, 64] -> [20, 50]."""
    framed = np.pad(images.reshape(2, 5, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    return framed.transpose(0, 2, 1, 3).reshape(20, 50)


def draw(losses: np.ndarray, centers: np.ndarray) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.2), width_ratios=[1.0, 1.6])
    best = losses < np.min(losses) + 1e-3
    left.hist([losses[best], losses[~best]], bins=40, stacked=True, color=["C1", "C0"])
    left.set(xlabel="mean squared distance from the centre", ylabel="starts")
    left.set_title(f"{np.mean(best):.0%} of the starts reach the best")
    right.imshow(tiles(centers), cmap="gray_r", interpolation="bicubic")
    right.set_title("The best centres: a digit each, without labels")
    right.axis("off")
    right.set_anchor("N")
    save(figure, __file__)


def main() -> None:
    images, labels = (np.concatenate(halves) for halves in zip(*load()))
    points, digits = images.astype(np.float64), np.argmax(labels, axis=1)
    rng = np.random.default_rng(0)
    starts = points[[rng.choice(len(points), CENTERS, replace=False) for _ in range(STARTS)]]
    centers, losses = (np.asarray(x) for x in cluster(starts, points))
    best = centers[np.argmin(losses)]
    nearest = np.argmin(lloyd.squared_distances(best, points), axis=1)
    majority = np.array([np.argmax(np.bincount(digits[nearest == k])) for k in range(CENTERS)])
    purity = np.mean(majority[nearest] == digits)
    once = lloyd.step(starts[0], points)
    difference = np.max(np.abs(newton_step(once, points) - lloyd.step(once, points)))
    print(
        f"loss {np.min(losses):.3f} at best, {np.median(losses):.3f} in the middle; Newton = Lloyd to {difference:.0e}"
    )
    print(f"{purity:.1%} of the images show the digit that most images near their centre show")
    draw(losses, best[np.argsort(majority)])
    if purity < 0.75 or difference > 1e-12:
        raise SystemExit("the clusters are not the digits, or a step is not Newton's: something is wrong")


if __name__ == "__main__":
    main()
