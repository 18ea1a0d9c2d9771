import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

CASES = {
    "vectors": ([(3,), (3,)], (((0,), (0,)), ((), ()))),
    "matrices": ([(2, 3), (3, 4)], (((1,), (0,)), ((), ()))),
    "matrix and vector": ([(2, 3), (3,)], (((1,), (0,)), ((), ()))),
    "outer product": ([(2,), (3,)], (((), ()), ((), ()))),
    "scalars": ([(), ()], (((), ()), ((), ()))),
    "first axes": ([(3, 2), (3, 4)], (((0,), (0,)), ((), ()))),
    "batches": ([(2, 4, 3), (3, 2, 5)], (((2,), (0,)), ((0,), (1,)))),
    "two of each": ([(2, 3, 4, 5), (5, 4, 3, 2)], (((1, 3), (2, 0)), ((2, 0), (1, 3)))),
    "nothing to sum": ([(2, 0), (0, 4)], (((1,), (0,)), ((), ()))),
}


@pytest.mark.parametrize("name", CASES)
def test_dot_general_maps_over_every_pair_of_axes(name, check_batching):
    shapes, numbers = CASES[name]
    check_batching(lambda x, y: lax.dot_general(x, y, numbers), shapes, ["float64", "float64"])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex128"])
def test_dot_maps_for_every_dtype(dtype, check_batching):
    check_batching(lax.dot, [(2, 3), (3, 2)], [dtype, dtype])


def test_the_preferred_dtype_is_kept(check_batching):
    dot = lambda x, y: lax.dot(x, y, precision="high", preferred_element_type=np.float64)
    check_batching(dot, [(2, 3), (3, 2)], ["float32", "float32"])


@pytest.mark.parametrize(
    ("in_axes", "out_axis"),
    [
        ((0, None), 0),
        ((1, None), 1),
        ((2, None), 1),
        ((None, 0), 1),
        ((None, 1), 1),
        ((None, 2), 2),
        ((0, 0), 0),
        ((1, 2), 0),
        ((2, 1), 0),
    ],
)
def test_a_batch_of_products_is_one_product_that_moves_no_axis(in_axes, out_axis):
    lhs, rhs = (np.ones((3, 3) if axis is None else (3, 3, 3)) for axis in in_axes)

    jaxpr = make_jaxpr(vmap(lax.dot, in_axes=in_axes, out_axes=out_axis))(lhs, rhs)

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["dot_general"]
