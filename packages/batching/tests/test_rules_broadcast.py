import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

CASES = {
    "leading": ((2,), (5, 2), (1,)),
    "trailing": ((2,), (2, 5), (0,)),
    "both": ((2, 1), (5, 2, 4, 3), (1, 3)),
    "between": ((2, 3), (2, 5, 3), (0, 2)),
    "permuted": ((2, 3, 1), (3, 5, 4, 2), (3, 0, 2)),
    "scalar": ((), (2, 3), ()),
    "scalar to scalar": ((), (), ()),
    "to nothing": ((2, 1), (2, 0), (0, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_broadcast_in_dim_maps_over_every_axis(name, check_batching):
    shape, new_shape, dims = CASES[name]
    for dtype in ("bool", "int8", "float64", "complex64"):
        check_batching(lambda x: lax.broadcast_in_dim(x, new_shape, dims), [shape], [dtype])


@pytest.mark.parametrize("fun", [lambda x: lax.broadcast(x, (3, 2)), lambda x: lax.expand_dims(x, (0, -1))])
def test_broadcast_and_expand_dims_map_over_every_axis(fun, check_batching):
    check_batching(fun, [(2, 4)], ["float64"])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_broadcasting_a_batch_moves_no_axis(axis):
    batched = vmap(lambda x: lax.broadcast(x, (3,)), in_axes=axis, out_axes=axis + (axis > 0))

    jaxpr = make_jaxpr(batched)(np.ones((2, 4, 5)))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["broadcast_in_dim"]
