"""Inputs and programs that the tests of this package share."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import hoist_tracers, lax, stage, trace_state_clean, typeof
from calque_core.context import DEFAULT_SETTINGS, here


@pytest.fixture(autouse=True)
def at_rest():
    """Every test leaves the thread as it found it, also those of errors."""
    yield
    assert trace_state_clean()
    assert here().axis_env == ()
    assert here().settings is DEFAULT_SETTINGS
    assert here().source is None


@pytest.fixture
def spaced():
    """Return `spaced(shape, low, high, dtype)`: distinct numbers in no order, no two of them near each other."""

    def spaced(shape, low=-2.0, high=2.0, dtype="float64", seed=0):
        size = int(np.prod(shape))
        values = low + (high - low) * (np.arange(size) + 0.37) / max(size, 1)
        return np.random.default_rng(seed).permutation(values).reshape(shape).astype(dtype)[()]

    return spaced


@pytest.fixture
def called():
    """Return `called(f)`: `f`, a function of arrays that returns one, as a program inside the program around it."""
    return as_program


def as_program(f, primitive=lax.jit_p, **params):
    params = params or {"name": f.__name__, "compiler": None}

    def call(*args):
        jaxpr, captured = hoist_tracers(stage(lambda *xs: [f(*xs)], [typeof(x) for x in args], user_fun=f))
        return primitive.bind(*captured, *args, jaxpr=jaxpr, **params)[0]

    return call
