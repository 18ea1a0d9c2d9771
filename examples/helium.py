"""Find the ground state of helium: a small network is the wave function, and a Laplacian is its kinetic energy.

In an eigenstate the local energy is the same everywhere.  So its variance is the loss, with a third derivative as its
gradient.  The exact energy is -2.9037 hartree (Pekeris 1958).  Run: python examples/helium.py
"""

import numpy as np
from adam import adam_start, adam_step
from gallery import plt, save

from calque import jit, lax, random, value_and_grad, vmap
from calque_laplacian import forward_laplacian

EXACT, WALKERS, STEPS, MOVES, SIZE, HIDDEN = -2.9037, 1000, 300, 5, 0.5, 16


def distances(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances from the nucleus, and between the electrons.  Shapes: x [2, 3] -> [2], []."""
    return np.sqrt(np.sum(x**2, axis=1)), np.sqrt(np.sum((x[0] - x[1]) ** 2))


def log_psi(params: dict, x: np.ndarray) -> np.ndarray:
    """Return the logarithm of the wave function, symmetric in the electrons.  Shapes: x [2, 3] -> []."""
    near, apart = distances(x)
    far = (near / (1.0 + near)) ** 2
    features = np.stack([far[0] + far[1], far[0] * far[1], (apart / (1.0 + apart)) ** 2])
    hidden = np.tanh(params["weights"] @ features + params["bias"])
    return -2.0 * np.sum(near) + 0.5 * apart / (1.0 + 0.5 * apart) + params["out"] @ hidden


def local_energy(params: dict, x: np.ndarray) -> np.ndarray:
    """Return -lap(psi) / (2 psi) + V; lap(psi) / psi is the Laplacian of log psi and the square of its gradient."""
    _, slope, curvature = forward_laplacian(log_psi, argnums=1)(params, x)
    near, apart = distances(x)
    return -0.5 * (curvature + np.sum(slope**2)) - np.sum(2.0 / near) + 1.0 / apart


def moved(params: dict, x: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Return each pair of electrons after a random step, which is made as often as psi**2 allows."""
    step_key, choice_key = random.split(key)
    new_x, log_psis = x + SIZE * random.normal(step_key, x.shape), vmap(log_psi, (None, 0))
    accepted = np.log(random.uniform(choice_key, (WALKERS,))) < 2.0 * (log_psis(params, new_x) - log_psis(params, x))
    return np.where(accepted[:, None, None], new_x, x)


@jit
def train(params: dict, state: tuple, x: np.ndarray, key: np.ndarray) -> tuple:
    """Return the parameters after a step, the moved electrons, and their local energies."""
    x, _ = lax.scan(lambda x, key: (moved(params, x, key), None), x, random.split(key, MOVES))

    def variance(params: dict) -> tuple[np.ndarray, np.ndarray]:
        energies = np.clip(vmap(local_energy, (None, 0))(params, x), EXACT - 5.0, EXACT + 5.0)
        return np.mean((energies - np.mean(energies)) ** 2), energies

    (_, energies), gradient = value_and_grad(variance, has_aux=True)(params)
    return *adam_step(params, state, gradient, 0.02), x, energies


def main() -> None:
    rng, history = np.random.default_rng(0), []
    params = {"weights": rng.normal(size=(HIDDEN, 3)), "bias": rng.normal(size=HIDDEN), "out": np.zeros(HIDDEN)}
    state, x = adam_start(params), rng.normal(size=(WALKERS, 2, 3))
    for key in random.split(random.key(1), STEPS):
        params, state, x, energies = train(params, state, x, key)
        history.append(np.asarray(energies))
    energy, spreads = np.mean(history[-50:]), [np.var(history[9]), np.var(history[-1])]
    print(f"energy {energy:.3f} hartree, exact {EXACT:.3f}; variance {spreads[0]:.3f}, then {spreads[1]:.3f}")
    figure, (left, right) = plt.subplots(1, 2)
    left.plot(np.stack([np.mean(history, axis=1), np.full(STEPS, EXACT)], axis=1))
    left.set(xlabel="step", ylabel="energy (hartree)", ylim=(-2.96, -2.84), title="The energy reaches that of helium")
    right.hist([history[-1], history[9]], np.linspace(-3.6, -2.2, 60), histtype="stepfilled", alpha=0.8)
    right.set(xlabel="local energy (hartree)", ylabel="pairs of electrons", title="Local energies at steps 10 and 300")
    save(figure, __file__)
    if abs(energy - EXACT) > 0.004:
        raise SystemExit("the energy is not that of helium: something is wrong")


if __name__ == "__main__":
    main()
