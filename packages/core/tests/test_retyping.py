import numpy as np
import pytest

from calque_core import ShapedArray, lax, make_jaxpr
from calque_core.ops.calls.retyping import derived_types

F32, I32, F64 = (np.dtype(name) for name in ("float32", "int32", "float64"))
ARRAY = ShapedArray((2,), F32)


def types_for(fun, dtype, start=1.0, array=ARRAY):
    """Return the types of a program that was traced for a weak `start`, for a strong one."""
    return derived_types(make_jaxpr(fun)(start, array), [ShapedArray((), dtype), array])


def traced_types(fun, dtype, array=ARRAY):
    return [aval.strip_weak_type() for aval in make_jaxpr(fun)(ShapedArray((), dtype), array).out_avals]


CERTAIN = {
    "itself": lambda c, x: [c],
    "the array": lambda c, x: [x],
    "with the array": lambda c, x: [c * x, x - c],
    "with numbers": lambda c, x: [c * 2.0, 1.0 - c, -c],
    "a comparison with the array": lambda c, x: [c < x],
    "after numbers": lambda c, x: [(c * 2.0 + 1.0) * x],
    "functions of the array": lambda c, x: [lax.sin(c * x), lax.reduce_sum(x * c)],
}


@pytest.mark.parametrize("name", CERTAIN)
def test_types_follow_from_a_trace_for_weak_arguments(name):
    assert types_for(CERTAIN[name], F32) == traced_types(CERTAIN[name], F32)


DOUBTFUL = {
    "a function": lambda c, x: [lax.sin(c)],
    "an array of the dtype of the argument": lambda c, x: [np.zeros(2, c.dtype)],
    "a conversion": lambda c, x: [lax.convert_element_type(c, np.float16)],
    "a loop": lambda c, x: [lax.fori_loop(0, 2, lambda i, y: y * 2.0, c)],
    "a comparison with a number": lambda c, x: [c < 1.0],
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_nothing_follows_where_a_dtype_may_have_been_read_or_chosen(name):
    assert types_for(DOUBTFUL[name], F32) is None


@pytest.mark.parametrize("dtype", [F64, I32, np.dtype("float16")])
def test_another_dtype_than_that_of_the_array_leaves_a_doubt(dtype):
    assert types_for(lambda c, x: [c * x], dtype) is None


def test_an_integer_takes_the_dtype_of_an_array_of_floats():
    assert types_for(lambda c, x: [c, c + x], F32, 0) == [ShapedArray((), F32), ARRAY]
