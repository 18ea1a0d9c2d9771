"""Jacobians with few rows: how many they have, and that nothing depends on them."""

import numpy as np
import pytest

from calque_core import Primitive, current_trace, lax, tracing, typeof
from calque_laplacian import InnerProduct, LaplacianTrace, Triple, forward_laplacian

RNG = np.random.default_rng(3)
PLACES = RNG.normal(size=(8, 3))
MIXED = RNG.normal(size=(4, 5))
WEIGHTS = RNG.normal(size=(3, 5))


def rows(fun):
    """Return the number of rows of the Jacobian of a function of eight particles; 24 is all."""
    counts = []

    def watched(x):
        out = fun(x)
        counts.append(typeof(out.value.jacobian).shape[0])
        return out

    forward_laplacian(watched)(PLACES)
    return counts[0]


def differences(x):
    return lax.sub(lax.expand_dims(x, (1,)), lax.expand_dims(x, (0,)))


def distances(x):
    return lax.sqrt(lax.add(lax.reduce_sum(lax.square(differences(x)), 2), np.eye(8)))


def pairs(x):
    return lax.concatenate([differences(x), lax.expand_dims(distances(x), (2,))], 2)


FEW = {
    "elements": (1, lambda x: lax.exp(lax.square(x))),
    "particles": (3, lambda x: lax.tanh(lax.dot(lax.sin(x), WEIGHTS))),
    "particles in columns": (3, lambda x: lax.dot(np.ones((2, 3)), lax.transpose(x, (1, 0)))),
    "norms": (3, lambda x: lax.sqrt(lax.reduce_sum(lax.square(x), 1, keepdims=True))),
    "the greatest": (3, lambda x: lax.reduce_max(lax.sin(x), 1)),
    "a particle": (3, lambda x: lax.tanh(lax.dot(x[2], WEIGHTS))),
    "two particles": (6, lambda x: lax.reduce_sum(lax.mul(x[2], x[5]))),
    "differences": (2, differences),
    "distances": (6, distances),
    "pairs": (6, lambda x: lax.tanh(lax.dot_general(pairs(x), MIXED, (((2,), (0,)), ((), ()))))),
    "some pairs": (6, lambda x: lax.exp(pairs(x)[np.array([0, 2]), np.array([1, 1])])),
    "a scalar among arrays": (4, lambda x: lax.mul(x, x[0, 0] * x[1, 1] + x[2, 2])),
    "beside a constant": (1, lambda x: lax.concatenate([x, np.ones((2, 3))], 0)),
    "beside pairs": (6, lambda x: lax.concatenate([lax.reshape(x, (24,)), lax.reshape(distances(x), (64,))], 0)),
    "split": (1, lambda x: lax.split(x, (3, 5), 0)[1]),
    "all rows": (24, lambda x: lax.reduce_sum(pairs(x), 1)),
    "all rows of a product": (24, lambda x: lax.dot(x, lax.transpose(x, (1, 0)))),
    "all rows of a sum": (24, lambda x: lax.add(lax.reduce_sum(x), x)),
    "all rows of a running sum": (24, lambda x: lax.cumsum(x, 0)),
}


@pytest.mark.parametrize("name", FEW)
def test_a_value_has_rows_for_the_inputs_that_it_depends_on(name):
    count, fun = FEW[name]
    assert rows(fun) == count


@pytest.mark.parametrize("name", FEW)
def test_the_results_are_those_of_all_rows(name):
    fun = FEW[name][1]
    for f in (fun, lambda x: lax.square(lax.reduce_sum(lax.sin(fun(x)))), lambda x: lax.tanh(fun(x))):
        few, all_rows = forward_laplacian(f)(PLACES), forward_laplacian(f, weights=1.0)(PLACES)
        for part, other in zip(few, all_rows):
            np.testing.assert_allclose(part, other, rtol=1e-10, atol=1e-10)


def test_loops_get_all_rows():
    fun = lambda x: lax.scan(lambda c, row: (lax.add(lax.sin(c), row), lax.square(row)), x[0], x)
    few, all_rows = forward_laplacian(fun)(PLACES), forward_laplacian(fun, weights=1.0)(PLACES)
    np.testing.assert_allclose(few.laplacian[0], all_rows.laplacian[0])
    np.testing.assert_allclose(few.gradient[1], all_rows.gradient[1])


def test_an_elementwise_primitive_of_others_keeps_few_rows():
    both_p = Primitive("both_of_others")
    both_p.is_elementwise = True
    both_p.def_impl(lambda x: np.sin(x) * x)
    both_p.def_abstract_eval(lambda x: x)
    both_p.def_rule("decomposition", lambda x: lax.mul(lax.sin(x), x))
    assert rows(lambda x: both_p.bind(x)) == 1


def test_a_rule_never_sees_the_names_of_rows():
    seen_p = Primitive("seen")
    seen_p.def_impl(np.array)
    seen_p.def_abstract_eval(lambda x: x)
    seen = []
    seen_p.def_rule("laplacian", lambda inner, x: seen.append(x) or x)
    with tracing(LaplacianTrace(current_trace(), 24, InnerProduct())) as trace:
        names = np.arange(24).reshape(1, 8, 3)
        x = trace.wrap(Triple(PLACES, np.ones((1, 8, 3)), np.zeros((8, 3)), names), typeof(PLACES))
        seen_p.bind(lax.sin(x))
    assert [(x.inputs, x.jacobian.shape) for x in seen] == [(None, (24, 8, 3))]
