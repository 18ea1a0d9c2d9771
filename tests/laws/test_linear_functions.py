"""What `linearize` and `vjp` return crosses the borders of other transformations: it is a tree of arrays."""

import numpy as np
import pytest

import calque
from calque import lax

XS = np.arange(12.0).reshape(4, 3)
X = XS[1]


def f(x):
    return lax.sin(x) * lax.reduce_sum(x * x)


WAYS = {"linearize": lambda x: calque.linearize(f, x)[1], "vjp": lambda x: calque.vjp(f, x)[1]}


def applied(function, v):
    return np.asarray(calque.tree.leaves(function(v))[0])


@pytest.fixture(params=WAYS)
def make(request):
    return WAYS[request.param]


@pytest.fixture
def wanted(make):
    return np.stack([applied(make(x), np.ones(3)) for x in XS])


def test_jit_returns_them_and_takes_them(make, wanted):
    function = calque.jit(make)(X)
    assert all(isinstance(leaf, calque.Array) for leaf in calque.tree.leaves(function))
    np.testing.assert_allclose(applied(function, np.ones(3)), wanted[1], rtol=1e-12)
    np.testing.assert_allclose(calque.jit(applied_traced)(function, np.ones(3)), wanted[1], rtol=1e-12)
    assert repr(function) == repr(make(X))


def applied_traced(function, v):
    return calque.tree.leaves(function(v))[0]


def test_vmap_returns_a_batch_of_them(make, wanted):
    functions = calque.vmap(make)(XS)
    outs = calque.vmap(applied_traced, in_axes=(0, None))(functions, np.ones(3))
    np.testing.assert_allclose(outs, wanted, rtol=1e-12)


def test_loops_stack_them(make, wanted):
    _, functions = lax.scan(lambda carry, x: (carry, make(x)), 0.0, XS)
    outs = calque.vmap(applied_traced, in_axes=(0, None))(functions, np.ones(3))
    np.testing.assert_allclose(outs, wanted, rtol=1e-12)


def test_they_are_differentiated_with_respect_to_what_they_hold(make):
    def through(x):
        return lax.reduce_sum(applied_traced(make(x), np.ones(3)))

    gradient = calque.grad(through)(X)
    direction = np.array([0.3, -0.2, 0.5])
    eps = 1e-6
    slope = (through(X + eps * direction) - through(X - eps * direction)) / (2 * eps)
    np.testing.assert_allclose(np.dot(gradient, direction), slope, rtol=1e-6)
