"""Programs of operations on elements, and of products, serve arrays of every size."""

import numpy as np
import pytest

from calque_core import Primitive, ShapedArray, lax, make_jaxpr, typeof
from calque_core.engine import StraightLine, has_no_sizes, is_large, kinds_in_every_size
from calque_core.extend import elementwise_function
from calque_core.known.sizes import acts_by_element, common_shape, sizes_that_do_not_matter, without_sizes
from calque_core.types.array_methods import in_every_size

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
WITHOUT_SIZES = {
    **BY_ELEMENT,
    "rows": lambda x, row: x * row,
    "columns": lambda x, row: x - lax.reduce_sum(x, 1, keepdims=True) * row,
    "matrix products": lambda x, row: lax.dot_general(x, x + row, (((1,), (1,)), ((), ()))),
}
WITH_SIZES = {
    "repetitions": lambda x, row: lax.broadcast_in_dim(row, x.shape, (1,)),
    "axes out of line": lambda x, row: x * lax.broadcast_in_dim(x[:, 0], x.shape, (0,)),
    "slices": lambda x, row: x[:, :2],
    "reshapes": lambda x, row: lax.reshape(x, (x.size,)),
    "sorted rows": lambda x, row: lax.sort(x, dimension=0),
    "constants": lambda x, row: x * X,
}


@pytest.mark.parametrize("name", BY_ELEMENT)
def test_a_program_by_element_is_one_for_every_shape(name):
    program = make_jaxpr(BY_ELEMENT[name])(X, X[::-1])
    assert acts_by_element(program, (2, 3))
    assert not acts_by_element(program, (3, 2))


@pytest.mark.parametrize("name", NOT_BY_ELEMENT)
def test_any_other_program_is_for_one_shape(name):
    assert not acts_by_element(make_jaxpr(NOT_BY_ELEMENT[name])(X, X), (2, 3))


@pytest.mark.parametrize("name", WITHOUT_SIZES)
def test_code_without_sizes_serves_arrays_of_other_sizes(name):
    f, row = WITHOUT_SIZES[name], (lambda x: x[0]) if name not in BY_ELEMENT else (lambda x: x)
    program, code = make_jaxpr(f)(X, row(X)), StraightLine()
    assert has_no_sizes(program)
    function = code.function(code.arguments(program.invars), code.results(program)[0])
    for shape in [(2, 3), (5, 4), (3, 3), (2, 7)]:
        x = np.linspace(-1.0, 1.0, shape[0] * shape[1]).reshape(shape)
        np.testing.assert_array_equal(function(x, row(x)), f(x, row(x)))


@pytest.mark.parametrize("name", WITH_SIZES)
def test_code_with_sizes_is_for_one_shape(name):
    assert not has_no_sizes(make_jaxpr(WITH_SIZES[name])(X, X[0]))


def test_a_primitive_whose_evaluation_takes_no_sizes_has_to_say_so():
    swapped_p = Primitive("swapped")
    swapped_p.def_impl(lambda x: x[::-1], leaf=True)
    swapped_p.def_abstract_eval(lambda x: x)
    program = make_jaxpr(swapped_p.bind)(X)
    assert not has_no_sizes(program)
    in_every_size("code")(swapped_p)
    assert has_no_sizes(program)
    del kinds_in_every_size[swapped_p]


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


def test_the_shapes_of_operators_and_ufuncs_do_not_matter_nor_of_functions_that_say_so():
    twice, avals = lambda x: x + x, [typeof(X), typeof(X[0])]
    assert sizes_that_do_not_matter(lax.sin_p, avals[:1]) == ((2, 3),)
    assert sizes_that_do_not_matter(lax.dot_general_p, avals) == ((2, 3), (3,))
    assert sizes_that_do_not_matter(lax.sort_p, avals) is None
    assert sizes_that_do_not_matter(twice, avals) is None
    assert sizes_that_do_not_matter(elementwise_function(twice), avals) == ((2, 3), (3,))
    del kinds_in_every_size[twice]


def test_shapes_matter_where_a_type_varies_along_a_mesh():
    @in_every_size("sum")
    def total(x):
        return lax.reduce_sum(x)

    x, y = typeof(X), ShapedArray((5,), np.float64)
    assert sizes_that_do_not_matter(total, [x, y]) == ((2, 3), (5,))
    assert sizes_that_do_not_matter(total, [x, y.varying({"i"})]) is None
    del kinds_in_every_size[total]


def test_a_type_without_sizes_tells_the_sizes_0_and_1_from_larger_ones():
    forms = [without_sizes(ShapedArray(shape, "f8")) for shape in [(2, 3), (7, 2), (1, 3), (0, 3), (3,), (2048, 1024)]]
    assert forms[0] == forms[1]
    assert len(set(forms)) == 5
    assert without_sizes(ShapedArray((2, 3), "f4")) not in forms
