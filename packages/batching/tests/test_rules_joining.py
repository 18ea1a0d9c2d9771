import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

DTYPES = ("bool", "int8", "float16", "float64", "complex64")
CASES = {
    "concatenate with itself": (lambda x: lax.concatenate([x, x], 1), (2, 4)),
    "split": (lambda x: lax.split(x, (1, 0, 3), 1), (2, 4)),
    "split of the first axis": (lambda x: lax.split(x, (1, 1)), (2, 4)),
    "stack with itself": (lambda x: lax.stack([x, x]), (2, 4)),
    "unstack": (lax.unstack, (2, 4)),
    "unstack of the last axis": (lambda x: lax.unstack(x, -1), (2, 3, 4)),
    "tile": (lambda x: lax.tile(x, (2, 3)), (2, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_joining_and_cutting_map_over_every_axis(name, check_batching):
    fun, shape = CASES[name]
    for dtype in DTYPES:
        check_batching(fun, [shape], [dtype])


@pytest.mark.parametrize("dimension", [0, 1])
def test_concatenate_maps_over_every_axis_of_every_operand(dimension, check_batching):
    shapes = [(2, 2), (3, 2), (0, 2)] if dimension == 0 else [(2, 2), (2, 3), (2, 0)]
    check_batching(lambda *xs: lax.concatenate(xs, dimension), shapes, ["int8"] * 3)
    check_batching(lambda *xs: lax.concatenate(xs, dimension), shapes[:2], ["float32"] * 2)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_stack_maps_over_every_axis_of_every_operand(axis, check_batching):
    check_batching(lambda *xs: lax.stack(xs, axis), [(2, 3)] * 3, ["float32"] * 3)


def test_a_mapped_stack_of_scalars_copies_whole_operands():
    jaxpr = make_jaxpr(vmap(lambda x, y: lax.stack([x, y]), out_axes=1))(np.ones(5), np.ones(5))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["stack"]
    assert jaxpr.out_avals[0].shape == (2, 5)
