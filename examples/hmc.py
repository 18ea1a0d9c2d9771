"""Hamiltonian Monte Carlo for eight schools: the gradient of a density in plain NumPy, and 64 chains at once by `vmap`.

Eight schools measured the effect of the same coaching (Rubin 1981).  Their true effects have a common mean and a common
spread, both unknown.  This density is a funnel, too narrow for one size of step; so the chains move in the coordinates
z = (effect - mean) / spread.  Source: Betancourt & Girolami (2015).

Run: python examples/hmc.py
"""

import numpy as np
from gallery import plt, save

from calque import grad, jit, lax, random, vmap

MEASURED = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])  # points in a test
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])  # standard deviations of the measurements
CHAINS, WARM_UP, DRAWS, LEAPS, STEP = 64, 200, 1000, 12, 0.2


def model(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the common mean, the common spread and the effects.  Shapes: x [10] -> [], [], [8]."""
    mean, spread = 5.0 * x[0], np.exp(x[1])
    return mean, spread, mean + spread * x[2:]


def log_density(x: np.ndarray) -> np.ndarray:
    """Return the log density of x but for a constant: mean ~ Normal(0, 5), spread ~ HalfCauchy(5), z ~ Normal(0, 1)."""
    _, spread, effects = model(x)
    prior = -0.5 * x[0] ** 2 + np.log(spread / (1.0 + (spread / 5.0) ** 2)) - 0.5 * np.sum(x[2:] ** 2)
    return prior - 0.5 * np.sum(((MEASURED - effects) / ERROR) ** 2)


def leap(_: int, state: tuple) -> tuple:
    """Return place and momentum after one step of Hamilton's equations x' = p, p' = slope of the log density."""
    x, p = state
    p = p + 0.5 * STEP * grad(log_density)(x)
    x = x + STEP * p
    return x, p + 0.5 * STEP * grad(log_density)(x)


def chain(start: np.ndarray, key: np.ndarray, draws: int) -> tuple:
    def transition(x: np.ndarray, key: np.ndarray) -> tuple:
        momentum_key, choice_key = random.split(key)
        p = random.normal(momentum_key, x.shape)
        new_x, new_p = lax.fori_loop(0, LEAPS, leap, (x, p))
        gain = log_density(new_x) - log_density(x) - 0.5 * np.sum(new_p**2 - p**2)  # the energy that the steps lost
        x = np.where(np.log(random.uniform(choice_key)) < gain, new_x, x)
        return x, model(x)

    return lax.scan(transition, start, random.split(key, draws))[1]


def draw(spread: np.ndarray, effects: np.ndarray) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    left.set_title("64 chains explore the funnel")
    left.hexbin(effects[:, 0], spread, yscale="log", gridsize=50, bins="log", mincnt=3, cmap="Blues")
    left.set(xlabel="effect in school A (points)", ylabel="spread of the effects (points)", ylim=(0.05, 50.0))
    right.errorbar(np.arange(8), MEASURED, ERROR, fmt="o", color="C5", label="measured")
    right.errorbar(np.arange(8) + 0.25, effects.mean(0), effects.std(0), fmt="o", color="C0", label="given all schools")
    right.set(xlabel="school", ylabel="effect (points, ± 1 s.d.)", title="Schools learn from one another")
    right.set_xticks(np.arange(8) + 0.12, "ABCDEFGH")
    right.legend()
    save(figure, __file__)


def main() -> None:
    starts, keys = random.normal(random.key(0), (CHAINS, 10)), random.split(random.key(1), CHAINS)
    chains = jit(vmap(chain, in_axes={"draws": None}), static_argnames="draws")(starts, keys, draws=WARM_UP + DRAWS)
    mean, spread, effects = (np.asarray(x)[:, WARM_UP:] for x in chains)
    ratios = [np.var(x, axis=(0, 1)) / np.mean(np.var(x, axis=1), axis=0) for x in (mean, np.log(spread), effects)]
    r_hat = np.sqrt(np.max(np.hstack(ratios)))  # the deviation of all draws over that within a chain
    print(f"mean {mean.mean():.2f}, spread {spread.mean():.2f} (quadrature: 4.40, 3.60); R-hat at most {r_hat:.4f}")
    draw(spread.ravel(), effects.reshape(-1, 8))
    if r_hat > 1.01 or abs(mean.mean() - 4.40) > 0.1 or abs(spread.mean() - 3.60) > 0.1:
        raise SystemExit("the chains do not agree with one another or with quadrature: something is wrong")


if __name__ == "__main__":
    main()
