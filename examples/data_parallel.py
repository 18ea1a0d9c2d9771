"""Train a network on handwritten digits, the images of each batch divided among four devices: in two ways.

Automatic: the step for one device, unchanged, gets a batch that is divided; XLA makes each device compute with its
images, and adds the sum over devices to the gradient.  By hand: `shard_map` runs the step on the images of one device,
and `pmean` joins the losses; the derivative of `pmean` joins the gradients.  Both give the numbers of one device.  The
devices are virtual: four parts of the host's processor.  Numbers have 64 bits, for descent makes rounding errors grow.

Run: python examples/data_parallel.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from digits import Params, initial_params, logits, loss
from digits_data import Data, load

import calque
from calque import lax, random, tree
from calque.sharding import Mesh, NamedSharding
from calque.sharding import PartitionSpec as P

DEVICES, EPOCHS, BATCH, LEARNING_RATE = 4, 15, 64, 0.5
Step = Callable[[Params, Any, Any], tuple[Params, Any]]


def step(params: Params, images: Any, labels: Any) -> tuple[Params, Any]:
    """Return the parameters after one step of gradient descent, and the loss before it."""
    value, gradient = calque.value_and_grad(loss)(params, images, labels)
    return tree.map(lambda p, g: p - LEARNING_RATE * g, params, gradient), value


def step_on_shards(params: Params, images: Any, labels: Any) -> tuple[Params, Any]:
    """Do the same on the images of one device: the loss is the mean over devices, and so is its gradient."""

    def mean_loss(params: Params) -> Any:
        return lax.pmean(loss(params, images, labels), "data")

    value, gradient = calque.value_and_grad(mean_loss)(params)
    return tree.map(lambda p, g: p - LEARNING_RATE * g, params, gradient), value


def train(do: Step, params: Params, batches: Iterator[Data], place: Callable[[Any], Any]) -> tuple[Params, list[float]]:
    """Return the trained parameters and the loss of each step; `place` puts a batch on devices."""
    losses = []
    for batch in batches:
        params, value = do(params, place(batch.images), place(batch.labels))
        losses.append(value)
    return params, [float(value) for value in losses]


def programs(mesh: Mesh) -> dict[str, tuple[Step, Callable[[Any], Any]]]:
    """Return the step for each way, with the function that puts a batch on devices."""
    batch, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    by_hand = calque.shard_map(step_on_shards, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=(P(), P()))
    return {
        "one device": (calque.jit(step), lambda x: x),
        "automatic": (calque.jit(step, out_shardings=everywhere), lambda x: calque.device_put(x, batch)),
        "shard_map": (calque.jit(by_hand), lambda x: calque.device_put(x, batch)),
    }


def main() -> None:
    """Train in each way, compare the numbers, count the communication of one step."""
    calque.config.cpu_devices(DEVICES)
    training, held_out = load()
    mesh = calque.make_mesh((DEVICES,), ("data",))
    key, params_key = random.split(random.key(0))
    start_params = tree.map(lambda p: np.asarray(p, np.float64), initial_params(params_key))
    expected = None
    for name, (do, place) in programs(mesh).items():
        batches = [batch for k in random.split(key, EPOCHS) for batch in training.batches(BATCH, k)]
        start = time.perf_counter()
        params, losses = train(do, start_params, iter(batches), place)
        seconds = time.perf_counter() - start
        predicted = np.asarray(logits(calque.device_get(params), held_out.images)).argmax(axis=1)
        accuracy = np.mean(predicted == held_out.labels.argmax(axis=1))
        compiled = do.lower(start_params, place(batches[0].images), place(batches[0].labels)).compile()
        traffic = ", ".join(f"{each.count} {kind}" for kind, each in compiled.communication().items()) or "none"
        expected = expected or losses
        difference = max(abs(a - b) / b for a, b in zip(losses, expected, strict=True))
        print(
            f"{name:10} accuracy {accuracy:.4f} after {len(losses)} steps in {seconds:.1f} s, communication: {traffic}"
        )
        print(f"{'':10} largest relative difference of a loss from one device: {difference:.0e}")
        if difference > 1e-9 or accuracy < 0.94 or ("all-reduce" in traffic) != (name != "one device"):
            raise SystemExit(f"{name}: other numbers than on one device, or communication that should not be.")


if __name__ == "__main__":
    main()
