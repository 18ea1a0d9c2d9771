import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax

pytestmark = pytest.mark.sampled(keep=0.1)

REDUCTIONS = {
    "reduce_sum": (lax.reduce_sum, ("int8", "uint64", "float16", "float64", "complex64")),
    "reduce_max": (lax.reduce_max, ("bool", "int8", "float16", "float64")),
    "reduce_min": (lax.reduce_min, ("bool", "int8", "float16", "float64")),
    "reduce_and": (lax.reduce_and, ("bool", "uint8")),
    "reduce_or": (lax.reduce_or, ("bool", "int64")),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_map_over_every_axis(name, check_batching):
    fun, dtypes = REDUCTIONS[name]
    for dtype in dtypes:
        for axes in (0, 1, (0, 1), None, ()):
            check_batching(lambda x, axes=axes: fun(x, axes), [(2, 4)], [dtype])
            check_batching(lambda x, axes=axes: fun(x, axes, keepdims=True), [(2, 4)], [dtype])
    check_batching(lambda x: fun(x, (0, 2)), [(2, 3, 2)], dtypes[:1])
    check_batching(lambda x: fun(x, 0), [(0, 2)], dtypes[:1])


@pytest.mark.parametrize("fun", [lax.argmax, lax.argmin])
def test_positions_of_extremes_map_over_every_axis(fun, check_batching):
    for dtype in ("bool", "int8", "float64"):
        for axis in (0, 1, -1):
            check_batching(lambda x, axis=axis: fun(x, axis, np.int32), [(2, 4)], [dtype])


def test_the_reduced_axis_is_counted_in_one_element():
    x = np.arange(6.0).reshape(2, 3)

    assert vmap(lambda row: lax.reduce_sum(row, 0), (1,))(x).tolist() == [3.0, 5.0, 7.0]
