import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

DTYPES = ("bool", "int8", "float16", "float64", "complex64")
CASES = {
    "reshape": (lambda x: lax.reshape(x, (4, 2)), (2, 4)),
    "reshape to rank 0": (lambda x: lax.reshape(x, ()), (1, 1)),
    "reshape to rank 1": (lambda x: lax.reshape(x, (8,)), (2, 2, 2)),
    "reshape of nothing": (lambda x: lax.reshape(x, (5, 0)), (0, 3)),
    "transpose": (lambda x: lax.transpose(x, (2, 0, 1)), (2, 3, 4)),
    "rev": (lambda x: lax.rev(x, (0, 2)), (2, 3, 4)),
    "squeeze": (lambda x: lax.squeeze(x, (0, 2)), (1, 3, 1)),
    "slice": (lambda x: lax.slice(x, (0, 1), (2, 4)), (2, 4)),
    "slice by steps": (lambda x: lax.slice(x, (1, 0), (2, 4), (1, 3)), (2, 4)),
    "slice to nothing": (lambda x: lax.slice(x, (1, 2), (1, 4)), (2, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_shape_operations_map_over_every_axis(name, check_batching):
    fun, shape = CASES[name]
    for dtype in DTYPES:
        check_batching(fun, [shape], [dtype])


@pytest.mark.parametrize("config", [[(1, 2, 0), (0, 1, 2)], [(-1, 0, 0), (2, -2, 1)], [(0, 0, 0), (1, 0, 0)]])
def test_pad_maps_over_every_axis_of_both_the_operand_and_the_padding(config, check_batching):
    for dtype in DTYPES:
        check_batching(lambda x, value: lax.pad(x, value, config), [(2, 4), ()], [dtype, dtype])


def test_pad_of_a_scalar_maps_both(check_batching):
    check_batching(lambda x, value: lax.pad(x, value, []), [(), ()], ["float64", "float64"])


def test_a_mapped_padding_value_that_is_infinite_spoils_no_element():
    padded = vmap(lambda x, value: lax.pad(x, value, [(1, 0, 0)]))(np.ones((2, 1)), np.array([np.inf, np.nan]))

    np.testing.assert_array_equal(padded, [[np.inf, 1.0], [np.nan, 1.0]])


@pytest.mark.parametrize("axis", [0, 2])
def test_reshape_leaves_a_batch_axis_at_either_end_where_it_is(axis):
    batched = vmap(lambda x: lax.reshape(x, (8,)), in_axes=axis, out_axes=-1 if axis else 0)

    jaxpr = make_jaxpr(batched)(np.ones((2, 4, 4) if axis else (4, 2, 4)))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["reshape"]
