import numpy as np

from calque_core import lax
from calque_core.ops.reductions.selection import extremes
from calque_core.ops.shapes.broadcast import broadcast_reduced, spread


def test_extreme_elements_are_marked_and_counted():
    x = np.array([[1.0, 3.0, 3.0], [5.0, 2.0, 0.0]])

    marks, counts = extremes(x, lax.reduce_max(x, 1), (1,))
    np.testing.assert_array_equal(marks, [[0, 1, 1], [1, 0, 0]])
    np.testing.assert_array_equal(counts, [2, 1])

    marks, count = extremes(x, lax.reduce_min(x, (0, 1)), (0, 1))
    np.testing.assert_array_equal(marks, [[0, 0, 0], [0, 0, 1]])
    assert count == 1


def test_a_reduced_array_gets_its_axes_back():
    np.testing.assert_array_equal(broadcast_reduced(np.array([1.0, 2.0]), (3, 2), (0,)), [[1, 2]] * 3)


def test_an_operand_of_rank_0_is_repeated_and_others_are_kept():
    x = np.ones(2)
    assert spread(x, x) is x
    assert spread(2.0, 1.0) == 2.0
    np.testing.assert_array_equal(spread(2.0, x), [2.0, 2.0])
