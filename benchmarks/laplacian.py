"""Rows: the Laplacian of a wave function of ten electrons, compiled, for a batch of positions.

One idea: the network has what such networks have: features of particles and of pairs of particles, means over
particles, orbitals, determinants.  Its logarithm is one function of NumPy's names, for all libraries.  folx computes
forward Laplacians for jax, where it is told to keep Jacobians of up to six inputs sparse.
Read next: `compiled.py`, other compiled programs.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from kits import Function, installed, kit
from measure import Effort, Samples, check_agreement, race
from table import row

ELECTRONS, NUCLEI, DETERMINANTS, WIDTH, PAIR_WIDTH, LAYERS, WALKERS = 10, 4, 4, 64, 16, 3, 16
PAIR_INPUTS = 6
laplacian_row = partial(row, needs="calque_laplacian")


def parameters() -> dict[str, Any]:
    """Return the weights of the network, in float32."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    layers, width, pair_width = [], 4 * NUCLEI, 4
    for _ in range(LAYERS):
        layers.append((weights(3 * width + 2 * pair_width, WIDTH), weights(pair_width, PAIR_WIDTH)))
        width, pair_width = WIDTH, PAIR_WIDTH
    orbitals = DETERMINANTS * ELECTRONS
    decays = np.abs(weights(NUCLEI, orbitals)) + np.float32(0.5)
    return {"nuclei": weights(NUCLEI, 3), "layers": layers, "orbitals": weights(WIDTH, orbitals), "decays": decays}


def log_wave_function(np: Any, params: dict[str, Any], x: Any) -> Any:
    """Return log|psi| for positions.  Shapes: x [electrons, 3] -> []."""
    n, half, eye = ELECTRONS, ELECTRONS // 2, np.eye(ELECTRONS, dtype=np.float32)
    to_nuclei = x[:, None] - params["nuclei"]
    distances = np.sqrt(np.sum(to_nuclei**2, axis=-1))
    single = np.concatenate([to_nuclei.reshape(n, -1), distances], axis=-1)
    apart = x[:, None] - x
    pair = np.concatenate([apart, (np.sqrt(np.sum(apart**2, axis=-1) + eye) * (1 - eye))[..., None]], axis=-1)
    for mix, mix_pairs in params["layers"]:
        means = [np.broadcast_to(np.mean(half_of, axis=0), single.shape) for half_of in (single[:half], single[half:])]
        pair_means = [np.mean(pair[:, :half], axis=1), np.mean(pair[:, half:], axis=1)]
        single = residual(single, np.tanh(np.concatenate([single, *means, *pair_means], axis=-1) @ mix))
        pair = residual(pair, np.tanh(pair @ mix_pairs))
    envelopes = np.sum(np.exp(-distances[:, :, None] * params["decays"]), axis=1)
    orbitals = (single @ params["orbitals"] * envelopes).reshape(n, DETERMINANTS, n)
    signs, logarithms = np.linalg.slogdet(np.transpose(orbitals, (1, 0, 2)))
    greatest = np.max(logarithms)
    return np.log(np.abs(np.sum(signs * np.exp(logarithms - greatest)))) + greatest


def residual(x: Any, change: Any) -> Any:
    return x + change if x.shape == change.shape else change


def walkers() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(WALKERS, ELECTRONS, 3)).astype(np.float32)


def trace_of_hessian(library: str) -> Function:
    f = partial(log_wave_function, kit(library).numpy, parameters())
    trace = kit(library).numpy.trace
    return lambda x: trace(kit(library).hessian(f)(x).reshape(3 * ELECTRONS, 3 * ELECTRONS))


def forward(library: str) -> Function:
    """Return the function by a forward Laplacian of a library."""
    if library == "folx":
        import folx

        wrapped = partial(log_wave_function, kit("jax").numpy, parameters())
        return lambda x: folx.forward_laplacian(wrapped, sparsity_threshold=PAIR_INPUTS)(x).laplacian
    import calque_laplacian

    return calque_laplacian.laplacian(partial(log_wave_function, np, parameters()))


def call_of(library: str, fun: Function) -> Function:
    """Return a call of a mapped, compiled function that waits for the result."""
    owner = kit("jax" if library == "folx" else library)
    compiled, xs = owner.jit(owner.vmap(fun)), owner.device_put(walkers())
    return lambda: np.asarray(compiled(xs))


def race_of(effort: Effort, functions: dict[str, Function]) -> Samples:
    calls = {library: call_of(library, fun) for library, fun in functions.items()}
    check_agreement({library: call() for library, call in calls.items()})
    return race(effort, calls, per=1, unit=1e-3)


@laplacian_row("compiled: Laplacian of 10 electrons, 16 walkers", "ms", budget=1.0, folx=1.0)
def laplacian_of_electrons(effort: Effort) -> Samples:
    functions = {"calque": forward("calque")}
    if installed("jax"):
        functions["jax"] = trace_of_hessian("jax")
    if installed("folx"):
        functions["folx"] = forward("folx")
    return race_of(effort, functions)


@laplacian_row("compiled: trace of the Hessian of 10 electrons, 16 walkers", "ms")
def hessian_of_electrons(effort: Effort) -> Samples:
    return race_of(effort, {library: trace_of_hessian(library) for library in ("calque", "jax") if installed(library)})
