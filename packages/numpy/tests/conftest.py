"""The law that every function of the front obeys, as one fixture that the tables share."""

from __future__ import annotations

import numpy as np
import pytest

import calque_numpy
from calque_core import check_jaxpr, eval_jaxpr, make_jaxpr
from calque_core.config import disable_jit
from calque_numpy import random
from calque_pytree import tree_leaves

for _front in (calque_numpy, calque_numpy.linalg, calque_numpy.fft):
    for _name in _front.__all__:
        getattr(_front, _name)  # its module adds its functions to the tables that tests read
DTYPES = [
    "bool",
    "int8",
    "int32",
    "int64",
    "uint8",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.fixture
def numbers():
    """Return `numbers(shape, dtype)`: small numbers in no order, none of them repeated next to itself."""

    def numbers(shape, dtype="float64", seed=0):
        size = int(np.prod(shape))
        values = np.random.default_rng(seed).permutation(size) - size // 3
        if np.dtype(dtype).kind == "c":
            values = values + 1j * values[::-1]
        elif np.dtype(dtype).kind == "f":
            values = values / 4
        elif np.dtype(dtype).kind in "ub":
            values = abs(values) % 7 > 2 if dtype == "bool" else abs(values)
        return values.astype(dtype).reshape(shape)

    return numbers


@pytest.fixture
def agree():
    """Return `agree(f, *args)`, which checks `f(np, *args)` in every way it can be computed.

    `f` takes the module that it shall use.  NumPy itself says what is right, in dtype, shape and value; the front must
    agree evaluated and traced, and so must plain NumPy when it is traced, unless `plain=False`.
    """
    return check_agreement


def check_agreement(f, *args, ulps=4, plain=True):
    want = f(np, *args)
    compare(f(calque_numpy, *args), want, ulps)  # by NumPy's functions
    with disable_jit():
        eager = f(calque_numpy, *args)  # by ours, since settings other than the default hold
    assert all(isinstance(x, (np.ndarray, np.generic)) for x in tree_leaves(eager))
    compare(eager, want, ulps)
    for module in (calque_numpy, np) if plain else (calque_numpy,):
        jaxpr = make_jaxpr(lambda *xs, m=module: f(m, *xs))(*args)
        check_jaxpr(jaxpr)
        outs = eval_jaxpr(jaxpr, jaxpr.consts, *tree_leaves(args))
        assert [(x.shape, x.dtype) for x in outs] == [(a.shape, a.dtype) for a in jaxpr.out_avals]
        compare(outs, want, ulps)


def compare(got, want, ulps):
    got, want = tree_leaves(got), [np.asarray(x) for x in tree_leaves(want)]
    assert [np.shape(x) for x in got] == [x.shape for x in want]
    assert [np.asarray(x).dtype for x in got] == [x.dtype for x in want]
    for mine, numpys in zip(got, want, strict=True):
        eps = np.finfo(numpys.dtype).eps if numpys.dtype.kind in "fc" else 0
        np.testing.assert_allclose(mine, numpys, rtol=ulps * eps, atol=0)


@pytest.fixture
def call_recorded():
    """Return a function that calls a random function as a case of `recorded_random.json` says, with a key."""
    return lambda case, key: getattr(random, case["call"])(key, *map(recorded_argument, case["args"]))


def recorded_argument(recorded):
    if isinstance(recorded, dict) and "array" in recorded:
        return np.array(recorded["array"])
    if isinstance(recorded, dict):
        shape = recorded["arange"]
        return np.arange(int(np.prod(shape)), dtype=recorded["dtype"]).reshape(shape)
    return tuple(recorded) if isinstance(recorded, list) else recorded
