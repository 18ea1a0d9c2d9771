"""Images of other sizes: values that are known, dtypes, programs, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calque_core import ShapeError, eval_jaxpr, make_jaxpr
from calque_numpy.image import ResizeMethod, resize, scale_and_translate

KERNELS = ["linear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch", "area"]
RAMP = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", KERNELS)
def test_a_constant_stays_constant_and_a_known_scale_gives_constant_weights(method, antialias):
    image = np.full((5, 3), 7.0, np.float32)
    small = resize(image, (2, 8), method, antialias)
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, np.full((2, 8), 7.0), rtol=1e-6)
    jaxpr = make_jaxpr(lambda x: resize(x, (2, 8), method, antialias))(image)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, image)[0], small)
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("dot_general") == 2
    assert {"exp", "sin", "div", "iota"}.isdisjoint(eqn.primitive.name for eqn in jaxpr.eqns)


@pytest.mark.parametrize("method", KERNELS)
def test_a_flipped_image_gives_the_flipped_result(method):
    np.testing.assert_allclose(resize(RAMP[:, ::-1], (2, 7), method), resize(RAMP, (2, 7), method)[:, ::-1], atol=1e-12)


def test_area_gives_means_of_blocks_and_nearest_repeats_pixels():
    np.testing.assert_allclose(resize(RAMP, (1, 2), "area"), [[4.5, 6.5]])
    np.testing.assert_array_equal(resize(np.array([1, 2]), (4,), ResizeMethod.NEAREST), [1, 1, 2, 2])
    assert resize(RAMP, (0, 4), "linear").shape == (0, 4)


def test_nearest_chooses_the_pixel_below_the_middle_of_the_new_one_by_whole_numbers():
    for old, new in [(7, 5), (3, 1000), (100_003, 17)]:
        chosen = resize(np.arange(old), (new,), "nearest")
        np.testing.assert_array_equal(chosen, [(2 * i + 1) * old // (2 * new) for i in range(new)])


def test_integers_become_floats_save_for_nearest():
    assert resize(np.arange(4, dtype=np.uint8), (2,), "linear").dtype == np.float64
    assert resize(np.arange(4, dtype=np.uint8), (2,), "nearest").dtype == np.uint8
    assert resize(np.arange(4, dtype=np.complex64), (2,), "cubic").dtype == np.complex64


def test_a_translation_by_a_pixel_moves_the_image_and_leaves_zeros():
    moved = scale_and_translate(RAMP, (3, 5), [-1], [1.0], [1.0], "cubic")
    np.testing.assert_allclose(moved, np.pad(RAMP, ((0, 0), (1, 0))), atol=1e-12)


REFUSED = {
    "the image has the shape (3, 4), and the new shape is (2,). Give a size": lambda: resize(RAMP, (2,), "linear"),
    "the image has the shape (0,), and the new shape is (2,)": lambda: resize(np.zeros(0), (2,), "nearest"),
    "is 'bilinar'. Choose one of nearest, linear": lambda: resize(RAMP, (2, 2), "bilinar"),
    "has no method 'nearest'. Use resize": lambda: scale_and_translate(RAMP, (3, 4), (), [], [], "nearest"),
    "a scale of shape (2,) and a translation of shape (1,). Give one": lambda: scale_and_translate(
        RAMP, (3, 2), [1], [1.0, 2.0], [0.0], "linear"
    ),
    "axis 0 has size 3, the new shape has 2, and spatial_dims lacks": lambda: scale_and_translate(
        RAMP, (2, 2), [1], [1.0], [0.0], "linear"
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_refusal_names_the_values_and_the_way_out(words):
    with pytest.raises((ShapeError, ValueError), match=re.escape(words)):
        REFUSED[words]()
