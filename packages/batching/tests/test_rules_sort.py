import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax


@pytest.mark.parametrize("dimension", [0, 1, -1])
def test_sort_maps_over_every_axis(dimension, check_batching):
    for dtype in ("bool", "int8", "float64", "complex128"):
        check_batching(lambda x: lax.sort(x, dimension), [(2, 4)], [dtype])


@pytest.mark.parametrize("num_keys", [1, 2])
def test_sorting_several_arrays_maps_each_of_them(num_keys, check_batching):
    def rearranged(x, y, z):
        return lax.sort((x, y, z), 0, num_keys=num_keys)

    check_batching(rearranged, [(4,)] * 3, ["int8", "int8", "float64"])


def test_an_unmapped_array_is_rearranged_by_each_element_of_mapped_keys():
    keys = np.array([[2, 1], [1, 2]])

    _, rearranged = vmap(lambda k: lax.sort((k, np.array([10.0, 20.0]))))(keys)

    assert rearranged.tolist() == [[20.0, 10.0], [10.0, 20.0]]
