"""`shard_map` under a transformation with its own values: each array of a value is cut as the value is."""

import numpy as np
import pytest

from calque_core import AbstractMesh, ValueTrace, current_trace, lax, shard_map, tracing, typeof
from calque_core import PartitionSpec as P

MESH = AbstractMesh((2,), ("i",))


class ScaleTrace(ValueTrace):
    """Values with an exact power of two beside them: a pair (array, exponents), exponents of the array's shape."""

    def lift(self, x):
        return x, np.zeros(np.shape(x), np.int64)

    def apply(self, primitive, values, params):
        if primitive in (lax.slice_p, lax.reshape_p, lax.psum_p, lax.all_gather_p, lax.pvary_p):
            outs = [primitive.bind(x, **params) for x in values[0]]
            return [(outs[0], outs[1])]
        if primitive is lax.mul_p:
            (x, a), (y, b) = values
            return [(lax.mul(x, y), lax.add(a, b))]
        return NotImplemented

    def to_arrays(self, value):
        return [*value], None

    def from_arrays(self, static, arrays):
        return tuple(arrays)


class WithoutArrays(ValueTrace):
    def lift(self, x):
        return x

    def apply(self, primitive, values, params):
        return primitive.bind(*values, **params)


class Transposed(ScaleTrace):
    def to_arrays(self, value):
        return [np.reshape(x, (1, -1)) for x in value], None


def scaled(trace_class, f, *pairs):
    with tracing(trace_class(current_trace())) as trace:
        return trace.unwrap(f(*[trace.wrap(pair, typeof(pair[0])) for pair in pairs]))


X, EXPONENTS = np.arange(1.0, 5.0), np.array([1, 2, 3, 4])


def test_each_array_of_a_value_is_cut_and_joined_as_the_value_is():
    double = shard_map(lambda x: lax.mul(x, x), mesh=MESH, in_specs=P("i"), out_specs=P("i"))
    x, exponents = scaled(ScaleTrace, double, (X, EXPONENTS))
    np.testing.assert_array_equal(x, X * X)
    np.testing.assert_array_equal(exponents, 2 * EXPONENTS)


def test_a_collective_runs_on_every_array_and_types_say_what_varies():
    total = shard_map(lambda x: lax.psum(x, "i"), mesh=MESH, in_specs=P("i"), out_specs=P())
    x, exponents = scaled(ScaleTrace, total, (X, EXPONENTS))
    np.testing.assert_array_equal(x, [4.0, 6.0])
    np.testing.assert_array_equal(exponents, [4, 6])


def test_a_value_that_is_not_divided_meets_one_that_is():
    product = shard_map(lax.mul, mesh=MESH, in_specs=(P("i"), P()), out_specs=P("i"))
    x, exponents = scaled(ScaleTrace, product, (X, EXPONENTS), (np.array([2.0, 3.0]), np.array([10, 20])))
    np.testing.assert_array_equal(x, [2.0, 6.0, 6.0, 12.0])
    np.testing.assert_array_equal(exponents, [11, 22, 13, 24])


def test_values_without_arrays_are_refused_with_a_way_out():
    double = shard_map(lambda x: lax.mul(x, x), mesh=MESH, in_specs=P("i"), out_specs=P("i"))
    with tracing(WithoutArrays(current_trace())) as trace:
        words = (
            r"WithoutArrays cannot cut its values into shards for shard_map at .*: they have no arrays\. Give "
            r"WithoutArrays\.to_arrays and WithoutArrays\.from_arrays, or call shard_map outside"
        )
        with pytest.raises(NotImplementedError, match=words):
            double(trace.wrap(X, typeof(X)))


def test_arrays_with_other_axes_in_front_are_refused():
    double = shard_map(lambda x: lax.mul(x, x), mesh=MESH, in_specs=P("i"), out_specs=P("i"))
    words = r"divides a value of type float64\[4\], but Transposed\.to_arrays returned an array of type float64\[1,4\]"
    with pytest.raises(TypeError, match=words):
        scaled(Transposed, double, (X, EXPONENTS))
