"""Dimension numbers, modes and derivatives of `gather`, `scatter` and `dynamic_slice` beside jax's.

jax refuses the derivatives of a product with equal places; those are compared with differences elsewhere.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from calque_autodiff import grad
from calque_core import lax
from calque_xla_backend import jit

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed"),
    pytest.mark.sampled(keep=0.15),
]

NAMES = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]


@pytest.fixture
def theirs():
    """Return jax, with 64 bits for the test."""
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    with jax.enable_x64(True):
        yield jax


def case(seed):
    """Return an operand [*b, n, m, k], indices, sizes of windows, and dimension numbers in a random order of axes."""
    rng = np.random.default_rng(seed)
    n_batching = int(rng.integers(0, 2))
    shape = tuple(int(n) for n in rng.integers(2, 5, n_batching + 3))
    collapsed = n_batching + int(rng.integers(0, 3))
    sizes = tuple(1 if d == collapsed or d < n_batching else int(rng.integers(1, n + 1)) for d, n in enumerate(shape))
    mapped = tuple(int(d) for d in n_batching + rng.permutation(3)[: rng.integers(1, 4)])
    rows = (*shape[:n_batching], 3)
    offset_dims = tuple(sorted(int(d) for d in rng.permutation(len(rows) + 2)[:2]))
    batching = tuple(range(n_batching))
    indices = rng.integers(-1, 5, (*rows, len(mapped)))
    return rng.normal(size=shape), indices, sizes, (offset_dims, (collapsed,), mapped, batching, batching)


def check(got, want):
    assert np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("seed", range(60))
def test_gather(seed, mode, theirs):
    x, indices, sizes, numbers = case(seed)
    ours = lambda x: lax.gather(x, indices, lax.GatherDimensionNumbers(*numbers), sizes, mode=mode)
    peers = lambda x: theirs.lax.gather(x, indices, theirs.lax.GatherDimensionNumbers(*numbers), sizes, mode=mode)
    want = peers(x)
    check(ours(x), want)
    check(jit(ours)(x), want)
    if mode != "promise_in_bounds":  # a broken promise has no derivative to agree about
        loss = lambda f, total: lambda x: total(f(x) * np.cos(np.arange(want.size)).reshape(want.shape))
        check(grad(loss(ours, np.sum))(x), theirs.grad(loss(peers, theirs.numpy.nansum))(x))


@pytest.mark.parametrize("mode", ["clip", "drop", "promise_in_bounds"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(30))
def test_scatter(seed, name, mode, theirs):
    x, indices, sizes, numbers = case(seed)
    shape = lax.gather(x, indices, lax.GatherDimensionNumbers(*numbers), sizes).shape
    updates = np.random.default_rng(seed).normal(size=shape)
    ours = lambda x, u: getattr(lax, name)(x, indices, u, lax.ScatterDimensionNumbers(*numbers), mode=mode)
    peers = lambda x, u: getattr(theirs.lax, name)(
        x, indices, u, theirs.lax.ScatterDimensionNumbers(*numbers), mode=mode
    )
    want = peers(x, updates)
    check(ours(x, updates), want)
    check(jit(ours)(x, updates), want)
    if name in ("scatter", "scatter_add") and mode != "promise_in_bounds":
        got = grad(lambda x, u: np.sum(np.sin(ours(x, u))), argnums=(0, 1))(x, updates)
        bars = theirs.grad(lambda x, u: theirs.numpy.sin(peers(x, u)).sum(), argnums=(0, 1))(x, updates)
        for mine, peer in zip(got, bars, strict=True):
            check(mine, peer)


@pytest.mark.parametrize("seed", range(20))
def test_windows_at_one_corner(seed, theirs):
    rng = np.random.default_rng(seed)
    x, corner, sizes = rng.normal(size=(3, 4)), rng.integers(-5, 6, 2), tuple(map(int, rng.integers(1, 4, 2)))
    check(lax.dynamic_slice(x, corner, sizes), theirs.lax.dynamic_slice(x, corner, sizes))
    update = rng.normal(size=sizes)
    want = theirs.lax.dynamic_update_slice(x, update, corner)
    check(lax.dynamic_update_slice(x, update, corner), want)
    index = rng.integers(-9, 9, (2, 5))
    check(lax.index_take(x, tuple(index), (0, 1)), theirs.lax.index_take(x, index, (0, 1)))
