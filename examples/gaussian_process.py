"""A Gaussian process learns trend, season and noise from the marginal likelihood, and fills in hidden years.

Data: passengers of airlines by month, 1949 to 1960 (Box & Jenkins 1976).  Three years are hidden; seven parameters of
the kernel are learned from the other nine.  Source: Rasmussen & Williams (2006), algorithm 2.1 and section 5.4.3.

Run: python examples/gaussian_process.py
"""

import numpy as np
from gallery import plt, save
from scipy.optimize import minimize

import calque

TEXT = """112 118 132 129 121 135 148 148 136 119 104 118 115 126 141 135 125 149 170 170 158 133 114 140 145 150 178
163 172 178 199 199 184 162 146 166 171 180 193 181 183 218 230 242 209 191 172 194 196 196 236 235 229 243 264 272 237
211 180 201 204 188 235 227 234 264 302 293 259 229 203 229 242 233 267 269 270 315 364 347 312 274 237 278 284 277 317
313 318 374 413 405 355 306 271 306 315 301 356 348 355 422 465 467 404 347 305 336 340 318 362 348 363 435 491 505 404
359 310 337 360 342 406 396 420 472 548 559 463 407 362 405 417 391 419 461 472 535 622 606 508 461 390 432"""
YEARS, THOUSANDS = 1949 + np.arange(144) / 12, np.array(TEXT.split(), np.float64)
HIDDEN = np.isin(YEARS // 1, [1952, 1956, 1960])
T, Y = YEARS[~HIDDEN] - 1955.0, np.log(THOUSANDS[~HIDDEN] / 250.0)
START = {"slope": 0.1, "drift": 0.1, "season": 0.1, "noise": 0.1, "span": 1.0, "shape": 1.0, "fade": 10.0}


def kernel(p: dict[str, np.ndarray], t: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the covariance of the logarithm at times t and u, in years.  Shapes: [m], [n] -> [m, n]."""
    gap = t[:, None] - u
    trend = 1.0 + p["slope"] ** 2 * t[:, None] * u
    drift = p["drift"] ** 2 * np.exp(-0.5 * (gap / p["span"]) ** 2)
    season = p["season"] ** 2 * np.exp(-2.0 * (np.sin(np.pi * gap) / p["shape"]) ** 2 - 0.5 * (gap / p["fade"]) ** 2)
    return trend + drift + season


def log_likelihood(p: dict[str, np.ndarray]) -> np.ndarray:
    """Return log p(Y): with K = L L', it is -|L^-1 Y|^2 / 2 - sum(log diag L) - n log(2 pi) / 2."""
    L = np.linalg.cholesky(kernel(p, T, T) + p["noise"] ** 2 * np.eye(len(T)))
    z = np.linalg.solve(L, Y)
    return -0.5 * z @ z - np.sum(np.log(np.diag(L))) - 0.5 * len(Y) * np.log(2.0 * np.pi)


def predict(p: dict[str, np.ndarray], t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation of the logarithm at times t, given the months that are not hidden."""
    across = kernel(p, t, T)
    weights = np.linalg.solve(kernel(p, T, T) + p["noise"] ** 2 * np.eye(len(T)), across.T)
    variance = np.diag(kernel(p, t, t)) - np.sum(across * weights.T, axis=1) + p["noise"] ** 2
    return np.log(250.0) + Y @ weights, np.sqrt(variance)


def draw(mean: np.ndarray, deviation: np.ndarray, error: float) -> None:
    figure, axes = plt.subplots()
    axes.fill_between(YEARS, np.exp(mean - 2.0 * deviation), np.exp(mean + 2.0 * deviation), color="C0", alpha=0.2)
    axes.plot(YEARS, np.exp(mean), color="C0", label="Gaussian process, ± 2 s.d.")
    axes.plot(YEARS[~HIDDEN], THOUSANDS[~HIDDEN], "o", color="C5", label="measured")
    axes.plot(YEARS[HIDDEN], THOUSANDS[HIDDEN], "o", color="C1", label="hidden from it")
    axes.set(xlabel="year", ylabel="passengers (thousands a month)")
    axes.set_title(f"The kernel learns trend and season: three hidden years, filled in to {error:.0%}")
    axes.legend(loc="upper left")
    save(figure, __file__)


def main() -> None:
    flat, unravel = calque.flatten_util.ravel_pytree(START)
    loss = calque.jit(calque.value_and_grad(lambda logs: -log_likelihood(unravel(np.exp(logs)))))
    learned = unravel(np.exp(minimize(loss, np.log(flat), jac=True, method="L-BFGS-B").x))
    mean, deviation = predict(learned, YEARS - 1955.0)
    miss = (np.log(THOUSANDS) - mean)[HIDDEN]
    error, covered = np.sqrt(np.mean(miss**2)), np.mean(np.abs(miss) < 2.0 * deviation[HIDDEN])
    print(f"log likelihood {log_likelihood(START):.1f} -> {log_likelihood(learned):.1f}")
    print(f"hidden years: error {error:.1%}, {covered:.0%} of the months within two standard deviations")
    draw(mean, deviation, error)
    if error > 0.05 or covered < 0.9:
        raise SystemExit("the hidden months are not those predicted: something is wrong")


if __name__ == "__main__":
    main()
