"""Compressed derivatives equal the dense ones, eagerly, compiled and mapped, and call the function once per colour."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from random_functions import SIZE, function_of

import calque
from calque_autodiff import grad
from calque_batching import vmap
from calque_core import lax, make_jaxpr
from calque_sparse import (
    SparseArray,
    SparsityPattern,
    acyclic_coloring,
    bicoloring,
    hessian,
    hessian_sparsity,
    hvp,
    jacfwd,
    jacobian_sparsity,
    jacrev,
    prepare_hessian,
    prepare_jacobian,
    row_coloring,
    star_coloring,
)
from calque_xla_backend import jit

X = np.linspace(0.2, 1.4, 7)


def field(x):
    return lax.sin(x[1:] * x[:-1]) * x[:1]


def energy(x):
    return lax.reduce_sum(lax.exp(x[1:] * x[:-1]) + x[1:] ** 3, (0,))


JACOBIAN, HESSIAN = calque.jacfwd(field)(X), calque.hessian(energy)(X)


@pytest.mark.sampled(keep=0.5)
@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize(
    "derivative",
    [
        jacfwd(field),
        jacrev(field),
        jacfwd(field, sparsity=jacobian_sparsity(field, X)),
        jacfwd(field, sparsity=bicoloring(jacobian_sparsity(field, X))),
        jacfwd(field, sparsity=row_coloring(jacobian_sparsity(field, X))),
        jacrev(field, sparsity=scipy.sparse.csc_array(np.ones((6, 7)))),
        prepare_jacobian(field, X),
        prepare_jacobian(field, X, sparsity=np.ones((6, 7))),
    ],
    ids=["jacfwd", "jacrev", "pattern", "bicoloring", "rows", "SciPy", "prepared", "full"],
)
def test_a_compressed_jacobian_is_the_dense_one(derivative, is_compiled):
    derivative = jit(derivative) if is_compiled else derivative
    np.testing.assert_allclose(derivative(X).toarray(), JACOBIAN, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(derivative(X).to_scipy().toarray(), JACOBIAN, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(derivative(X) @ np.arange(7.0), JACOBIAN @ np.arange(7.0), rtol=1e-13)
    np.testing.assert_allclose(vmap(derivative)(np.stack([X, X])).toarray()[1], JACOBIAN, rtol=1e-13, atol=1e-15)


@pytest.mark.sampled(keep=0.5)
@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize(
    "derivative",
    [
        hessian(energy),
        hessian(energy, sparsity=acyclic_coloring(hessian_sparsity(energy, X))),
        prepare_hessian(energy, X),
        prepare_hessian(energy, X, sparsity=star_coloring(np.ones((7, 7)))),
    ],
    ids=["hessian", "acyclic", "prepared", "full"],
)
def test_a_compressed_hessian_is_the_dense_one(derivative, is_compiled):
    derivative = jit(derivative) if is_compiled else derivative
    np.testing.assert_allclose(derivative(X).toarray(), HESSIAN, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(vmap(derivative)(np.stack([X, X])).toarray()[0], HESSIAN, rtol=1e-12, atol=1e-12)


def test_a_product_with_the_hessian_needs_no_matrix():
    np.testing.assert_allclose(hvp(energy)(np.arange(7.0), X), HESSIAN @ np.arange(7.0), rtol=1e-13)
    tree = hvp(lambda tree: energy(tree["x"]))({"x": np.arange(7.0)}, {"x": X})
    np.testing.assert_allclose(tree["x"], HESSIAN @ np.arange(7.0), rtol=1e-13)


@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("start", range(0, 300, 10))
def test_the_compressed_jacobian_of_a_random_function_is_the_dense_one(start):
    for seed in range(start, start + 10):
        function, names = function_of(seed)
        f, x = lambda x, function=function: function([x]), np.random.default_rng(seed).normal(size=SIZE)
        if "reversed rule" not in names:
            derivative, dense = jacfwd(f), calque.jacfwd(f)
        else:
            derivative, dense = jacrev(f), calque.jacrev(f)
        np.testing.assert_allclose(derivative(x).toarray(), dense(x), rtol=1e-9, atol=1e-9, err_msg=f"{seed}: {names}")


def test_a_sparse_matrix_is_a_pytree_whose_values_are_differentiated():
    total = lambda x: lax.reduce_sum(jacfwd(field, sparsity=jacobian_sparsity(field, X))(x).toarray() ** 2, (0, 1))
    dense = lambda x: lax.reduce_sum(calque.jacfwd(field)(x) ** 2, (0, 1))
    np.testing.assert_allclose(grad(total)(X), grad(dense)(X), rtol=1e-12)
    assert isinstance(jit(jacfwd(field))(X), SparseArray)


def test_a_prepared_derivative_does_not_run_the_function_again():
    calls = []

    def f(x):
        calls.append(1)
        return x[1:] * x[:-1]

    derivative = prepare_jacobian(f, X)
    calls.clear()
    derivative(X)
    derivative(2.0 * X)
    assert calls == []
    np.testing.assert_allclose(derivative(np.float32(X)).toarray(), calque.jacfwd(f)(np.float32(X)), rtol=1e-6)


def test_the_function_runs_once_and_its_derivative_once_per_colour():
    derivative = jacfwd(lambda x: lax.tanh(x[1:]) * x[:-1], sparsity=np.eye(6, 7) + np.eye(6, 7, k=1))
    names = [eqn.primitive.name for eqn in make_jaxpr(derivative)(X).eqns]
    assert names.count("tanh") == 1
    assert names.count("add_any") == 2


def test_arguments_and_results_are_trees():
    f = lambda scale, tree: {"a": tree["x"] * scale, "b": tree["y"][:2]}
    tree = {"x": np.arange(2.0), "y": np.arange(3.0)}
    found = jacfwd(f, argnums=1)(2.0, tree).toarray()
    assert found.tolist() == [[2, 0, 0, 0, 0], [0, 2, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]]
    np.testing.assert_array_equal(jacrev(f, argnums=1)(2.0, tree).toarray(), found)
    np.testing.assert_array_equal(prepare_jacobian(f, 2.0, tree, argnums=1)(2.0, tree).toarray(), found)


def test_a_function_of_no_elements_has_an_empty_matrix():
    assert jacfwd(lambda x: x[:0])(X).toarray().shape == (0, 7)
    assert jacfwd(lambda x: lax.floor(x))(X).toarray().tolist() == np.zeros((7, 7)).tolist()


@pytest.mark.parametrize("derivative", [jacfwd, jacrev, hessian])
def test_a_pattern_of_another_shape_is_refused(derivative):
    f = energy if derivative is hessian else field
    with pytest.raises(
        ValueError, match=r"the pattern has the shape \(3, 3\), but the derivative has \(., 7\). Give the"
    ):
        derivative(f, sparsity=np.eye(3))(X)


def test_a_product_with_another_size_is_refused():
    with pytest.raises(
        ValueError, match=r"sparse \(2, 3\) @ float64\[2\] does not fit. Give one element for each column"
    ):
        SparseArray(SparsityPattern((2, 3), [0], [0]), np.ones(1)) @ np.ones(2)
    with pytest.raises(ValueError, match=r"got a batch of matrices, \(4, 2, 3\)"):
        SparseArray(SparsityPattern((2, 3), [0], [0]), np.ones((4, 1))).to_scipy()


WITHOUT = """
import sys
sys.modules["calque_autodiff"] = None
import numpy as np
from calque_sparse import jacfwd, jacobian_sparsity
assert jacobian_sparsity(lambda x: x * x, np.ones(2)).nnz == 2
jacfwd(lambda x: x * x)(np.ones(2))
"""


def test_derivatives_without_their_package_say_how_to_install_it():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    words = "calque_autodiff.linearize needs the package calque-autodiff. Install it: pip install calque-autodiff."
    assert words in done.stderr
