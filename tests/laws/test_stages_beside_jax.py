"""The stages ahead of time tell what jax's stages tell, and compile derivatives as calls do."""

from __future__ import annotations

import numpy as np
import pytest

import calque
import calque.numpy as cnp
from calque import grad, jit, vmap

jax = pytest.importorskip("jax", reason="the peer of this test")

W, X = np.ones((4, 3), np.float32), np.ones((8, 4), np.float32)


def loss(w, x):
    return cnp.mean(cnp.tanh(x @ w) ** 2)


def loss_in_jax(w, x):
    return jax.numpy.mean(jax.numpy.tanh(x @ w) ** 2)


def test_cost_and_memory_analysis_have_the_figures_of_jax():
    ours, theirs = jit(loss).lower(W, X), jax.jit(loss_in_jax).lower(W, X)
    for key in ("flops", "transcendentals"):
        assert ours.cost_analysis()[key] == theirs.cost_analysis()[key]
    compiled, in_jax = ours.compile(), theirs.compile()
    assert {"flops", "bytes accessed"} <= compiled.cost_analysis().keys() & in_jax.cost_analysis().keys()
    for name in ("argument_size_in_bytes", "output_size_in_bytes", "alias_size_in_bytes"):
        assert getattr(compiled.memory_analysis(), name) == getattr(in_jax.memory_analysis(), name)


def test_the_stages_have_the_attributes_of_jax():
    ours, theirs = jit(loss).trace(W, X), jax.jit(loss_in_jax).trace(W, X)
    assert len(ours.in_tree.children()[0].children()) == len(theirs.in_tree.children()[0].children()) == 2
    assert (ours.out_info.shape, ours.out_info.dtype) == (theirs.out_info.shape, theirs.out_info.dtype)
    flat = jax.tree.leaves(theirs.args_info)
    assert [info.shape for info in jax.tree.leaves(ours.args_info)] == [info.shape for info in flat]
    assert [info.donated for info in jax.tree.leaves(ours.args_info)] == [info.donated for info in flat]


@pytest.mark.parametrize("transform", [grad, lambda f: vmap(f, in_axes=(None, 0)), calque.jacfwd])
def test_a_transformed_function_compiles_ahead_of_time(transform):
    x = X if transform is grad else X[:, None]
    f = jit(transform(loss))
    assert np.array_equal(f.lower(W, x).compile()(W, x), f(W, x))


def test_eval_shape_of_a_jitted_function_traces_once():
    traces = []
    f = jit(lambda x: traces.append(x) or loss(x, X))
    for _ in range(2):
        assert calque.eval_shape(f, W).shape == f.eval_shape(W).shape == ()
    assert len(traces) == 1
