"""The table's programs that compute values again instead of keeping them."""

from __future__ import annotations

import numpy as np
from program import COMPLEX, FLOATS, Program, numbers

from calque_autodiff import checkpoint, checkpoint_name, checkpoint_policies
from calque_core import lax
from calque_xla_backend import jit

FIELD = ("float16", *FLOATS, *COMPLEX)
VECTOR = numbers((3,))
SLOPES = np.linspace(-0.5, 0.5, 3).astype(np.float32)
by_name = checkpoint_policies.save_only_these_names("hidden")


def waves(x):
    hidden = checkpoint_name(lax.sin(x), "hidden")
    return lax.cos(hidden * x), hidden


def nested(x, y):
    inner = checkpoint(lambda a: lax.sin(lax.cos(a) * y), policy=checkpoint_policies.everything_saveable)
    return checkpoint(lambda a: inner(inner(a)) * SLOPES.astype(x.dtype))(x)


@checkpoint(policy=by_name)
def of_a_scan(x, y):
    return lax.scan(lambda carry, row: waves(carry * row), x, y)


@checkpoint(policy=by_name)
def of_branches(x):
    last = jit(lambda z: waves(z)[0] * z)(x)
    return lax.cond(lax.real(last).sum() > 9.0, lambda z: z, lambda z: waves(z)[0], last)


def step_by_step(x, y):
    def step(carry, row):
        return waves(carry * row)

    return lax.scan(checkpoint(step, prevent_cse=False), x, y)


def row(name, fun, *makers, dtypes=FIELD):
    return Program(name, fun, makers, dtypes, 16, complex_ulps=64)


REMATERIALIZED = {
    "remat": [
        row("checkpoint", checkpoint(waves), VECTOR),
        row("checkpoint of checkpoints", nested, VECTOR, VECTOR),
        row("checkpoint of a scan", of_a_scan, VECTOR, numbers((2, 3)), dtypes=FLOATS),
        row("checkpoint of branches", of_branches, VECTOR, dtypes=FLOATS),
        row("checkpoint of each step", step_by_step, VECTOR, numbers((2, 3)), dtypes=FLOATS),
    ],
    "name": [row("name", lambda x: checkpoint_name(x, "x"), VECTOR)],
    "optimization_barrier": [
        row("optimization_barrier", lambda x, y: lax.optimization_barrier((x, y)), VECTOR, VECTOR)
    ],
}
