"""Roots that are counted, and a global minimum that is proved: intervals exclude what cannot be.

The function of two numbers is problem 4 of the hundred-digit challenge (Trefethen 2002).

Run: python examples/verified.py
"""

import numpy as np
from gallery import plt, save

from calque import vmap
from calque_bounds import bounds, taylor_bounds


def wave(x: np.ndarray) -> np.ndarray:
    return np.sin(x * x) + 0.5 * np.exp(-x) - 0.2 * np.cos(7.0 * x)


def hills(p: np.ndarray) -> np.ndarray:
    x, y = p
    waves = np.exp(np.sin(50.0 * x)) + np.sin(60.0 * np.exp(y)) + np.sin(70.0 * np.sin(x)) + np.sin(np.sin(80.0 * y))
    return waves - np.sin(10.0 * (x + y)) + (x * x + y * y) / 4.0


def isolate(start: float, end: float) -> tuple[np.ndarray, int]:
    """Return intervals that hold one root each, and the number of intervals of which nothing is known."""
    ends, found = np.array([[start, end]]), [np.empty((0, 2))]
    while len(ends) and np.min(np.diff(ends)) > 1e-9:
        low, high = bounds(wave)(*ends.T)
        ends = ends[(low <= 0.0) & (high >= 0.0)]  # the other intervals have no root
        slopes = vmap(taylor_bounds(wave, 1))(*ends.T)
        is_monotone = (slopes.lower[:, 1] > 0.0) | (slopes.upper[:, 1] < 0.0)
        low, high = bounds(wave)(ends, ends)  # of both ends: is the sign known?
        sign = np.where(low > 0.0, 1, np.where(high < 0.0, -1, 0))
        has_root, has_none = is_monotone & (sign.prod(axis=1) < 0), is_monotone & (sign.prod(axis=1) > 0)
        found.append(ends[has_root])
        ends = ends[~has_root & ~has_none]
        middle = ends @ [0.49, 0.51]  # no number at which a root is likely
        ends = np.concatenate([np.stack([ends[:, 0], middle], 1), np.stack([middle, ends[:, 1]], 1)])
    return np.concatenate(found), len(ends)


def minimize(radius: float, levels: int) -> tuple[float, float, list[np.ndarray]]:
    """Return bounds of the minimum in a square, and by level the centres of the boxes that may hold it."""
    enclosure, best, kept, centres = vmap(bounds(hills, 1)), np.inf, [], np.zeros((1, 2))
    for _ in range(levels):
        radius /= 2.0
        centres = (centres[:, None] + radius * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])).reshape(-1, 2)
        width = radius * (1.0 + 1e-9)  # boxes overlap, since their ends are rounded
        low, _ = enclosure(centres - width, centres + width)
        best = min(best, np.min(vmap(bounds(hills))(centres, centres)[1]))
        centres, low = centres[low <= best], low[low <= best]
        kept.append(centres)
    return np.min(low), best, kept


def main() -> None:
    (roots, unknown), (low, high, kept) = isolate(0.0, 8.0), minimize(1.25, 24)
    if unknown or not low <= -3.306868647475237 <= high:  # the published minimum
        raise SystemExit("a root or the published minimum is missing")
    print(f"wave has exactly {len(roots)} roots in [0, 8]")
    print(f"the minimum of hills is in [{low:.12f}, {high:.12f}], near ({kept[-1][0][0]:.6f}, {kept[-1][0][1]:.6f})")
    print(f"boxes by level: {', '.join(str(len(centres)) for centres in kept)}")

    (figure, (left, right)), x = plt.subplots(1, 2), np.linspace(0.0, 8.0, 1500)
    left.plot(x, wave(x), linewidth=1.0)
    left.hlines(np.zeros(len(roots)), *roots.T, color="C1", linewidth=4)
    left.set(xlabel="x", title=f"{len(roots)} roots, each in an interval of its own")
    grid = np.meshgrid(*[np.linspace(-1.25, 1.25, 90)] * 2)
    right.imshow(hills(grid), origin="lower", extent=(-1.25, 1.25) * 2, cmap="gray", alpha=0.4)
    for k, size in ((4, 5), (5, 4), (7, 3)):
        right.plot(*kept[k].T, "s", markersize=size, label=f"level {k + 1}: {len(kept[k])} boxes")
    right.legend(loc="upper right", frameon=True, framealpha=0.9)
    right.set(xlabel="x", ylabel="y", title="Where the minimum may be")
    save(figure, __file__)


if __name__ == "__main__":
    main()
