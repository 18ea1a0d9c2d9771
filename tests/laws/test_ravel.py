"""`ravel_pytree` under every transformation."""

import numpy as np

import calque
from calque.flatten_util import ravel_pytree

TREE = {"w": np.arange(6.0).reshape(2, 3), "b": [np.float64(7.0)]}
FLAT, UNRAVEL = ravel_pytree(TREE)


def loss(tree):
    return np.sum(np.sin(tree["w"])) * tree["b"][0]


def test_a_gradient_on_vectors_is_the_vector_of_the_gradient():
    wanted = ravel_pytree(calque.grad(loss)(TREE))[0]
    for transform in (lambda f: f, calque.jit):
        np.testing.assert_allclose(transform(calque.grad(lambda v: loss(UNRAVEL(v))))(FLAT), wanted, rtol=1e-12)
    _, tangent = calque.jvp(lambda t: ravel_pytree(t)[0], (TREE,), (TREE,))
    np.testing.assert_array_equal(tangent, FLAT)


def test_jit_returns_and_takes_the_way_back():
    flat, unravel = calque.jit(ravel_pytree)(TREE)
    np.testing.assert_array_equal(flat, FLAT)
    assert unravel == UNRAVEL
    out = calque.jit(lambda unravel, v: unravel(v)["b"][0])(unravel, flat)
    assert out == 7.0


def test_vmap_ravels_each_element():
    batch = calque.tree.map(lambda x: np.stack([x, 2 * x]), TREE)
    flat, unravel = calque.vmap(ravel_pytree)(batch)
    np.testing.assert_array_equal(flat, np.stack([FLAT, 2 * FLAT]))
    trees = calque.vmap(unravel)(flat)
    np.testing.assert_array_equal(trees["w"], batch["w"])


def test_a_hessian_of_a_tree_is_a_matrix():
    matrix = calque.hessian(lambda v: loss(UNRAVEL(v)))(FLAT)
    assert matrix.shape == (7, 7)
    np.testing.assert_allclose(matrix, matrix.T)
