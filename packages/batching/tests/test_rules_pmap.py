"""Batches of functions with an element for each device: those of the `shard_map` that they decompose into."""

import numpy as np

from calque_batching import vmap
from calque_core import ShapedArray, lax, stage
from calque_core.engine import entered, here
from calque_core.lax import pmap_p

X = np.arange(12.0).reshape(3, 4)


def mapped(f, out_axis=0):
    """Return `pmap` of a function of scalars over four elements."""

    def bound(x):
        with entered(axis_env=(*here().axis_env, ("i", 4))):
            jaxpr = stage(lambda x: [f(x)], [ShapedArray((), "float64")])
        axes = {"axis_name": "i", "axis_size": 4, "in_axes": (0,), "out_axes": (out_axis,)}
        return pmap_p.bind(x, call_jaxpr=jaxpr, name="f", devices=None, compiler=None, **axes)[0]

    return bound


def test_a_batch_of_calls_is_one_call_of_batches():
    f = mapped(lambda x: x * lax.psum(x, "i"))
    np.testing.assert_array_equal(vmap(f)(X), X * X.sum(1, keepdims=True))
    np.testing.assert_array_equal(vmap(f, in_axes=1)(X.T), X * X.sum(1, keepdims=True))


def test_elements_may_name_the_axis_of_the_batch():
    f = mapped(lambda x: lax.psum(x, ("i", "batch")), out_axis=None)
    assert vmap(f, axis_name="batch", out_axes=None)(X) == X.sum()


def test_an_unmapped_call_may_name_the_axis_of_the_batch():
    f = mapped(lambda x: x * lax.axis_size("i") + lax.axis_index("batch"))
    out = vmap(lambda _: f(X[0]), axis_name="batch")(np.zeros(3))
    np.testing.assert_array_equal(out, X[0] * 4 + np.arange(3.0)[:, None])
