"""What a derivative keeps of loops, branches, calls and checkpoints inside one another, and that it is right."""

from __future__ import annotations

import numpy as np
import pytest
from kept import PROGRAMS

from calque_autodiff import check_grads, grad, vjp
from calque_batching import vmap
from calque_core import make_jaxpr, subjaxprs
from calque_pytree import tree_leaves

X = np.array([0.3, -0.2, 0.5])

# The most that the derivative keeps, in arrays and in bytes, and the equations of the gradient, inner ones included.
MOST = {
    "jit": (2, 48, 14),
    "jit of jit": (7, 168, 27),
    "jit of operands": (4, 96, 15),
    "cond": (6, 144, 29),
    "cond of operands": (2, 48, 25),
    "cond of jit": (2, 48, 25),
    "jit of cond": (6, 144, 33),
    "scan": (3, 192, 14),
    "scan of inputs": (5, 480, 25),
    "scan of a moving matrix": (5, 360, 22),
    "scan of jit": (2, 120, 16),
    "scan of jit of operands": (5, 360, 24),
    "scan of fixed work in jit": (3, 192, 18),
    "scan of cond": (4, 208, 23),
    "scan of cond of operands": (6, 376, 32),
    "scan of scan": (3, 288, 16),
    "jit of scan of jit": (2, 120, 18),
    "scan of checkpoint, nothing": (3, 192, 36),
    "scan of checkpoint, everything": (8, 672, 29),
    "scan of checkpoint, dots": (4, 288, 34),
    "scan of checkpoint, names": (4, 288, 33),
    "scan of checkpoint, all but names": (3, 192, 36),
    "checkpoint of scan, dots": (3, 192, 18),
    "checkpoint of jit and cond, names": (2, 48, 52),
    "while": (2, 48, 87),
    "while with max_steps": (4, 292, 20),
    "while with checkpoints": (2, 48, 97),
    "custom_vjp": (2, 48, 13),
    "custom_vjp in jit": (2, 48, 15),
    "custom_vjp in scan": (2, 120, 15),
    "custom_vjp with jvp, in scan": (2, 120, 15),
    "custom_vjp in cond in scan": (3, 136, 24),
    "custom_jvp in jit in scan": (2, 120, 18),
    "linear_call in scan": (4, 312, 20),
    "solve in jit": (2, 48, 40),
}


def kept(f):
    return tree_leaves(vjp(f, X)[1])


def count_eqns(jaxpr):
    return len(jaxpr.eqns) + sum(map(count_eqns, subjaxprs(jaxpr)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_derivative_keeps_no_more_than_it_needs(name):
    arrays, size, eqns = MOST[name]
    residuals = kept(PROGRAMS[name])
    assert len(residuals) <= arrays
    assert sum(np.asarray(x).nbytes for x in residuals) <= size
    assert count_eqns(make_jaxpr(grad(PROGRAMS[name]))(X)) <= eqns


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_two_orders_agree_with_differences(name):
    check_grads(PROGRAMS[name], (X,), order=2, modes=("rev",))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_a_batch_are_those_of_its_elements(name):
    xs = np.stack([X, X[::-1], -X])
    gradient = grad(PROGRAMS[name])
    np.testing.assert_allclose(vmap(gradient)(xs), np.stack([gradient(x) for x in xs]), 1e-12, 1e-14)


@pytest.mark.parametrize("name", ["scan of fixed work in jit", "scan of jit of operands", "scan of cond of operands"])
def test_a_matrix_that_no_step_changes_is_not_stacked(name):
    shapes = [np.shape(x) for x in kept(PROGRAMS[name])]
    assert (3, 3) in shapes
    assert max(map(len, shapes)) == 2
