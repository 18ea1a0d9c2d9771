"""Follow two reacting substances on a grid, 10,000 unknowns, by an implicit solver with a sparse Jacobian.

The right side is plain NumPy. `prepare_jacobian` finds from its program which unknowns each equation has, and needs ten
derivatives for the 60,000 entries. SciPy's solver gets them as a sparse matrix, and solves sparse systems.

Run: python examples/brusselator.py
"""

from time import perf_counter

import numpy as np
from gallery import plt, save
from scipy.integrate import solve_ivp

from calque import jit
from calque_sparse import prepare_jacobian

ROWS, COLUMNS = 50, 100
FEED, DECAY = 2.0, 5.0
SPREAD = (3.0, 16.0)  # of both substances, in units of the grid's spacing


def laplacian(w: np.ndarray) -> np.ndarray:
    """Return the sum of the four neighbours less four times the centre, on a torus."""
    around = np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1)
    return around - 4.0 * w


def velocity(y: np.ndarray) -> np.ndarray:
    """Return the rates of the reaction and of the diffusion.  Source: Prigogine & Lefever (1968)."""
    u, v = y.reshape(2, ROWS, COLUMNS)
    reaction = u * u * v
    u_rate = FEED - (DECAY + 1.0) * u + reaction + SPREAD[0] * laplacian(u)
    v_rate = DECAY * u - reaction + SPREAD[1] * laplacian(v)
    return np.stack([u_rate, v_rate]).ravel()


def main() -> None:
    rest = np.repeat([FEED, DECAY / FEED], ROWS * COLUMNS)
    start = rest + 0.1 * np.random.default_rng(0).standard_normal(rest.size)
    began = perf_counter()
    derivative = prepare_jacobian(velocity, start)
    coloring, pattern = derivative.coloring, derivative.coloring.pattern
    print(f"{pattern.nnz} entries of {pattern.shape}, in {coloring.num_colors} colours: {perf_counter() - began:.1f} s")
    rates, jacobian = jit(velocity), jit(derivative)
    calls = []

    def sparse(t: float, y: np.ndarray) -> np.ndarray:
        calls.append(t)
        return jacobian(y).to_scipy()

    options = {"method": "BDF", "jac": sparse, "rtol": 1e-3, "atol": 1e-3}
    solution = solve_ivp(lambda t, y: np.asarray(rates(y)), (0.0, 40.0), start, **options)
    print(f"{solution.t.size} steps with {solution.nlu} factorizations and {len(calls)} Jacobians")
    y = solution.y[:, -1]
    direction = np.random.default_rng(1).standard_normal(y.size)
    slope = (velocity(y + 1e-6 * direction) - velocity(y - 1e-6 * direction)) / 2e-6
    error = np.max(np.abs(derivative(y) @ direction - slope)) / np.max(np.abs(slope))
    print(f"the Jacobian differs from differences by {error:.0e} of them")
    figure, (left, right) = plt.subplots(1, 2, width_ratios=(1.0, 1.9), figsize=(7.2, 2.9))
    corner = pattern.toarray()[:300, :300]
    left.imshow(~corner, cmap="gray", interpolation="nearest")
    left.set(title="A corner of the pattern", xticks=(), yticks=())
    right.imshow(y[: y.size // 2].reshape(ROWS, COLUMNS), cmap="viridis")
    right.set(title="The first substance at time 40", xticks=(), yticks=())
    save(figure, __file__)
    if not solution.success or error > 1e-6 or np.ptp(y[: y.size // 2]) < 0.5:
        raise SystemExit("no pattern has formed, or the Jacobian is wrong")


if __name__ == "__main__":
    main()
