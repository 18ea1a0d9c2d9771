"""Carry one word into another by optimal transport: a gradient flow through the fixed point of Sinkhorn's iteration.

The transport plan of two clouds follows from a potential f that maximises a dual function.  It is a root of the dual's
gradient, so `custom_root` differentiates the plan by one linear solve with the dual's Hessian, and keeps no iteration.
Sources: Cuturi (2013), Luise et al. (2018) for the derivative, Feydy et al. (2019) for the divergence.

Run: python examples/sinkhorn.py
"""

import numpy as np
from conjugate_gradients import conjugate_gradients
from gallery import plt, save
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from calque import custom_linear_solve, custom_root, grad, jit, lax, nn, value_and_grad

POINTS, EPSILON, RATE, FRAMES = 430, 5e-4, 0.25, (0, 2, 5, 30)


def transform(f: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return the g for which every column of exp((f + g - cost) / EPSILON) sums to 1.  Shapes: [n], [n, m] -> [m]."""
    return -EPSILON * nn.logsumexp((f[:, None] - cost) / EPSILON, axis=0)


def potential(cost: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Return the f for which the rows sum to 1, too: it maximises sum(f) + sum(g)."""
    again = lambda pair: (pair[1], transform(transform(pair[1], cost), cost.T))
    moves = lambda pair: np.max(np.abs(pair[1] - pair[0])) > 0.01 * EPSILON
    sinkhorn = lambda _, guess: lax.while_loop(moves, again, again((guess, guess)))[1]
    # The Hessian is positive except for shifts of f, which do not change the plan: 1e-6 keeps them small.
    solve = lambda hvp, y: custom_linear_solve(lambda p: hvp(p) + 1e-6 * p, y, conjugate_gradients, symmetric=True)
    return custom_root(grad(lambda f: -np.sum(f) - np.sum(transform(f, cost))), guess, sinkhorn, solve)


def transport(x: np.ndarray, y: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean squared distance by which the plan moves x [n, 2] to y [n, 2], and the potential."""
    cost = np.sum((x[:, None] - y) ** 2, axis=-1)
    f = potential(cost, guess)
    plan = np.exp((f[:, None] + transform(f, cost) - cost) / EPSILON)
    return np.sum(plan * cost) / POINTS, f


def divergence(x: np.ndarray, y: np.ndarray, guesses: tuple) -> tuple[np.ndarray, tuple]:
    (xy, f), (xx, h), (yy, k) = map(transport, (x, x, y), (y, x, y), guesses)
    return xy - (xx + yy) / 2, (f, h, k)


def letters(word: str) -> np.ndarray:
    """Return points that fill the letters evenly: the sequence R2 of Roberts (2018), where it meets them."""
    path = TextPath((0, 0), word, prop={"weight": "bold"})
    corner, width = path.get_extents().p0, path.get_extents().width
    points = corner + width * (np.arange(20 * POINTS)[:, None] * (0.7548776662, 0.5698402910) % 1)
    outlines = np.sum([Path(p).contains_points(points) for p in path.to_polygons()], axis=0)
    return (points[outlines % 2 == 1][:POINTS] - corner) / width


def main() -> None:
    x, y, guesses = letters("NumPy"), letters("calque"), tuple(np.zeros((3, POINTS)))
    step, flow = jit(value_and_grad(divergence, has_aux=True)), []
    for _ in range(FRAMES[-1] + 1):
        (value, guesses), gradient = step(x, y, guesses)
        flow.append((x, float(value)))
        x = x - RATE * POINTS / 2 * np.asarray(gradient)
    (start, before), (_, after) = flow[0], flow[-1]
    print(f"Sinkhorn divergence {before:.1e} -> {after:.1e} in {FRAMES[-1]} steps")
    figure, axes = plt.subplots(2, 2, sharex=True, sharey=True, figsize=(7.0, 3.4))
    for axis, frame in zip(axes.flat, FRAMES):
        axis.scatter(*flow[frame][0].T, c=np.round(start[:, 0], 1), s=5, cmap="viridis", vmax=1.1)
        axis.set(title=f"step {frame}", aspect="equal")
        axis.axis("off")
    figure.suptitle("Optimal transport carries each point the shortest way to a new word", x=0.02, ha="left")
    save(figure, __file__)
    if after > 0.01 * before:
        raise SystemExit("the words differ still: something is wrong")


if __name__ == "__main__":
    main()
