"""Rows: training steps on several devices, which are parts of the host's processor.

One idea: the number of devices is fixed at the first use, so each row runs in a process of its own, where both
libraries have as many devices and take turns.
Read next: `first_calls.py`, whose rows need processes for another reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from kits import installed
from measure import Effort, Samples, check_agreement, race
from programs import mlp_batch, mlp_loss, mlp_params
from table import row

DEVICES = 4


@row("data-parallel MLP step by shard_map, 4 devices", "us", budget=1.0, jax=1.0, needs="calque_xla_backend")
def by_shard_map(effort: Effort) -> Samples:
    """Time steps that are programs of one device."""
    return in_process(effort, "manual_step")


@row("data-parallel MLP step divided by XLA, 4 devices", "us", budget=1.0, jax=1.0, needs="calque_xla_backend")
def by_xla(effort: Effort) -> Samples:
    """Time steps that XLA divides as their arrays are."""
    return in_process(effort, "automatic_step")


def in_process(effort: Effort, step: str) -> Samples:
    """Run `main` for the steps of a method of `Training`, in a process with four devices."""
    command = [sys.executable, __file__, json.dumps(asdict(effort)), step]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    samples: Samples = json.loads(done.stdout)
    return samples


class Training:
    """A training loop: a call is one step, and returns the last layer's bias when it is there."""

    def __init__(self, library: SimpleNamespace, step: str) -> None:
        self.library, self.mesh = library, library.Mesh(np.array(library.devices()), "data")
        self.whole, self.divided = library.P(), library.P("data")
        self.step = library.jit(getattr(self, step)())
        self.params = library.device_put(mlp_params(), library.NamedSharding(self.mesh, self.whole))
        self.batch = library.device_put(mlp_batch(), library.NamedSharding(self.mesh, self.divided))

    def manual_step(self) -> Any:
        """Return a step as a program of one device, which sums over the devices."""
        loss = mlp_loss(self.library)
        step = self.descent(lambda *args: self.library.lax.pmean(loss(*args), "data"))
        specs = {"in_specs": (self.whole, self.divided, self.divided), "out_specs": self.whole}
        return self.library.shard_map(step, mesh=self.mesh, **specs)

    def automatic_step(self) -> Any:
        """Return a step as for one device."""
        return self.descent(mlp_loss(self.library))

    def descent(self, loss: Any) -> Any:
        """Return a step of gradient descent."""

        def step(params: Any, images: Any, labels: Any) -> Any:
            grads = self.library.grad(loss)(params, images, labels)
            return self.library.tree_map(lambda p, g: p - 0.1 * g, params, grads)

        return step

    def __call__(self) -> np.ndarray:
        self.params = self.step(self.params, *self.batch)
        return np.asarray(self.params[-1]["b"])


def calque_library() -> SimpleNamespace:
    import calque
    from calque_core import Mesh, PartitionSpec, shard_map
    from calque_xla_backend import NamedSharding

    calque.config.cpu_devices(DEVICES)
    return SimpleNamespace(
        P=PartitionSpec, Mesh=Mesh, NamedSharding=NamedSharding, shard_map=shard_map, jit=calque.jit, grad=calque.grad,
        lax=calque.lax, numpy=calque.numpy, devices=calque.devices, device_put=calque.device_put,
        tree_map=calque.tree.map,
    )  # fmt: skip


def jax_library() -> SimpleNamespace:
    import jax

    jax.config.update("jax_num_cpu_devices", DEVICES)
    sharding = jax.sharding
    return SimpleNamespace(
        P=sharding.PartitionSpec, Mesh=sharding.Mesh, NamedSharding=sharding.NamedSharding, shard_map=jax.shard_map,
        jit=jax.jit, grad=jax.grad, lax=jax.lax, numpy=jax.numpy, devices=jax.devices, device_put=jax.device_put,
        tree_map=jax.tree.map,
    )  # fmt: skip


def main() -> None:
    """Print the samples of the libraries that are installed."""
    effort, step = Effort(**json.loads(sys.argv[1])), sys.argv[2]
    libraries = {"calque": calque_library, "jax": jax_library}
    steps = {name: Training(make(), step) for name, make in libraries.items() if installed(name)}
    check_agreement({name: step() for name, step in steps.items()})
    print(json.dumps(race(effort, steps, per=1, unit=1e-6)))


if __name__ == "__main__":
    main()
