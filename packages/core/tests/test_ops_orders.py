import numpy as np

from calque_core.engine import elements_at, positions, sort_by


def test_arrays_are_moved_as_the_keys_are_sorted_and_back_by_positions():
    keys, carried = np.array([[3, 1, 2], [7, 9, 8]]), np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(sort_by([keys], [carried], 1), [[[1, 2, 0], [3, 5, 4]]])
    (order,) = sort_by([keys], [positions(keys, 1)], 1)
    (moved,) = sort_by([keys], [carried], 1)
    np.testing.assert_array_equal(sort_by([order], [moved], 1)[0], carried)


def test_elements_at_positions_are_those_of_numpy():
    x, indices = np.arange(12.0).reshape(2, 3, 2), np.array([[[2, 0]], [[1, 1]]])
    np.testing.assert_array_equal(elements_at(x, indices, 1), np.take_along_axis(x, indices, 1))
    assert elements_at(x, indices[:, :0], 1).shape == (2, 0, 2)
