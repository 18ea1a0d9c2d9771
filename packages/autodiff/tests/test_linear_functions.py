import copy
import pickle
import re

import numpy as np
import pytest

from calque_autodiff import linearize, vjp
from calque_core import lax, make_jaxpr
from calque_pytree import tree_leaves, tree_map

X = np.arange(3.0)


def loss(p, x):
    return {"value": lax.reduce_sum(p["w"] * lax.sin(x)), "best": lax.argmax(x, 0)}


def functions_of_loss():
    return [verb(loss, {"w": np.float32([1, 2, 3])}, np.float32(X))[1] for verb in (linearize, vjp)]


def test_the_functions_print_their_types_and_where_the_function_is():
    f_lin, f_vjp = functions_of_loss()
    where = rf"loss \(test_linear_functions\.py:{loss.__code__.co_firstlineno}\)"
    primals, outs = r"\({'w': float32\[3\]}, float32\[3\]\)", r"{'best': float0\[\], 'value': float32\[\]}"
    assert re.fullmatch(rf"<linear function of {where}: {primals} -> {outs}>", repr(f_lin))
    assert re.fullmatch(rf"<vjp function of {where}: {outs} -> {primals}>", repr(f_vjp))
    assert repr(linearize(lax.sin, 1.0)[1]).endswith(": (float64[],) -> float64[]>")


def test_the_functions_are_trees_of_the_numbers_that_they_need():
    _, f_lin = linearize(lax.sin, X)
    assert [leaf.tolist() for leaf in tree_leaves(f_lin)] == [np.cos(X).tolist()]
    doubled = tree_map(lambda leaf: 2.0 * leaf, f_lin)
    np.testing.assert_array_equal(doubled(np.ones(3)), 2.0 * f_lin(np.ones(3)))
    assert repr(doubled) == repr(f_lin)


@pytest.mark.parametrize("verb", [linearize, vjp])
def test_a_traced_function_may_return_them(verb):
    jaxpr = make_jaxpr(lambda x: verb(lax.sin, x)[1])(X)
    assert jaxpr.pretty_print().count("cos") == 1
    assert [aval.shape for aval in jaxpr.out_avals] == [(3,)]


def test_pickling_them_is_refused_in_a_sentence():
    f_lin, f_vjp = functions_of_loss()
    for f, role, verb in ((f_lin, "linear function", "linearize"), (f_vjp, "vjp function", "vjp")):
        words = rf"^the {role} of loss \(.*\) cannot be pickled: it holds .* call {verb} again"
        with pytest.raises(TypeError, match=words):
            pickle.dumps(f)


def test_copies_compute_the_same_and_deep_ones_hold_numbers_of_their_own():
    _, f_lin = linearize(lax.sin, X)
    shallow, deep = copy.copy(f_lin), copy.deepcopy(f_lin)
    for f in (shallow, deep):
        np.testing.assert_array_equal(f(np.ones(3)), f_lin(np.ones(3)))
    assert tree_leaves(deep)[0] is not tree_leaves(f_lin)[0]
