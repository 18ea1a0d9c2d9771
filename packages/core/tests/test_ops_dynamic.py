from __future__ import annotations

import numpy as np
import pytest

from calque_core import ShapeError, check_jaxpr, eval_jaxpr, make_jaxpr
from calque_core.lax import (
    dynamic_index_in_dim,
    dynamic_index_p,
    dynamic_update_index_in_dim,
    dynamic_update_index_p,
)

CUBE = np.arange(24.0).reshape(2, 3, 4)
INDICES = [0, 2, -1, -3, 7, -7, np.uint8(1), np.int64(2), np.int8(-2)]


def nearest(index, size):
    index = int(index)
    return min(max(index + size if index < 0 else index, 0), size - 1)


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_a_slice_is_read_and_replaced_as_numpy_does_at_the_nearest_index(index, axis):
    place = nearest(index, CUBE.shape[axis])
    piece = -np.take(CUBE, place, axis)
    wanted = np.moveaxis(CUBE.copy(), axis, 0)
    wanted[place] = piece
    wanted = np.moveaxis(wanted, 0, axis)

    def program(x, piece, i):
        read = dynamic_index_in_dim(x, i, axis), dynamic_index_in_dim(x, i, axis, keepdims=False)
        return *read, dynamic_update_index_in_dim(x, piece, i, axis)

    jaxpr = make_jaxpr(program)(CUBE, piece, index)
    check_jaxpr(jaxpr)
    for kept, read, written in (program(CUBE, piece, index), eval_jaxpr(jaxpr, jaxpr.consts, CUBE, piece, index)):
        np.testing.assert_array_equal(kept, np.expand_dims(np.take(CUBE, place, axis), axis))
        np.testing.assert_array_equal(read, np.take(CUBE, place, axis))
        np.testing.assert_array_equal(written, wanted)


def test_an_update_may_keep_the_axis_and_takes_the_dtype_of_the_operand():
    x = np.zeros((2, 3), np.float32)
    written = dynamic_update_index_in_dim(x, np.ones((2, 1)), 1, 1)
    np.testing.assert_array_equal(written, np.array([[0, 1, 0], [0, 1, 0]], np.float32))
    assert written.dtype == np.float32
    assert not x.any()


@pytest.mark.parametrize("x", [np.array([True, False]), np.array([-0.0, np.nan]), np.array([1 + 2j, 3])])
def test_elements_of_any_dtype_are_moved_as_they_are(x):
    for i in range(2):
        read = dynamic_index_in_dim(x, i, keepdims=False)
        assert read.tobytes() == x[i].tobytes()
        assert dynamic_update_index_in_dim(np.zeros_like(x), read, i, 0)[i].tobytes() == x[i].tobytes()


def test_an_index_with_axes_has_one_slice_for_each_element():
    x, index = 1.0 + np.arange(24.0).reshape(2, 3, 4), np.array([2, -5])
    np.testing.assert_array_equal(dynamic_index_p.bind(x, index), [x[0, 2], x[1, 0]])
    written = dynamic_update_index_p.bind(x, np.zeros((2, 4)), index)
    assert (written == 0).sum() == 8
    np.testing.assert_array_equal(written[0, :2], x[0, :2])
    np.testing.assert_array_equal(written[1, 1:], x[1, 1:])


def test_an_index_that_is_no_integer_scalar_is_refused():
    for index in (1.0, np.array([1]), True, "no"):
        with pytest.raises(TypeError, match=r"dynamic_index_in_dim at .* as its index\. Give an integer scalar\."):
            dynamic_index_in_dim(CUBE, index)
    with pytest.raises(TypeError, match=r"dynamic_update_index_in_dim at .* as its index\."):
        dynamic_update_index_in_dim(CUBE, CUBE[0], 0.5, 0)
    with pytest.raises(ValueError, match="axis 3 is out of range"):
        dynamic_index_in_dim(CUBE, 0, 3)


def test_what_does_not_fit_is_refused_when_staged():
    with pytest.raises(
        ShapeError, match=r"dynamic_update_index at .* of float64\[2,3,4\] with float64\[3\]\. Give float64\[3,4\]"
    ):
        make_jaxpr(lambda x, y: dynamic_update_index_in_dim(x, y, 0, 0))(CUBE, np.ones(3))
    with pytest.raises(ShapeError, match=r"of float64\[0,3\], which has no slices\. Give one or more\."):
        make_jaxpr(lambda x: dynamic_index_in_dim(x, 0))(np.ones((0, 3)))
    with pytest.raises(ShapeError, match=r"of float64\[2,3,4\] at int64\[5\]\. Give integers, one for each position"):
        make_jaxpr(dynamic_index_p.bind)(CUBE, np.zeros(5, int))
