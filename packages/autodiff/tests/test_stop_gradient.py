"""Constants of every derivative: arrays and pytrees of arrays."""

import numpy as np
import pytest

from calque_autodiff import grad, jvp
from calque_core import make_jaxpr
from calque_core.lax import stop_gradient

TREE = {"w": np.array([1.0, 2.0]), "b": (3.0, None)}


def test_a_tree_is_a_constant():
    def loss(p):
        kept = stop_gradient(p)
        return np.sum(kept["w"] * p["w"]) + kept["b"][0] * p["b"][0]

    gradient = grad(loss)(TREE)
    np.testing.assert_array_equal(gradient["w"], TREE["w"])
    assert gradient["b"] == (3.0, None)


def test_the_tangents_of_a_tree_are_zero():
    out, tangent = jvp(stop_gradient, (TREE,), (TREE,))
    np.testing.assert_array_equal(out["w"], TREE["w"])
    np.testing.assert_array_equal(tangent["w"], np.zeros(2))


def test_each_leaf_is_one_equation():
    assert [eqn.primitive.name for eqn in make_jaxpr(stop_gradient)(TREE).eqns] == ["stop_gradient"] * 2


def test_a_leaf_that_is_no_array_is_refused():
    with pytest.raises(
        TypeError, match=r"stop_gradient at test_stop_gradient.py:\d+ .*: 'text' of type str is not an array"
    ):
        stop_gradient({"w": "text"})
