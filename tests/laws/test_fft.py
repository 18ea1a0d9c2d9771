"""Fourier transforms, compiled, mapped and differentiated, beside NumPy's, differences and jax's."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from calque_autodiff import linear_transpose, vjp
from calque_autodiff.verbs.test_util import check_grads
from calque_batching import vmap
from calque_core import lax
from calque_numpy import fft
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

ALONG = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
OVER = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
REAL = ["rfft", "ihfft", "rfft2", "rfftn"]
SIZES = [2, 3, 8, 9]
CASES = [(name, {"n": n}) for name in ALONG for n in (1, *SIZES)] + [
    (name, options)
    for name in OVER
    for options in ({}, {"axes": (0, 1)}, {"s": (4, 5), "axes": (1, 0)}, {"axes": (0, 2, 0), "norm": "ortho"})
]
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")


def operand(name, shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return x if name in REAL else x + 1j * rng.normal(size=shape)


def close(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_numpys_own_function_is_compiled_mapped_and_differentiated(name, options, size):
    x = operand(name, (2, 3, size))
    call = lambda x: getattr(np.fft, name)(x, **options)
    want = call(x)

    close(jit(call)(x), want)
    close(vmap(call, in_axes=3, out_axes=3)(np.stack([x, 2 * x], 3)), np.stack([want, 2 * want], 3))
    check_grads(call, (x,), order=2, modes=("fwd", "rev"), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [1, *SIZES])
@pytest.mark.parametrize("name", ALONG)
def test_the_product_with_a_transpose_is_the_product_with_the_transform(name, n):
    size = n // 2 + 1 if name in ("irfft", "hfft") else n
    v = operand(name, (size,), 1)
    if name in ("irfft", "hfft"):
        n = max(n, 1)
    call = lambda v: getattr(fft, name)(v, n)
    out = call(v)
    u = operand("" if out.dtype.kind == "c" else "rfft", out.shape, 2)
    (pulled,) = linear_transpose(call, v)(u)

    np.testing.assert_allclose(np.sum(pulled * v).real, np.sum(u * out).real, rtol=1e-12)


@needs_jax
@pytest.mark.parametrize("lengths", [(1,), (2,), (9,), (8,), (3, 4), (2, 3, 5)])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
def test_transforms_and_cotangents_are_jaxs(kind, lengths):
    import jax  # noqa: PLC0415 -- optional: the mark says why the test is skipped without it

    sizes = (*lengths[:-1], lengths[-1] // 2 + 1) if kind == "IRFFT" else lengths
    x = operand("rfft" if kind == "RFFT" else "fft", (2, *sizes))
    out, pullback = vjp(lambda x: lax.fft(x, kind, lengths), x)
    u = operand("fft" if out.dtype.kind == "c" else "rfft", out.shape, 1)

    with jax.enable_x64(True):
        want, their_pullback = jax.vjp(lambda x: jax.lax.fft(x, kind, lengths), x)
        close(out, want)
        close(pullback(u)[0], their_pullback(u)[0])
