import functools

import numpy as np
import pytest

from calque_core import jaxpr_as_fun, lax, make_jaxpr
from calque_core.errors import ShapeError
from calque_core.ops.reductions.computations import is_elementwise
from calque_core.staging.stage import stage

X = np.random.default_rng(0).normal(size=(3, 4, 5))


def primitives(fun, *args):
    return [eqn.primitive.name for eqn in make_jaxpr(fun)(*args).eqns]


@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 2), (2, 0), (0, 1, 2)])
def test_any_function_is_folded_over_the_axes(axes):
    out = lax.reduce(X, 0.5, lambda a, b: a + b + a * b, axes)
    np.testing.assert_allclose(out, 1.5 * np.prod(1 + X, axes) - 1)


@pytest.mark.parametrize("count", range(12))
def test_elements_keep_their_order_and_the_start_takes_part_once(count):
    rng = np.random.default_rng(count)
    x, y = rng.normal(size=(2, count))
    compose = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])
    got = lax.reduce((x, y), (3.0, 2.0), compose, (0,))
    want = functools.reduce(compose, zip(x, y), (3.0, 2.0))
    np.testing.assert_allclose(got, want)


def test_an_empty_axis_gives_the_initial_value():
    np.testing.assert_array_equal(lax.reduce(np.ones((0, 2)), 7.0, lambda a, b: a * b + a, (0,)), [7.0, 7.0])


KNOWN = {
    "reduce_sum": (lax.add, 0), "reduce_prod": (lambda a, b: b * a, 1), "reduce_and": (lax.bitwise_and, -1),
    "reduce_or": (lambda a, b: a | b, 0), "reduce_xor": (lambda a, b: a ^ b, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_function_is_its_reduction_and_a_start_is_combined_once(name):
    function, neutral = KNOWN[name]
    x = np.array([[5, 3, 6], [7, 12, 9]])
    assert primitives(lambda x: lax.reduce(x, neutral, function, (1,)), x) == [name]
    started = lambda x: lax.reduce(x, 6, function, (1,))
    assert primitives(started, x)[0] == name
    np.testing.assert_array_equal(started(x), [functools.reduce(function, row, np.int64(6)) for row in x])


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_extremes_are_known_beside_their_neutral_element(dtype):
    x = np.array([1, 0, 1], dtype)
    for function, reduction in ((lax.max, lax.reduce_max), (lax.min, lax.reduce_min)):
        init = reduction(np.zeros(0, dtype))
        assert primitives(lambda x: lax.reduce(x, init, function, (0,)), x) == [reduction.__name__]  # noqa: B023


def test_a_known_operation_of_something_else_than_the_arguments_is_any_function():
    x = np.ones(3)
    assert primitives(lambda x: lax.reduce(x, 0.0, lambda a, b: a + 1.0, (0,)), x) == ["reduce"]
    assert primitives(lambda x: lax.reduce(x, 0.0, lambda a, b: a + a, (0,)), x) == ["reduce"]
    assert primitives(lambda x: lax.reduce(x > 0, False, lax.add, (0,)), x)[-1] == "reduce"
    assert lax.reduce(np.array([True, True]), False, lax.add, (0,)) == np.True_


def test_a_function_may_return_an_argument_or_a_constant():
    x = np.array([1.0, 2.0, 3.0])
    assert lax.reduce(x, 0.0, lambda a, b: b, (0,)) == 3.0
    assert lax.reduce(x, 0.0, lambda a, b: 7.0, (0,)) == 7.0


def test_a_function_with_branches_is_applied_element_by_element():
    least = lambda a, b: lax.cond(a < b, lambda: a, lambda: b)
    np.testing.assert_array_equal(lax.reduce(X, np.inf, least, (1,)), X.min(1))


def test_a_function_may_close_over_arrays():
    table = np.array([2.0, 3.0])
    picked = lambda a, b: lax.max(a, b) + 0.0 * lax.dynamic_index_in_dim(table, 1, keepdims=False)
    np.testing.assert_array_equal(lax.reduce(X, -np.inf, picked, (0,)), X.max(0))
    jaxpr = make_jaxpr(lambda y: lax.reduce(X, 0.0, lambda a, b: a + b + a * b * y, (0, 1, 2)))(0.0)
    np.testing.assert_allclose(jaxpr_as_fun(jaxpr)(0.0)[0], X.sum())


def test_python_scalars_as_starts_take_the_dtype_of_the_operand():
    x = np.ones(3, np.float32)
    assert lax.reduce(x, 1, lambda a, b: a + b + a * b, (0,)).dtype == np.float32


def test_which_programs_are_elementwise():
    scalars = make_jaxpr(lambda a: 1.0)(1.0).in_avals * 2
    program = lambda fun: stage(lambda *args: [fun(*args)], scalars)
    assert is_elementwise(program(lambda a, b: lax.select(a > b, lax.exp(a), lax.clamp(0.0, b, 1.0) ** 3)))
    assert not is_elementwise(program(lambda a, b: lax.cond(a > b, lambda: a, lambda: b)))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: lax.reduce((X, X), 0.0, lax.add, (0,)), TypeError, "Give one initial value per operand"),
        (lambda: lax.reduce((), (), lax.add, (0,)), ValueError, "got no operands"),
        (
            lambda: lax.reduce(X, np.float32(0), lax.add, (0,)),
            TypeError,
            r"initial value is float32\[\] for an operand",
        ),
        (lambda: lax.reduce(X, np.zeros(1), lax.add, (0,)), TypeError, "Give a scalar of the same dtype"),
        (lambda: lax.reduce(X, 0.0, lax.add, (3,)), ValueError, "axis 3 is out of range for ndim 3"),
        (lambda: lax.reduce(X, 0.0, lambda a, b: (a, b), (0,)), TypeError, "Return the same structure"),
        (
            lambda: lax.reduce(X, 0.0, lambda a, b: a > b, (0,)),
            TypeError,
            r"returned bool\[\]\. Return a scalar float64",
        ),
        (lambda: lax.reduce((X, X[0]), (0.0, 0.0), lambda a, b: a, (0,)), ShapeError, "the shapes differ"),
        (lambda: lax.reduce(X, 0.0, 3, (0,)), TypeError, "reduce"),
    ],
)
def test_wrong_arguments_are_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
