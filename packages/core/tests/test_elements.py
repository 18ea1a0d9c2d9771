"""Programs that act on each element alone serve arrays of every shape."""

import numpy as np
import pytest

from calque_core import ShapedArray, eval_jaxpr, lax, make_jaxpr, typeof
from calque_core.extend import acts_by_element, common_shape, elementwise_function, in_shape, is_large
from calque_core.staging.elements import sizes_that_do_not_matter
from calque_core.types.array_methods import linear_function, linear_in_every_size

X = np.linspace(0.1, 0.9, 6).reshape(2, 3)
BY_ELEMENT = {
    "products": lambda x, y: x * y + 2.0,
    "conversions": lambda x, y: lax.convert_element_type(x, np.float32),
    "choices": lambda x, y: lax.select(lax.gt(x, y), x, y),
}
NOT_BY_ELEMENT = {
    "sums": lambda x, y: lax.reduce_sum(x),
    "sums of rows": lambda x, y: lax.reduce_sum(x, 1),
    "slices": lambda x, y: x[1:],
    "repetitions": lambda x, y: x * y[0],
    "running sums": lambda x, y: lax.cumsum(x, axis=0),
    "constants": lambda x, y: x * X,
}


@pytest.mark.parametrize("name", BY_ELEMENT)
def test_a_program_by_element_is_one_for_every_shape(name):
    program = make_jaxpr(BY_ELEMENT[name])(X, X[::-1])
    assert acts_by_element(program, (2, 3))
    assert not acts_by_element(program, (3, 2))
    for shape in [(5,), (0,), (1, 1, 2)]:
        x, y = np.full(shape, 0.25), np.full(shape, 0.5)
        other = in_shape(program, (2, 3), shape)
        assert other.in_avals == [typeof(x), typeof(y)]
        assert str(other) == str(make_jaxpr(BY_ELEMENT[name])(x, y))
        np.testing.assert_array_equal(eval_jaxpr(other, (), x, y)[0], BY_ELEMENT[name](x, y))


@pytest.mark.parametrize("name", NOT_BY_ELEMENT)
def test_any_other_program_is_for_one_shape(name):
    assert not acts_by_element(make_jaxpr(NOT_BY_ELEMENT[name])(X, X), (2, 3))


def test_a_sum_counts_as_by_element_if_it_leaves_no_axis_and_is_asked_for():
    sums = [lax.reduce_sum_p]
    assert acts_by_element(make_jaxpr(lax.reduce_sum)(X), (2, 3), sums)
    assert not acts_by_element(make_jaxpr(lax.reduce_max)(X), (2, 3), sums)
    assert not acts_by_element(make_jaxpr(lambda x: lax.reduce_sum(x, 0))(X), (2, 3), sums)


def test_arrays_have_a_common_shape_unless_two_differ_or_one_varies_along_a_mesh():
    x = typeof(X)
    assert common_shape([typeof(1.0), x, x]) == (2, 3)
    assert common_shape([x, ShapedArray((1, 3), np.float64)]) is None
    assert common_shape([]) is common_shape([typeof(1.0)]) is None
    assert common_shape([x.varying({"i"})]) is None


def test_large_arrays_are_told_by_their_bytes():
    assert [is_large(ShapedArray((n,), dtype)) for n, dtype in [(1023, "f8"), (1024, "f8"), (1024, "f4")]] == [
        *[False, True, False]
    ]


def test_the_sizes_of_operators_and_ufuncs_do_not_matter_nor_of_functions_of_a_user_that_say_so():
    twice, avals = lambda x: x + x, [typeof(X), typeof(X)]
    assert sizes_that_do_not_matter(lax.sin_p, avals) == (2, 3)
    assert sizes_that_do_not_matter(lax.dot_general_p, avals) is None
    assert sizes_that_do_not_matter(twice, avals) is None
    assert sizes_that_do_not_matter(elementwise_function(twice), avals) == (2, 3)


def test_the_shapes_of_all_arrays_do_not_matter_to_a_linear_function_unless_one_varies_along_a_mesh():
    @linear_function("sum")
    def total(x):
        return lax.reduce_sum(x)

    x, y = typeof(X), ShapedArray((5,), np.float64)
    assert sizes_that_do_not_matter(total, [x, y]) == ((2, 3), (5,))
    assert sizes_that_do_not_matter(total, [x, y.varying({"i"})]) is None
    del linear_in_every_size[total]
