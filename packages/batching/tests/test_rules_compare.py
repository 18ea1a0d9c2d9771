import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

ORDERED = ("bool", "int8", "int64", "uint32", "float16", "float64")
COMPARISONS = {
    "eq": (lax.eq, (*ORDERED, "complex128")),
    "ne": (lax.ne, (*ORDERED, "complex128")),
    "lt": (lax.lt, ORDERED),
    "le": (lax.le, ORDERED),
    "gt": (lax.gt, ORDERED),
    "ge": (lax.ge, ORDERED),
    "and": (lax.bitwise_and, ("bool", "int8", "uint64")),
    "or": (lax.bitwise_or, ("bool", "int8", "uint64")),
    "xor": (lax.bitwise_xor, ("bool", "int8", "uint64")),
    "shift_left": (lambda x, y: lax.shift_left(x, lax.bitwise_and(y, 3)), ("int8", "uint64")),
    "shift_right_logical": (lambda x, y: lax.shift_right_logical(x, lax.bitwise_and(y, 3)), ("int8", "uint64")),
    "shift_right_arithmetic": (lambda x, y: lax.shift_right_arithmetic(x, lax.bitwise_and(y, 3)), ("int8", "uint64")),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison_and_logic_map_over_every_pair_of_axes(name, check_batching):
    fun, dtypes = COMPARISONS[name]
    for dtype in dtypes:
        check_batching(fun, [(2,), (2,)], [dtype, dtype])
    for shapes in ([(), (2, 4)], [(2, 4), ()], [(), ()], [(2, 4), (2, 4)]):
        check_batching(fun, shapes, [dtypes[-1]] * 2)


def test_not_maps_over_every_axis(check_batching):
    for dtype in ("bool", "int8", "uint64"):
        check_batching(lax.bitwise_not, [(2, 4)], [dtype])


@pytest.mark.parametrize("shapes", [[(2,)] * 3, [(), (2,), (2,)], [(), (), ()], [(2,), (), (2,)], [(2,), (), ()]])
def test_select_n_maps_each_operand_of_full_shape_or_rank_0(shapes, check_batching):
    check_batching(lax.select_n, shapes, ["bool", "float64", "float64"])
    check_batching(lax.select_n, shapes, ["bool", "int32", "int32"])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_select_n_of_three_cases_maps_its_integer_operand(dtype, check_batching):
    def choose(which, x, y, z):
        return lax.select_n(lax.rem(lax.abs(which), np.dtype(dtype).type(3)), x, y, z)

    check_batching(choose, [(), (2,), (), (2,)], [dtype, *["float64"] * 3])


@pytest.mark.parametrize("shapes", [[(2,)] * 3, [(), (2, 4), ()], [(), (), ()], [(2,), (), (2,)]])
def test_clamp_maps_each_operand_of_full_shape_or_rank_0(shapes, check_batching):
    for dtype in ("int8", "float64"):
        check_batching(lax.clamp, shapes, [dtype] * 3)


def test_an_unmapped_scalar_choice_stays_a_scalar():
    jaxpr = make_jaxpr(vmap(lax.select_n, in_axes=(None, 0, 0)))(True, np.ones((3, 4)), np.ones((3, 4)))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["select_n"]
    assert jaxpr.eqns[0].invars[0].aval.shape == ()
