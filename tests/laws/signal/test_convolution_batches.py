import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.2)

# Shapes of both operands, and the arguments of the convolution.
CASES = {
    "no spatial axis": ((3, 2), (4, 2), (), []),
    "one axis": ((2, 3, 5), (2, 3, 3), (2,), "SAME"),
    "image": ((2, 2, 4, 3), (3, 2, 2, 2), (1, 2), [(1, -1), (0, 2)], (2, 1), (1, 2)),
    "layout": ((4, 3, 2, 2), (2, 3, 2, 2), (2, 1), "SAME", None, None, ("HWNC", "WOHI", "CHNW")),
    "feature groups": ((2, 4, 4), (6, 2, 2), (2,), [(1, 1)], None, None, None, 2),
    "feature groups in a layout": ((4, 2, 4), (6, 2, 2), (1,), "SAME", None, None, ("CNW", "OWI", "WCN"), 2),
    "batch groups": ((4, 2, 4), (6, 2, 2), (1,), [(1, 0)], None, (2,), None, 1, 2),
    "batch groups in a layout": ((3, 6, 2), (2, 2, 3), (2,), "SAME", None, None, ("WNC", "IWO", "CNW"), 1, 3),
    "no batch": ((0, 2, 4), (3, 2, 2), (1,), "VALID"),
    "no features": ((2, 0, 4), (3, 0, 2), (1,), "VALID"),
    "no features of the result": ((2, 2, 4), (0, 2, 2), (1,), "VALID"),
}


@pytest.mark.parametrize("name", CASES)
def test_convolutions_map_over_every_pair_of_axes(name, check_batching):
    lhs, rhs, *arguments = CASES[name]
    check_batching(lambda x, k: lax.conv_general_dilated(x, k, *arguments), [lhs, rhs], ["float64", "float64"])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128"])
def test_convolutions_map_for_every_dtype(dtype, check_batching):
    check_batching(lambda x, k: lax.conv(x, k, (1,), "SAME"), [(2, 2, 3), (3, 2, 2)], [dtype, dtype])


def test_the_preferred_dtype_is_kept_also_in_a_batch_of_size_zero():
    convolve = lambda x, k: lax.conv(x, k, (1,), "SAME", preferred_element_type=np.float64)
    out = vmap(convolve)(np.ones((0, 2, 2, 3), np.float32), np.ones((0, 3, 2, 2), np.float32))
    assert (out.shape, out.dtype) == ((0, 2, 3, 3), np.float64)


@pytest.mark.parametrize(("in_axes", "groups"), [((0, None), 1), ((None, 0), 1), ((0, 0), 5)])
def test_a_batch_of_convolutions_is_one_convolution(in_axes, groups):
    lhs, rhs = (np.ones(shape if axis is None else (5, *shape)) for shape, axis in zip([(2, 3, 8), (4, 3, 2)], in_axes))
    jaxpr = make_jaxpr(vmap(lambda x, k: lax.conv(x, k, (1,), "SAME"), in_axes))(lhs, rhs)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is lax.conv_general_dilated_p]
    assert eqn.params["feature_group_count"] == groups


def test_a_batch_of_images_moves_no_axis():
    images, kernel = np.ones((5, 2, 8, 8, 3)), np.ones((2, 2, 3, 4))
    convolve = lambda x: lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    jaxpr = make_jaxpr(vmap(convolve))(images)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["reshape", "conv_general_dilated", "reshape"]
