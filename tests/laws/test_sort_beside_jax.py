"""Sorting and the choice of extreme elements beside jax's, with derivatives.

Only NaN and -0.0 differ: `lax.top_k` of jax orders them by their bits, ours in the order of `sort`.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from calque_autodiff import vjp
from calque_core import lax
from calque_xla_backend import jit

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed"),
    pytest.mark.sampled(keep=0.3),
]


@pytest.fixture
def theirs():
    """Return jax, with 64 bits for the test."""
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    with jax.enable_x64(True):
        yield jax


def check(got, want):
    for ours, peers in zip(got, want, strict=True):
        assert np.asarray(ours).dtype == np.asarray(peers).dtype
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(peers))


def check_all(ours, peers, x, jax):
    """Compare results, compiled results and cotangents of functions that return floats first."""
    want = peers(x)
    check(ours(x), want)
    check(jit(ours)(x), want)
    ct = np.cos(np.arange(want[0].size)).reshape(want[0].shape)
    check(vjp(lambda x: ours(x)[0], x)[1](ct), jax.vjp(lambda x: peers(x)[0], x)[1](ct))


@pytest.mark.parametrize("seed", range(10))
def test_sorting_by_several_keys(seed, theirs):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, 2))
    rest = [rng.integers(0, 2, shape) * 1.0, np.arange(np.prod(shape)).reshape(shape)]
    params = {"dimension": int(rng.integers(-2, 2)), "num_keys": int(rng.integers(1, 4))}
    x = rng.choice([0.0, 1.0, -1.0, np.nan, np.inf, 2.5], shape)
    check_all(lambda x: lax.sort((x, *rest), **params), lambda x: theirs.lax.sort((x, *rest), **params), x, theirs)


@pytest.mark.parametrize("axis", [0, 1])
def test_sorting_values_by_keys(axis, theirs):
    keys, values = np.random.default_rng(0).integers(0, 3, (4, 5)), np.arange(20.0).reshape(4, 5)
    swapped = lambda lax: lambda x: lax.sort_key_val(keys, x, axis)[::-1]
    check_all(swapped(lax), swapped(theirs.lax), values, theirs)


@pytest.mark.parametrize("name", ["top_k", "approx_max_k", "approx_min_k"])
@pytest.mark.parametrize("seed", range(8))
def test_extreme_elements(name, seed, theirs):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 6, 3))
    axis = int(rng.integers(-3, 3))
    k = int(rng.integers(1, shape[axis] + 1))
    keyword = "axis" if name == "top_k" else "reduction_dimension"
    call = lambda lax: lambda x: getattr(lax, name)(x, k, **{keyword: axis})
    # jax's approximate functions promise no order of equal elements.
    x = rng.integers(-2, 3, shape) if name == "top_k" else rng.permutation(np.prod(shape)).reshape(shape)
    check_all(call(lax), call(theirs.lax), x.astype(np.float64), theirs)
