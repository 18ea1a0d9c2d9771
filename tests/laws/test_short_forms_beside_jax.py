"""Functions that are short forms of other operations beside jax's: values, compiled values, gradients."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from calque_autodiff import grad
from calque_core import lax
from calque_xla_backend import jit

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")

X = np.random.default_rng(0).normal(size=(4, 3, 5))
MATRICES = np.random.default_rng(1).normal(size=(3, 5, 2))

# name -> a function of `lax`, ours or theirs, and an array
FORMS = {
    "slice_in_dim": lambda lax, x: lax.slice_in_dim(x, -3, None, 2, axis=-1),
    "index_in_dim": lambda lax, x: lax.index_in_dim(x, -2, axis=1, keepdims=False),
    "collapse": lambda lax, x: lax.collapse(x, 1),
    "broadcast_to_rank": lambda lax, x: lax.broadcast_to_rank(x, 5),
    "broadcast_like": lambda lax, x: lax.broadcast_like(x, np.zeros((2, 4, 3, 5))),
    "reciprocal": lambda lax, x: lax.reciprocal(x),
    "batch_matmul": lambda lax, x: lax.batch_matmul(x, lax.transpose(x, (0, 2, 1))),
    "ragged_dot": lambda lax, x: lax.ragged_dot(x[0], MATRICES, np.array([1, 0, 1])),
    "mul of another dtype": lambda lax, x: lax.mul(x, x, out_dtype=np.float32),
}


@pytest.fixture
def theirs():
    """Return jax, with 64 bits for the test."""
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    with jax.enable_x64(True):
        yield jax


def check(got, want, tolerance=1e-13):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FORMS)
def test_values_and_gradients(name, theirs):
    ours, peers = lambda x: FORMS[name](lax, x), lambda x: FORMS[name](theirs.lax, x)
    want = peers(theirs.numpy.asarray(X))
    check(ours(X), want)
    check(jit(ours)(X), want)
    weights = np.cos(np.arange(want.size)).reshape(want.shape).astype(want.dtype)
    tolerance = 1e-6 if want.dtype == np.float32 else 1e-13
    slopes = theirs.grad(lambda x: (peers(x) * weights).sum())(theirs.numpy.asarray(X))
    check(grad(lambda x: (ours(x) * weights).sum())(X), slopes, tolerance)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "uint64"])
def test_upper_halves_of_products(dtype, theirs):
    info = np.iinfo(dtype)
    x, y = np.random.default_rng(0).integers(info.min, info.max, (2, 100), dtype, endpoint=True)
    want = theirs.lax.mulhi(x, y)
    check(lax.mulhi(x, y), want)
    check(jit(lax.mulhi)(x, y), want)
