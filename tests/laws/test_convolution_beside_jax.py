"""Convolutions of random programs beside jax's: values, derivatives, batches, compiled and not."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from calque_autodiff import jvp, vjp
from calque_batching import vmap
from calque_core import lax
from calque_xla_backend import jit

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed"),
    pytest.mark.sampled(keep=0.05),
]


@pytest.fixture
def theirs():
    """Return jax, with 64 bits for the test."""
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    with jax.enable_x64(True):
        yield jax


def case(seed):
    """Return two operands and the arguments of a convolution, with 0 to 3 spatial axes, in a random layout."""
    rng = np.random.default_rng(seed)
    n_spatial, groups = int(rng.integers(0, 4)), int(rng.choice([1, 1, 2, 3]))
    spatial = "HWD"[:n_spatial]
    feature_groups, batch_groups = (groups, 1) if rng.random() < 0.5 else (1, groups)
    in_features = int(rng.integers(1, 4))
    sizes = {"N": batch_groups * int(rng.integers(1, 3)), "C": feature_groups * in_features}
    sizes |= {"I": in_features, "O": groups * int(rng.integers(1, 4))}
    words = ["".join(rng.permutation([*letters, *spatial])) for letters in ("NC", "OI", "NC")]
    lhs = rng.normal(size=[sizes.get(letter, int(rng.integers(3, 7))) for letter in words[0]])
    rhs = rng.normal(size=[sizes.get(letter, int(rng.integers(1, 4))) for letter in words[1]])
    numbers = lambda low, high: tuple(int(n) for n in rng.integers(low, high, n_spatial))
    is_named = rng.random() < 0.3
    pads = str(rng.choice(["SAME", "VALID", "SAME_LOWER"])) if is_named else [*zip(numbers(-1, 4), numbers(-1, 4))]
    return lhs, rhs, {
        "window_strides": numbers(1, 4),
        "padding": pads,
        "lhs_dilation": None if is_named else numbers(1, 4),
        "rhs_dilation": numbers(1, 3),
        "dimension_numbers": tuple(words),
        "feature_group_count": feature_groups,
        "batch_group_count": batch_groups,
    }  # fmt: skip


def check(got, want):
    assert np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-11, atol=1e-11)


def check_all(got, want):
    for mine, peer in zip(got, want, strict=True):
        check(mine, peer)


@pytest.mark.parametrize("seed", range(320))
def test_values(seed, theirs):
    lhs, rhs, arguments = case(seed)
    want = theirs.lax.conv_general_dilated(lhs, rhs, **arguments)
    check(lax.conv_general_dilated(lhs, rhs, **arguments), want)
    numbers = theirs.lax.conv_dimension_numbers(lhs.shape, rhs.shape, arguments["dimension_numbers"])
    assert lax.conv_dimension_numbers(lhs.shape, rhs.shape, arguments["dimension_numbers"]) == tuple(numbers)


@pytest.mark.parametrize("seed", range(100))
def test_cotangents_and_their_tangents(seed, theirs):
    lhs, rhs, arguments = case(seed)
    ours = lambda x, k: lax.conv_general_dilated(x, k, **arguments)
    peers = lambda x, k: theirs.lax.conv_general_dilated(x, k, **arguments)
    ct = np.cos(np.arange(ours(lhs, rhs).size)).reshape(ours(lhs, rhs).shape)
    pull, pull_peers = (lambda x, k: vjp(ours, x, k)[1](ct)), (lambda x, k: theirs.vjp(peers, x, k)[1](ct))
    want = pull_peers(lhs, rhs)
    check_all(pull(lhs, rhs), want)
    check_all(jit(pull)(lhs, rhs), want)
    directions = np.sin(lhs), np.sin(rhs)
    check_all(jvp(pull, (lhs, rhs), directions)[1], theirs.jvp(pull_peers, (lhs, rhs), directions)[1])
    check_all(vjp(pull, lhs, rhs)[1](directions), theirs.vjp(pull_peers, lhs, rhs)[1](directions))


@pytest.mark.parametrize("seed", range(60))
def test_batches_over_every_axis(seed, theirs):
    lhs, rhs, arguments = case(seed)
    ours = lambda x, k: lax.conv_general_dilated(x, k, **arguments)
    rng = np.random.default_rng(seed)
    for axis in range(lhs.ndim + 1):
        other = int(rng.integers(0, rhs.ndim + 1))
        xs, ks = np.stack([lhs, -lhs, 2 * lhs], axis), np.stack([rhs, np.cos(rhs), np.sin(rhs)], other)
        for in_axes, args in (((axis, None), (xs, rhs)), ((None, other), (lhs, ks)), ((axis, other), (xs, ks))):
            rows = [[np.take(x, i, a) if a is not None else x for x, a in zip(args, in_axes)] for i in range(3)]
            check(vmap(ours, in_axes)(*args), np.stack([ours(*row) for row in rows]))
    gradient = lambda x, k: vjp(ours, x, k)[1](np.ones(ours(lhs, rhs).shape))[1]
    check(jit(vmap(gradient, (axis, None)))(xs, rhs), np.stack([gradient(x, rhs) for x in (lhs, -lhs, 2 * lhs)]))


@pytest.mark.parametrize("seed", range(60))
def test_transposed_convolutions(seed, theirs):
    rng = np.random.default_rng(seed)
    n_spatial, is_consistent, is_turned = int(rng.integers(0, 4)), bool(rng.integers(0, 2)), bool(rng.integers(0, 2))
    numbers = lambda low, high: tuple(int(n) for n in rng.integers(low, high, n_spatial))
    x = rng.normal(size=(2, *numbers(5, 8), 3))  # so many elements that no padding below cuts them all
    k = rng.normal(size=(*numbers(1, 5), *((2, 3) if is_turned else (3, 2))))
    padding = str(rng.choice(["SAME", "VALID"])) if rng.random() < 0.5 else [*zip(numbers(0, 3), numbers(0, 3))]
    arguments = (numbers(1, 5), padding, numbers(1, 3), None, is_turned)
    ours = lambda x, k: lax.conv_transpose(x, k, *arguments, use_consistent_padding=is_consistent)
    peers = lambda x, k: theirs.lax.conv_transpose(x, k, *arguments, use_consistent_padding=is_consistent)
    check(ours(x, k), peers(x, k))


@pytest.mark.parametrize("seed", range(60))
def test_patches_and_local_convolutions(seed, theirs):
    lhs, rhs, arguments = case(seed)
    del arguments["feature_group_count"], arguments["batch_group_count"]
    window = [size for size, letter in zip(rhs.shape, arguments["dimension_numbers"][1]) if letter not in "OI"]
    patches = [lib.conv_general_dilated_patches(lhs, tuple(window), **arguments) for lib in (lax, theirs.lax)]
    check(*patches)
    n, c, *spatial = lax.conv_dimension_numbers(lhs.shape, rhs.shape, arguments["dimension_numbers"]).out_spec
    sizes = [patches[0].shape[axis] for axis in (n, c, *spatial)]
    spec = lax.conv_dimension_numbers(lhs.shape, rhs.shape, arguments["dimension_numbers"]).rhs_spec
    kernels = np.random.default_rng(seed).normal(size=(2, *sizes[1:])).transpose(np.argsort(spec))
    check(
        lax.conv_general_dilated_local(lhs, kernels, filter_shape=window, **arguments),
        theirs.lax.conv_general_dilated_local(lhs, kernels, filter_shape=tuple(window), **arguments),
    )
