from __future__ import annotations

import numpy as np
import pytest

from calque_core import ShapeError, check_jaxpr, eval_jaxpr, make_jaxpr
from calque_core.lax import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_slice_p,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
    index_take,
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


@pytest.mark.parametrize(
    "corner", [(0, 0, 0), (1, 2, 3), (-1, -1, -1), (5, -9, 1), np.array([0, -2, 1]), (np.uint64(2**63), 0, 0)]
)
def test_a_window_is_read_and_replaced_at_the_nearest_corner_inside(corner):
    sizes = (1, 2, 3)
    start = [min(max(int(i) + (n if i < 0 else 0), 0), n - m) for i, n, m in zip(corner, CUBE.shape, sizes)]
    place = tuple(slice(i, i + m) for i, m in zip(start, sizes))
    wanted = CUBE.copy()
    wanted[place] = -1.0

    def program(x, corner):
        return dynamic_slice(x, corner, sizes), dynamic_update_slice(x, np.full(sizes, -1.0), corner)

    jaxpr = make_jaxpr(program)(CUBE, corner)
    check_jaxpr(jaxpr)
    leaves = corner if isinstance(corner, tuple) else [corner]
    for read, written in (program(CUBE, corner), eval_jaxpr(jaxpr, jaxpr.consts, CUBE, *leaves)):
        np.testing.assert_array_equal(read, CUBE[place])
        np.testing.assert_array_equal(written, wanted)


def test_a_part_of_an_axis_is_read_and_replaced():
    np.testing.assert_array_equal(dynamic_slice_in_dim(CUBE, 1, 2, 1), CUBE[:, 1:3])
    np.testing.assert_array_equal(dynamic_slice_in_dim(CUBE, 9, 2, axis=-1), CUBE[..., 2:])
    written = dynamic_update_slice_in_dim(CUBE, np.zeros((2, 2, 4)), -3, 1)
    np.testing.assert_array_equal(written[:, :2], 0)
    np.testing.assert_array_equal(written[:, 2], CUBE[:, 2])


def test_an_index_that_may_not_be_negative_takes_no_operation_more():
    program = lambda x, i: dynamic_index_in_dim(x, i, keepdims=False, allow_negative_indices=False)
    np.testing.assert_array_equal(program(CUBE, -1), CUBE[0])
    assert [eqn.primitive.name for eqn in make_jaxpr(program)(CUBE, np.int64(1)).eqns] == ["dynamic_slice", "squeeze"]


def test_index_take_wraps_around():
    taken = index_take(CUBE, (np.array([0, 3, -1]), np.array([5, -4, 2])), (0, 2))
    np.testing.assert_array_equal(taken, [CUBE[0, :, 1], CUBE[1, :, 0], CUBE[1, :, 2]])
    assert index_take(CUBE, (np.zeros(0, int),), (1,)).shape == (0, 2, 4)
    with pytest.raises(ShapeError, match="Give one vector of integers for each of 2 axes, of one length"):
        index_take(CUBE, (np.array([0]), np.array([0, 1])), (0, 1))


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
        ShapeError,
        match=r"of float64\[2,3,4\] with float64\[3\] at .*: the update is no slice along axis 0\. Give an array",
    ):
        make_jaxpr(lambda x, y: dynamic_update_index_in_dim(x, y, 0, 0))(CUBE, np.ones(3))
    with pytest.raises(ShapeError, match=r"of float64\[0,3\] at .* the sizes of the slice are \(1, 3\)"):
        make_jaxpr(lambda x: dynamic_index_in_dim(x, 0))(np.ones((0, 3)))
    with pytest.raises(ShapeError, match=r"the sizes of the slice are \(3, 3, 4\)\. Give one size for each axis"):
        make_jaxpr(lambda x: dynamic_slice(x, (0, 0, 0), (3, 3, 4)))(CUBE)
    with pytest.raises(ShapeError, match=r"dynamic_update_slice of float64\[2,3,4\] with float64\[3,1,1\] at"):
        make_jaxpr(lambda x: dynamic_update_slice(x, np.ones((3, 1, 1)), (0, 0, 0)))(CUBE)
    with pytest.raises(TypeError, match=r"Give one integer for each of 3 axes"):
        make_jaxpr(lambda x: dynamic_slice(x, (0, 0), (1, 1, 1)))(CUBE)
    with pytest.raises(TypeError, match=r"the indices have types int64\[5\]\. Give 3 integer scalars of one dtype"):
        make_jaxpr(lambda x: dynamic_slice_p.bind(x, np.zeros(5, int), slice_sizes=(1, 1, 1)))(CUBE)


def test_a_window_of_an_array_without_axes_is_a_number():
    x = np.float64(2.0)
    assert type(dynamic_slice(x, (), ())) is np.float64
    assert type(dynamic_update_slice(x, np.float64(3.0), ())) is np.float64
