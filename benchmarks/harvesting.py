"""Rows: naming intermediate values, by `calque_harvest` and by flax's `sow`, and the harvest of a gradient.

One idea: a network of three layers names each of its activations.  Flax is no dependency of ours: where it is not
installed, its column, `jax`, is empty.  Oryx, whose words calque uses, does not import beside today's jax.
Read next: `eager.py`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from kits import Function, installed
from measure import Effort, Samples, check_agreement, race
from table import row

LAYERS, WIDTH, BATCH = 3, 64, 32
harvest_row = partial(row, needs="calque_harvest")


def weights() -> list[Any]:
    rng = np.random.default_rng(0)
    return list((rng.standard_normal((LAYERS, WIDTH, WIDTH)) / np.sqrt(WIDTH)).astype(np.float32))


INPUTS = np.random.default_rng(1).standard_normal((BATCH, WIDTH)).astype(np.float32)


def loss(name_it: Function) -> Function:
    """Return (weights, x) -> a number; `name_it(value, name)` names each activation."""

    def run(matrices: list[Any], x: Any) -> Any:
        for i, matrix in enumerate(matrices):
            x = name_it(np.tanh(x @ matrix), f"layer {i}")
        return (x * x).sum()

    return run


def sown() -> Function:
    from calque_harvest import sow

    return loss(lambda x, name: sow(x, name=name))


def plain() -> Function:
    return loss(lambda x, name: x)


def flax_network(names: bool) -> tuple[Function, Any]:
    """Return (variables, x) -> (a number, the named values) by flax, and its variables."""
    import jax.numpy as jnp
    from flax import linen as nn

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            for i in range(LAYERS):
                x = jnp.tanh(x @ self.param(f"w{i}", lambda key, i=i: jnp.asarray(weights()[i])))
                if names:
                    self.sow("intermediates", f"layer {i}", x)
            return (x * x).sum()

    import jax

    network = Network()
    variables = {"params": network.init(jax.random.key(0), INPUTS)["params"]}
    return lambda v, x: network.apply(v, x, mutable=["intermediates"]), variables


def finished(step: Function, parameters: Any) -> Any:
    (value, _), _ = step(parameters, INPUTS)
    return value.block_until_ready()


@harvest_row("an eager sow that nobody reads", "us")
def eager_sow(effort: Effort) -> Samples:
    from calque_harvest import sow

    x = np.ones(8)
    return race(effort, {"calque": lambda: sow(x, name="x")}, per=1, unit=1e-6)


@harvest_row("eager network, names beside none", "us")
def eager_names(effort: Effort) -> Samples:
    """The column of NumPy is the network without names."""
    named, without, matrices = sown(), plain(), weights()
    check_agreement({"calque": named(matrices, INPUTS), "numpy": without(matrices, INPUTS)})
    contestants = {"calque": lambda: named(matrices, INPUTS), "numpy": lambda: without(matrices, INPUTS)}
    return race(effort, contestants, per=1, unit=1e-6)


@harvest_row("eager gradient of the network, names beside none", "us")
def eager_gradient(effort: Effort) -> Samples:
    """The column of NumPy is calque's gradient of the network without names."""
    from calque import grad

    named, without, matrices = grad(sown()), grad(plain()), weights()
    contestants = {"calque": lambda: named(matrices, INPUTS), "numpy": lambda: without(matrices, INPUTS)}
    return race(effort, contestants, per=1, unit=1e-6)


@harvest_row("eager harvest of the network", "us", jax=1.0)
def eager_harvest(effort: Effort) -> Samples:
    from calque_harvest import call_and_reap

    reaped, matrices = call_and_reap(sown()), weights()
    contestants: dict[str, Any] = {"calque": lambda: reaped(matrices, INPUTS)}
    if installed("jax") and installed("flax"):
        apply, variables = flax_network(names=True)
        contestants["jax"] = lambda: apply(variables, INPUTS)
    return race(effort, contestants, per=1, unit=1e-6)


@harvest_row("compiled harvest of the network's gradient", "us", jax=1.0)
def compiled_harvest(effort: Effort) -> Samples:
    from calque import jit, value_and_grad
    from calque_harvest import call_and_reap

    step, matrices = jit(call_and_reap(value_and_grad(sown()))), weights()
    contestants: dict[str, Any] = {"calque": partial(finished, step, matrices)}
    if installed("jax") and installed("flax"):
        import jax

        apply, variables = flax_network(names=True)
        theirs = jax.jit(jax.value_and_grad(apply, has_aux=True))
        contestants["jax"] = partial(finished, theirs, variables)
    return race(effort, contestants, per=1, unit=1e-6)
