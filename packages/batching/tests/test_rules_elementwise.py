import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

FLOATS, COMPLEX = ("float16", "float32", "float64"), ("complex64", "complex128")
INTEGERS = ("int8", "int32", "int64", "uint8", "uint64")

UNARY = {
    "neg": (lax.neg, FLOATS + COMPLEX + INTEGERS),
    "abs": (lax.abs, FLOATS + COMPLEX + INTEGERS),
    "sign": (lax.sign, FLOATS + COMPLEX + INTEGERS),
    "square": (lax.square, FLOATS + COMPLEX + INTEGERS),
    "sqrt": (lambda x: lax.sqrt(lax.add(x, 1)), FLOATS + COMPLEX),
    "rsqrt": (lambda x: lax.rsqrt(lax.add(x, 1)), FLOATS + COMPLEX),
    "integer_pow": (lambda x: lax.integer_pow(x, 3), FLOATS + COMPLEX + INTEGERS),
    "exp": (lax.exp, FLOATS + COMPLEX),
    "expm1": (lax.expm1, FLOATS + COMPLEX),
    "log": (lambda x: lax.log(lax.add(x, 1)), FLOATS + COMPLEX),
    "log1p": (lax.log1p, FLOATS + COMPLEX),
    "sin": (lax.sin, FLOATS + COMPLEX),
    "cos": (lax.cos, FLOATS + COMPLEX),
    "tan": (lax.tan, FLOATS + COMPLEX),
    "tanh": (lax.tanh, FLOATS + COMPLEX),
    "sinh": (lax.sinh, FLOATS + COMPLEX),
    "cosh": (lax.cosh, FLOATS + COMPLEX),
    "asin": (lambda x: lax.asin(lax.tanh(x)), FLOATS + COMPLEX),
    "acos": (lambda x: lax.acos(lax.tanh(x)), FLOATS + COMPLEX),
    "atan": (lax.atan, FLOATS + COMPLEX),
    "asinh": (lax.asinh, FLOATS + COMPLEX),
    "acosh": (lambda x: lax.acosh(lax.cosh(x)), FLOATS + COMPLEX),
    "atanh": (lambda x: lax.atanh(lax.tanh(x)), FLOATS + COMPLEX),
    "exp2": (lax.exp2, FLOATS + COMPLEX),
    "cbrt": (lax.cbrt, FLOATS),
    "population_count": (lax.population_count, INTEGERS),
    "clz": (lax.clz, INTEGERS),
}


def never_zero(x):
    return lax.add(lax.abs(x), 1)


BINARY = {
    "add": (lax.add, (*FLOATS, *COMPLEX, *INTEGERS, "bool")),
    "add_any": (lax.add_any, FLOATS + COMPLEX),
    "sub": (lax.sub, FLOATS + COMPLEX + INTEGERS),
    "mul": (lax.mul, (*FLOATS, *COMPLEX, *INTEGERS, "bool")),
    "div": (lambda x, y: lax.div(x, never_zero(y)), FLOATS + INTEGERS),
    "rem": (lambda x, y: lax.rem(x, never_zero(y)), FLOATS + INTEGERS),
    "max": (lax.max, (*FLOATS, *INTEGERS, "bool")),
    "min": (lax.min, (*FLOATS, *INTEGERS, "bool")),
    "pow": (lambda x, y: lax.pow(never_zero(x), y), FLOATS),
    "atan2": (lax.atan2, FLOATS),
    "nextafter": (lax.nextafter, FLOATS),
}


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_operand_maps_over_every_axis(name, check_batching):
    fun, dtypes = UNARY[name]
    for dtype in dtypes:
        check_batching(fun, [(2, 4)], [dtype])
    check_batching(fun, [()], dtypes[:1])


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_operands_maps_over_every_pair_of_axes(name, check_batching):
    fun, dtypes = BINARY[name]
    for dtype in dtypes:
        check_batching(fun, [(2,), (2,)], [dtype, dtype])
    check_batching(fun, [(2, 4), (2, 4)], [dtypes[0]] * 2)


@pytest.mark.parametrize("name", [name for name in BINARY if name != "add_any"])
def test_a_scalar_operand_of_an_elementwise_function_may_be_mapped_or_not(name, check_batching):
    fun, dtypes = BINARY[name]
    for shapes in ([(), (2, 4)], [(2, 4), ()], [(), ()]):
        check_batching(fun, shapes, [dtypes[0]] * 2)


def test_an_unmapped_scalar_stays_a_scalar():
    jaxpr = make_jaxpr(vmap(lambda x: lax.mul(x, 2.0)))(np.ones((3, 4)))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]
    assert jaxpr.eqns[0].invars[1].aval.shape == ()


def test_an_unmapped_array_is_broadcast_to_where_the_batch_axis_is_and_nothing_is_transposed():
    jaxpr = make_jaxpr(vmap(lax.add, in_axes=(1, None), out_axes=1))(np.ones((4, 3)), np.ones(4))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["broadcast_in_dim", "add"]


def test_an_operand_whose_batch_axis_is_elsewhere_is_the_one_that_is_transposed():
    jaxpr = make_jaxpr(vmap(lax.add, in_axes=(0, 1)))(np.ones((3, 4)), np.ones((4, 3)))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["transpose", "add"]


def test_both_operands_of_add_any_get_the_batch_axis():
    jaxpr = make_jaxpr(vmap(lambda x: lax.add_any(x, 1.0)))(np.ones(3))

    assert [v.aval.shape for v in jaxpr.eqns[-1].invars] == [(3,), (3,)]
