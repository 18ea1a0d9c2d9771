"""`calque.image`: values and gradients beside `jax.image`; derivatives by differences; a batch equals a loop."""

from __future__ import annotations

import numpy as np
import pytest

import calque
from calque import image

KERNELS = ["linear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch", "area"]
SIZES = [((5, 7), (3, 4)), ((4, 3), (9, 5)), ((6, 6), (6, 3)), ((1, 4), (3, 1)), ((50, 3), (7, 11))]
PLACES = np.array([[0.5, 2.0], [0.0, 1.0]]), np.array([[1.5, 0.71], [-1.2, 0.3]]), np.array([[2.0, 2.0], [5.0, -9.0]])


@pytest.fixture
def theirs():
    """Return jax.image, with 64 bits for the test."""
    jax = pytest.importorskip("jax", reason="the values are compared with jax's")
    with jax.enable_x64(True):
        yield jax.image


def pixels(shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


def moved(module, method, antialias):
    return lambda x, scale, offset: module.scale_and_translate(x, (3, 7, 6), (1, -1), scale, offset, method, antialias)


@pytest.mark.sampled(keep=0.25)
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", ["nearest", *KERNELS])
def test_resize_has_the_values_of_jax(method, antialias, theirs):
    for old, new in SIZES:
        want = theirs.resize(pixels(old), new, method, antialias)
        np.testing.assert_allclose(image.resize(pixels(old), new, method, antialias), want, rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(keep=0.25)
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", KERNELS)
def test_scale_and_translate_has_the_values_of_jax(method, antialias, theirs):
    x, ours, peer = pixels((3, 5, 4)), moved(image, method, antialias), moved(theirs, method, antialias)
    for scale, offset in PLACES:
        np.testing.assert_allclose(ours(x, scale, offset), peer(x, scale, offset), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", KERNELS)
def test_derivatives_agree_with_differences(method):
    calque.test_util.check_grads(moved(image, method, True), (pixels((3, 5, 4)), *PLACES[1]), order=1)


def test_the_compiled_program_has_the_values_of_evaluation():
    x, (scale, offset) = pixels((3, 5, 4)), PLACES[1]
    f = lambda *args: sum(moved(image, method, True)(*args) for method in ("cubic", "lanczos3", "area"))
    gradient = calque.grad(lambda *args: (f(*args) ** 2).sum(), argnums=(0, 1, 2))
    for got, want in zip(calque.jit(gradient)(x, scale, offset), gradient(x, scale, offset)):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_a_batch_of_scales_equals_a_loop():
    x, f = pixels((3, 5, 4)), moved(image, "lanczos3", True)
    scales, offsets = (np.stack(each) for each in zip(*PLACES))
    batch = calque.vmap(f, in_axes=(None, 0, 0))(x, scales, offsets)
    np.testing.assert_allclose(batch, [f(x, s, t) for s, t in zip(scales, offsets)], rtol=1e-12, atol=1e-12)
