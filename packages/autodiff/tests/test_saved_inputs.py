"""`saved_input_vjp`: the cotangents of `vjp`, without copies of the arguments."""

import numpy as np
import pytest

from calque_autodiff import saved_input_vjp, vjp
from calque_core import lax, make_jaxpr
from calque_core.traces.tracer import is_tracer
from calque_pytree import tree_leaves

X, W, CT = np.array([[0.3, -1.2], [2.0, 0.7]]), np.array([[1.0, 2.0], [3.0, -4.0]]), np.array([[1.0, 0.5], [-2.0, 3.0]])


def product(x, w):
    return x @ w


def layer(x, params):
    return lax.sin(x @ params["w"]) * x + params["b"]


def assert_equal(found, expected):
    for x, y in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("which", "kept"), [([True, True], 0), ([True, False], 1), ([False, True], 1), ([False, False], 2)]
)
def test_the_pullback_keeps_only_what_is_not_marked(which, kept):
    y, pullback = saved_input_vjp(product, which, X, W)
    expected, whole = vjp(product, X, W)
    again = [x for x, mark in zip((X, W), which) if mark]
    assert_equal((y, pullback(CT, *again)), (expected, whole(CT)))
    assert len(tree_leaves(pullback)) == kept


def test_numbers_that_the_function_computes_are_kept():
    params = {"w": W, "b": np.ones(2)}
    _, pullback = saved_input_vjp(layer, [True, True], X, params)
    assert_equal(pullback(CT, X, params), vjp(layer, X, params)[1](CT))
    assert all(x is not X and x is not W for x in tree_leaves(pullback))
    assert 0 < len(tree_leaves(pullback)) < len(tree_leaves(vjp(layer, X, params)[1]))


def test_the_pullback_computes_with_the_arrays_that_it_gets():
    _, pullback = saved_input_vjp(product, [True, True], X, W)
    assert_equal(pullback(CT, X, 2.0 * W), (CT @ (2.0 * W).T, X.T @ CT))


def test_a_number_that_the_pullback_keeps_is_safe_from_later_writes():
    w = W.copy()
    _, pullback = saved_input_vjp(product, [True, False], X, w)
    w[:] = 0.0
    assert_equal(pullback(CT, X)[0], CT @ W.T)


def test_scalars_and_integers_are_arguments_too():
    _, pullback = saved_input_vjp(lambda x, n, s: x * s * n, [True, True, True], X, 3, 2.0)
    found, expected = pullback(CT, X, 3, 2.0), vjp(lambda x, n, s: x * s * n, X, 3, 2.0)[1](CT)
    assert_equal((found[0], found[2]), (expected[0], expected[2]))
    assert found[1].dtype == expected[1].dtype


def test_in_a_traced_program_the_pullback_holds_no_tracer_of_a_marked_argument():
    held = []

    def f(x, w, ct):
        _, pullback = saved_input_vjp(product, [True, True], x, w)
        held.extend(filter(is_tracer, tree_leaves(pullback)))
        return pullback(ct, x, w)

    jaxpr = make_jaxpr(f)(X, W, CT)
    assert held == []
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("dot_general") == 3


def test_an_unused_array_and_a_kept_number_are_refused_on_demand():
    saved_input_vjp(product, [True, True], X, W, allow_unused=False, allow_opaque=False)
    message = (
        r"saved_input_vjp of .*: the pullback does not need the marked array float64\[2,2\], and allow_unused=False"
    )
    with pytest.raises(ValueError, match=message):
        saved_input_vjp(lambda x, w: x + w, [False, True], X, W, allow_unused=False)
    message = r"saved_input_vjp of .*: the pullback keeps float64\[2,2\], and allow_opaque=False refuses it\. Mark more"
    with pytest.raises(ValueError, match=message):
        saved_input_vjp(product, [True, False], X, W, allow_opaque=False)


@pytest.mark.parametrize("which", [[True], [True, 1], True, None])
def test_marks_that_do_not_fit_are_refused(which):
    with pytest.raises(
        ValueError, match=r"saved_input_vjp of .* got which=.* for 2 primals\. Give a list with a bool for"
    ):
        saved_input_vjp(product, which, X, W)


@pytest.mark.parametrize("again", [(), (X,), (X, W, W), (X, W[0]), (X, W.astype(np.float32))])
def test_primals_that_do_not_fit_are_refused(again):
    _, pullback = saved_input_vjp(product, [True, True], X, W)
    message = (
        r"the vjp function of product .* got the primals .* behind the cotangent\. Give the marked primals again: "
    )
    with pytest.raises(TypeError, match=message):
        pullback(CT, *again)
