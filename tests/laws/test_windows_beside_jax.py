"""Reductions by functions and by windows, and their derivatives, beside jax's.

Windows are compiled here too: jax has no evaluation of its own.  Negative padding is left out: jax 0.10 ends the
process for some of it.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from calque import grad, hessian, jvp, vmap
from calque_core import lax
from calque_xla_backend import jit

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed"),
    pytest.mark.sampled(keep=0.1),
]

KINDS = {
    "add": ("float16", "bfloat16", "float32", "float64", "int32", "uint8", "complex64"),
    "max": ("float16", "bfloat16", "float32", "float64", "int32", "bool"),
    "min": ("float32", "int8", "float64"),
    "mul": ("float32", "float64", "int32", "complex128"),
    "bitwise_or": ("int32", "bool"),
    "bitwise_and": ("uint8", "bool"),
    "bitwise_xor": ("int64", "bool"),
}
STARTS = {"add": 0, "mul": 1, "bitwise_or": 0, "bitwise_xor": 0}
TOLERANCES = {"float16": 1e-2, "bfloat16": 1e-1, "float32": 1e-5, "complex64": 1e-5}


@pytest.fixture
def theirs():
    """Return jax, with 64 bits for the test."""
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    with jax.enable_x64(True):
        yield jax


def dtype_named(name):
    import ml_dtypes  # noqa: PLC0415 -- it comes with jaxlib

    return np.dtype(getattr(ml_dtypes, name, name))


def array(rng, shape, dtype):
    """Return small numbers with ties, which no product overflows."""
    x = rng.integers(-2, 3, shape) if dtype.kind in "iub" else rng.integers(-4, 5, shape) / 4
    return (x + 1j * x[..., ::-1] if dtype.kind == "c" and x.ndim else x).astype(dtype)


def windows(rng, rank):
    """Return the arguments of a window after the sizes of the operand; half of them have no dilation."""
    draw = lambda low, high: tuple(int(n) for n in rng.integers(low, high, rank))
    padding = rng.choice(["SAME", "VALID", "SAME_LOWER", ""])
    pads = str(padding) or list(zip(draw(0, 3), draw(0, 3)))
    dilations = [draw(1, 3) if rng.random() < 0.5 else None for _ in range(2)]
    return draw(1, 4), draw(1, 4), pads, *dilations  # without strides, jax knows no "SAME"


def check(got, want, dtype):
    got, want = np.asarray(got), np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    tolerance = TOLERANCES.get(dtype.name, 1e-12)
    wide = lambda x: x.astype(complex if dtype.kind == "c" else float)
    np.testing.assert_allclose(wide(got), wide(want), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", KINDS)
def test_windows_of_every_kind(name, seed, theirs):
    rng = np.random.default_rng(seed)
    dtype = dtype_named(KINDS[name][seed % len(KINDS[name])])
    rank = int(rng.integers(1, 4))
    x = array(rng, tuple(int(n) for n in rng.integers(seed % 5 > 0, 6, rank)), dtype)
    starts = {"max": lambda: lax.reduce_max(x[:0]), "min": lambda: lax.reduce_min(x[:0])}
    start = starts.get(name, lambda: STARTS.get(name, -1))() if seed % 4 else 2  # a start that is not neutral
    init = np.reshape(np.max(start) if np.ndim(start) else start, ()).astype(dtype)[()]
    arguments = windows(rng, rank)
    want = theirs.lax.reduce_window(x, init, getattr(theirs.lax, name), *arguments)
    ours = lambda x: lax.reduce_window(x, init, getattr(lax, name), *arguments)
    check(ours(x), want, dtype)
    check(jit(ours)(x), want, dtype)


@pytest.mark.parametrize("seed", range(25))
def test_windows_of_any_function(seed, theirs):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, *(int(n) for n in rng.integers(1, 6, 2))))
    compose = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])
    arguments = windows(rng, 2)
    wants = theirs.lax.reduce_window((x, y), (np.float64(2), np.float64(1)), compose, *arguments)
    ours = lambda x, y: lax.reduce_window((x, y), (2.0, 1.0), compose, *arguments)
    for got, again, want in zip(ours(x, y), jit(ours)(x, y), wants):
        check(got, want, x.dtype)
        check(again, want, x.dtype)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", ["add", "max", "min"])
def test_derivatives_of_windows(name, seed, theirs):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 6, 2))
    x = rng.integers(0, 3, shape) + 0.0 if seed % 2 else rng.normal(size=shape)  # ties, or none
    init = {"add": 0.0, "max": -np.inf, "min": np.inf}[name]
    sizes, strides, pads, base, gaps = windows(rng, 2)
    if name != "add":
        gaps = None  # jax has no transpose for a maximum over windows with gaps
    arguments = sizes, strides, pads, base, gaps
    ours = lambda x: lax.reduce_window(x, init, getattr(lax, name), *arguments)
    peers = lambda x: theirs.lax.reduce_window(x, init, getattr(theirs.lax, name), *arguments)
    shape, x_dot = np.shape(ours(x)), rng.normal(size=shape)
    _, want = theirs.jvp(peers, (x,), (x_dot,))
    check(jvp(ours, (x,), (x_dot,))[1], want, x.dtype)
    check(jit(lambda x, t: jvp(ours, (x,), (t,))[1])(x, x_dot), want, x.dtype)
    weights = rng.normal(size=shape)
    sum_of = lambda module: lambda x, f: (module.where(abs(f(x)) < 1e9, f(x), 0.0) ** 2 * weights).sum()
    want = theirs.grad(lambda x: sum_of(theirs.numpy)(x, peers))(x)
    check(grad(lambda x: sum_of(np)(x, ours))(x), want, x.dtype)
    check(jit(grad(lambda x: sum_of(np)(x, ours)))(x), want, x.dtype)


@pytest.mark.parametrize("seed", range(10))
def test_second_derivatives_of_windows(seed, theirs):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, 4))
    arguments = (2, 2), windows(rng, 2)[1], "SAME"
    loss = lambda module, init: lambda x: (module.reduce_window(x, init, module.max, *arguments) ** 3 * x[0, 0]).sum()
    check(hessian(loss(lax, -np.inf))(x), theirs.hessian(loss(theirs.lax, -np.inf))(x), x.dtype)


@pytest.mark.parametrize("axes", [(0, 0), (1, 1), (2, 2), (None, 1), (2, None)])
@pytest.mark.parametrize("name", ["select_and_gather_add_p", "select_and_scatter_add_p"])
def test_winners_under_vmap(name, axes):
    rng = np.random.default_rng(0)
    values, x = rng.integers(0, 3, (2, 3, 3, 3)) + 0.0
    values, x = (v[0] if d is None else v for v, d in zip((values, x), axes))
    window = {"window_dimensions": (2, 2), "window_strides": (1, 1), "padding": ((0, 1), (1, 0))}
    dilations = {"base_dilation": (1, 1), "window_dilation": (1, 1)}
    f = lambda v, x: getattr(lax, name).bind(v, x, select_prim=lax.ge_p, **window, **dilations)
    got = vmap(f, axes)(values, x)
    for i in range(3):
        slices = [v if d is None else v.take(i, d) for v, d in zip((values, x), axes)]
        np.testing.assert_array_equal(got[i], f(*slices))


@pytest.mark.parametrize("seed", range(25))
def test_reduce_of_any_function(seed, theirs):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    x, y = rng.normal(size=(2, *(int(n) for n in rng.integers(0, 6, rank))))
    axes = tuple(int(d) for d in rng.permutation(rank)[: rng.integers(1, rank + 1)])
    compose = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])
    wants = theirs.lax.reduce((x, y), (np.float64(2), np.float64(1)), compose, axes)
    ours = lambda x, y: lax.reduce((x, y), (2.0, 1.0), compose, axes)
    for got, again, want in zip(ours(x, y), jit(ours)(x, y), wants):
        check(again, got, x.dtype)
        if np.prod([x.shape[d] for d in axes]) != 1:  # of one element, XLA leaves the initial value out
            check(got, want, x.dtype)


@pytest.mark.parametrize("name", list(KINDS))
def test_reduce_of_known_functions(name, theirs):
    rng = np.random.default_rng(0)
    for dtype in map(dtype_named, KINDS[name]):
        x = array(rng, (3, 4, 2), dtype)
        init = np.array(1).astype(dtype)[()]
        want = theirs.lax.reduce(x, init, getattr(theirs.lax, name), (0, 2))
        check(lax.reduce(x, init, getattr(lax, name), (0, 2)), want, dtype)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("bits", [(1, 0), (2, 5), (3, 1), (4, 3), (5, 2), (5, 10), (8, 7), (8, 0), (11, 52), (20, 60)])
def test_precision_is_reduced_to_the_same_bits(name, bits, theirs):
    dtype = dtype_named(name)
    word = np.dtype(f"u{dtype.itemsize}")
    if dtype.itemsize <= 2:
        words = np.arange(1 << (8 * dtype.itemsize)).astype(word)
    else:
        words = np.random.default_rng(0).integers(0, np.iinfo(word).max, 20000, word, endpoint=True)
    x = words.view(dtype)
    want = np.asarray(theirs.lax.reduce_precision(x, *bits))
    ours = lambda x: lax.reduce_precision(x, *bits)
    for got in (ours(x), np.asarray(jit(ours)(x))):
        with np.errstate(invalid="ignore"):
            is_nan = np.isnan(got.astype(np.float64))
            np.testing.assert_array_equal(is_nan, np.isnan(want.astype(np.float64)))
        np.testing.assert_array_equal(got.view(word)[~is_nan], want.view(word)[~is_nan])
