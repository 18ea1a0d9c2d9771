import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

DTYPES = ("bool", "int8", "uint64", "float16", "float32", "float64", "complex64")


@pytest.mark.parametrize("new_dtype", DTYPES)
def test_convert_element_type_maps_over_every_axis(new_dtype, check_batching):
    for dtype in DTYPES:
        check_batching(lambda x: lax.convert_element_type(lax.abs(x), new_dtype), [(2, 4)], [dtype])


def test_stop_gradient_maps_over_every_axis(check_batching):
    check_batching(lax.stop_gradient, [(2, 4)], ["float32"])


@pytest.mark.parametrize(
    ("dtype", "new_dtype", "shape"),
    [
        ("float32", "int32", (2, 4)),
        ("float32", "int32", ()),
        ("float64", "uint8", (2,)),
        ("int32", "int16", ()),
        ("int16", "float64", (2, 4)),
        ("uint8", "int32", (4,)),
    ],
)
def test_bitcast_maps_over_every_axis_whatever_the_widths(dtype, new_dtype, shape, check_batching):
    check_batching(lambda x: lax.bitcast_convert_type(x, np.dtype(new_dtype)), [shape], [dtype])


def test_a_batch_axis_that_is_not_the_last_stays_where_it_is():
    def widened(x):
        return lax.bitcast_convert_type(x, np.int32)

    jaxpr = make_jaxpr(vmap(widened, in_axes=1, out_axes=1))(np.ones((3, 5, 4), np.uint8))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["bitcast_convert_type"]
