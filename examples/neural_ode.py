"""Learn the law of motion of hares and lynxes from their numbers: a neural ordinary differential equation.

The solver chooses its steps in a `while_loop` of unknown length, and reverse mode goes through it: no adjoint equation.
Data: thousands of pelts of the Hudson's Bay Company, 1900 to 1920; the last five years are held out.

Run: python examples/neural_ode.py
"""

import numpy as np
from adam import adam_start, adam_step
from gallery import plt, save

from calque import grad, jit, lax, random

HARES = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNXES = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
PELTS = np.array([HARES.split(), LYNXES.split()], np.float64).T
MEAN, SCALE = np.log10(PELTS).mean(axis=0), np.log10(PELTS).std(axis=0)
DATA = (np.log10(PELTS) - MEAN) / SCALE
KNOWN, HIDDEN = 16, 16


def field(params: dict, y: np.ndarray) -> np.ndarray:
    """Return the velocity at each point.  Shapes: y [.., 2] -> [.., 2]."""
    return np.tanh(y @ params["in"] + params["shift"]) @ params["out"]


def advance(params: dict, y: np.ndarray, duration: float = 1.0, tolerance: float = 1e-4) -> np.ndarray:
    """Return y after `duration`.  Source: Bogacki & Shampine (1989), a method of order 3 with an error estimate."""

    def step(state: tuple) -> tuple:
        t, h, y = state[0], np.minimum(state[1], duration - state[0]), state[2]
        k1 = field(params, y)
        k2 = field(params, y + h * k1 / 2)
        k3 = field(params, y + h * 3 * k2 / 4)
        new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        e = np.max(np.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - field(params, new) / 8))) / tolerance
        return np.where(e < 1, t + h, t), h * np.clip(0.9 * (e + 1e-9) ** (-1 / 3), 0.2, 3.0), np.where(e < 1, new, y)

    return lax.while_loop(lambda state: state[0] < duration, step, (0.0, 0.3, y))[2]


def trajectory(params: dict, n: int, duration: float) -> np.ndarray:
    """Return n states, from that of 1900 on.  Shape: [n, 2]."""
    return lax.scan(lambda y, _: (advance(params, y, duration), y), DATA[0], None, length=n)[1]


def loss(params: dict, known: int) -> np.ndarray:
    errors = np.where(np.arange(len(DATA)) < known, (trajectory(params, len(DATA), 1.0) - DATA).T, 0.0)
    return np.mean(errors**2) * len(DATA) / known + 1e-3 * (np.sum(params["in"] ** 2) + np.sum(params["out"] ** 2))


def main() -> None:
    params = {"in": random.normal(random.key(0), (2, HIDDEN)), "shift": np.zeros(HIDDEN), "out": np.zeros((HIDDEN, 2))}
    state = adam_start(params)
    train_step = jit(lambda params, state, known: adam_step(params, state, grad(loss)(params, known), 0.02))
    for step in range(2400):  # a longer piece of the series every 150 steps
        params, state = train_step(params, state, min(4 + step // 150, KNOWN))
    path = np.asarray(jit(trajectory, static_argnums=1)(params, 201, 0.1))
    fit, forecast = (np.sqrt(np.mean((path[::10] - DATA)[years] ** 2)) for years in (np.s_[:KNOWN], np.s_[KNOWN:]))
    print(f"error in standard deviations: {fit:.2f} in the known years, {forecast:.2f} in those held out")
    figure, (left, right) = plt.subplots(1, 2, width_ratios=(1.4, 1.0), figsize=(7.2, 3.4))
    left.set_prop_cycle(plt.rcParams["axes.prop_cycle"][:2])
    left.semilogy(np.arange(1900, 1921), PELTS, "o", 1900 + 0.1 * np.arange(201), 10 ** (MEAN + SCALE * path), "-")
    left.axvspan(1915.5, 1920.5, color="0.93")
    left.legend(("hares", "lynxes"))
    left.set(xlabel="year", ylabel="pelts (thousands)", title="The next trough is foreseen, not its depth")
    grid = np.linspace(-2.2, 2.1, 20)
    flow = field(params, np.stack(np.meshgrid(grid, grid), axis=-1))
    right.streamplot(grid, grid, flow[..., 0], flow[..., 1], density=0.55, color="0.75", linewidth=0.7, arrowsize=0.7)
    right.plot(*path.T, "C2", *DATA.T, "C3o")
    right.set(xlabel="hares (s.d. of log)", ylabel="lynxes (s.d. of log)", title="The learned motion")
    save(figure, __file__)
    if fit > 0.2 or forecast > 0.9:
        raise SystemExit("the network does not follow the data: something is wrong")


if __name__ == "__main__":
    main()
