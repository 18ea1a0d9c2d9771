"""Differentiate and batch a function that knows nothing of calque: it imports NumPy and nothing else.

Run: python examples/plain_numpy.py
"""

from __future__ import annotations

import numpy as np

import calque


def energy(positions: np.ndarray, charges: np.ndarray) -> np.ndarray:
    """Return the electrostatic energy of point charges, softened so that it is smooth.

    Shapes: positions [n, 3], charges [n] -> [].
    """
    differences = positions[:, None, :] - positions[None, :, :]
    distances = np.sqrt(np.sum(differences**2, axis=-1) + 0.01)
    pairs = charges[:, None] * charges[None, :] / distances
    return 0.5 * (np.sum(pairs) - np.sum(charges**2) / np.sqrt(0.01))


def check_forces(forces: np.ndarray, positions: np.ndarray, charges: np.ndarray) -> float:
    """Return the largest difference between `forces` and central differences of the energy."""
    worst = 0.0
    for index in np.ndindex(positions.shape):
        step = np.zeros_like(positions)
        step[index] = 1e-6
        slope = (energy(positions + step, charges) - energy(positions - step, charges)) / 2e-6
        worst = max(worst, abs(forces[index] + slope))
    return worst


def main() -> None:
    """Compute forces, their batch over many configurations, and a Hessian."""
    rng = np.random.default_rng(0)
    positions, charges = rng.normal(size=(5, 3)), np.array([1.0, -1.0, 2.0, -2.0, 0.5])

    force = calque.grad(lambda p, q: -energy(p, q))
    forces = force(positions, charges)
    print("energy", round(float(energy(positions, charges)), 6))
    error = check_forces(forces, positions, charges)
    print("forces agree with differences to", f"{error:.1e}")

    many = rng.normal(size=(100, 5, 3))
    batch = calque.vmap(force, in_axes=(0, None))(many, charges)
    loop = np.stack([force(p, charges) for p in many])
    print("vmap agrees with a loop to", f"{np.max(np.abs(batch - loop)):.1e}", "on a batch of shape", batch.shape)

    hessian = calque.hessian(energy)(positions, charges).reshape(15, 15)
    print("the Hessian is symmetric to", f"{np.max(np.abs(hessian - hessian.T)):.1e}")

    compiled = np.asarray(calque.jit(force)(positions, charges))
    print("jit agrees with NumPy to", f"{np.max(np.abs(compiled - forces)):.1e}")
    if error > 1e-6:
        raise SystemExit("the forces are not the slopes of the energy: something is wrong")


if __name__ == "__main__":
    main()
