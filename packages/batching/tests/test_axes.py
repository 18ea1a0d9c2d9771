import numpy as np
import pytest

from calque_batching import bdim_at_front, broadcast, matchaxis, moveaxis, not_mapped


@pytest.mark.parametrize("source", range(-3, 3))
@pytest.mark.parametrize("destination", range(-3, 3))
def test_moveaxis_moves_as_numpy_does(source, destination):
    x = np.arange(24).reshape(2, 3, 4)

    np.testing.assert_array_equal(moveaxis(x, source, destination), np.moveaxis(x, source, destination))


def test_moving_an_axis_to_where_it_is_gives_the_array_itself():
    x = np.ones((2, 3))

    assert moveaxis(x, 1, -1) is x


@pytest.mark.parametrize("axis", range(3))
def test_broadcast_repeats_the_array_along_a_new_axis(axis):
    x = np.arange(6).reshape(2, 3)

    np.testing.assert_array_equal(broadcast(x, 4, axis), np.stack([x] * 4, axis))


def test_bdim_at_front_moves_or_broadcasts():
    x = np.arange(6).reshape(2, 3)

    np.testing.assert_array_equal(bdim_at_front(x, 1, 3), x.T)
    np.testing.assert_array_equal(bdim_at_front(x, not_mapped, 4), np.stack([x] * 4))


@pytest.mark.parametrize(("source", "shape"), [(0, (3, 2)), (1, (2, 3)), (None, (2, 2, 3))])
def test_matchaxis_puts_the_batch_axis_where_it_is_wanted(source, shape):
    assert matchaxis(np.zeros((2, 3)), source, 1, 2).shape == shape


def test_matchaxis_leaves_an_unmapped_value_unmapped_and_refuses_to_drop_an_axis():
    x = np.zeros(2)

    assert matchaxis(x, None, None, 2) is x
    with pytest.raises(
        ValueError, match=r"a mapped value cannot be returned without its batch axis\. Give it an output"
    ):
        matchaxis(x, 0, None, 2)
