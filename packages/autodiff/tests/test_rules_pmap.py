"""Derivatives of mapped functions with an element for each device: those of a `shard_map`."""

import numpy as np
import pytest

from calque_autodiff import custom_jvp, grad, jvp, linear_transpose, linearize
from calque_core import ShapedArray, lax, stage
from calque_core.engine import entered
from calque_core.lax import pmap_p

X = np.array([0.1, -0.4, 0.9, 0.3])


def mapped(f, out_axis=0):
    """Return `pmap` of a function of scalars over four elements."""

    def bound(x):
        with entered(axis_env=(("i", 4),)):
            jaxpr = stage(lambda x: [f(x)], [ShapedArray((), "float64")])
        axes = {"axis_name": "i", "axis_size": 4, "in_axes": (0,), "out_axes": (out_axis,)}
        return pmap_p.bind(x, call_jaxpr=jaxpr, name="f", devices=None, compiler=None, **axes)[0]

    return bound


def shares(x):
    return lax.sin(x) / lax.psum(lax.exp(x), "i")


def shares_of_all(x):
    return np.sin(x) / np.exp(x).sum()


def test_derivatives_are_those_of_all_elements():
    loss = lambda x: lax.reduce_sum(mapped(shares)(x) ** 2)
    slopes = [(np.sum(shares_of_all(X + d) ** 2) - np.sum(shares_of_all(X - d) ** 2)) / 2e-6 for d in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(grad(loss)(X), slopes, rtol=1e-7)
    np.testing.assert_allclose(linearize(loss, X)[1](np.ones(4)), np.sum(slopes), rtol=1e-7)
    above, below = grad(loss)(X + 1e-5 * X), grad(loss)(X - 1e-5 * X)
    np.testing.assert_allclose(jvp(grad(loss), (X,), (X,))[1], (above - below) / 2e-5, rtol=1e-6)


def test_a_result_that_all_elements_share_counts_once():
    total = mapped(lambda x: lax.psum(x * x, "i"), out_axis=None)
    np.testing.assert_allclose(grad(total)(X), 2 * X)


def test_the_transpose_of_a_linear_function():
    gather = mapped(lambda x: lax.reduce_sum(lax.all_gather(x, "i") * X))
    assert linear_transpose(gather, X)(np.ones(4))[0] == pytest.approx(4 * X)


def test_a_rule_of_a_derivative_may_map_its_tangents():
    @custom_jvp
    def f(x):
        return x

    @f.defjvp
    def f_jvp(primals, tangents):
        return primals[0], mapped(lambda t: 3.0 * t)(tangents[0])

    np.testing.assert_allclose(grad(lambda x: lax.reduce_sum(f(x) * X))(X), 3.0 * X)
