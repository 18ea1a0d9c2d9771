"""Modules of jax that flax, haiku, numpyro and distrax import beside the public ones."""

import jax
import jax.extend.linear_util as lu
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.fft
from jax import core
from jax.example_libraries import optimizers, stax
from jax.experimental import hijax, layout, sparse
from jax.interpreters import partial_eval as pe
from jax.scipy import fft

import calque_as_jax

KEY = jax.random.PRNGKey(0)
X = np.array([[0.5, -1.0, 2.0, 0.25], [1.5, 0.0, -0.5, 3.0]], np.float32)


@pytest.mark.parametrize(
    "make",
    [
        lambda: optimizers.sgd(0.1), lambda: optimizers.momentum(0.05, 0.8), lambda: optimizers.nesterov(0.05, 0.8),
        lambda: optimizers.adagrad(0.5), lambda: optimizers.rmsprop(optimizers.exponential_decay(0.1, 20, 0.5)),
        lambda: optimizers.rmsprop_momentum(0.01), lambda: optimizers.adam(0.1), lambda: optimizers.adamax(0.1),
        lambda: optimizers.sm3(0.5), lambda: optimizers.sgd(optimizers.piecewise_constant([50], [0.1, 0.01])),
    ],
)  # fmt: skip
def test_an_optimizer_finds_the_minimum_of_a_parabola(make):
    init, update, params = make()
    target = {"a": jnp.asarray(X), "b": jnp.float32(2.0)}
    loss = lambda tree: sum(jnp.sum((tree[name] - target[name]) ** 2) for name in tree)
    step = jax.jit(lambda i, state: update(i, jax.grad(loss)(params(state)), state))
    state = init(jax.tree.map(jnp.zeros_like, target))
    for i in range(200):
        state = step(i, state)
    assert float(loss(params(state))) < 0.01


def test_the_first_step_of_adam_has_the_step_size_and_other_gradients_are_refused():
    init, update, params = optimizers.adam(0.1)
    moved = params(update(0, {"x": jnp.array([3.0, -7.0])}, init({"x": jnp.zeros(2)})))
    np.testing.assert_allclose(moved["x"], [-0.1, 0.1], rtol=1e-4)
    with pytest.raises(TypeError, match="Use one structure"):
        update(0, [1.0, 2.0], init({"x": 1.0}))
    clipped = optimizers.clip_grads({"x": jnp.array([3.0, 4.0])}, 1.0)
    np.testing.assert_allclose(optimizers.l2_norm(clipped), 1.0, rtol=1e-6)


def test_layers_of_stax_join_and_their_shapes_are_those_of_their_results():
    init, apply = stax.serial(
        stax.Dense(3), stax.Tanh, stax.FanOut(2), stax.parallel(stax.Dense(2), stax.Identity), stax.FanInConcat(),
        stax.Dropout(0.5, mode="test"), stax.shape_dependent(lambda shape: stax.Dense(shape[-1])), stax.Softmax,
    )  # fmt: skip
    shape, params = init(KEY, (-1, 4))
    out = jax.jit(apply)(params, X)
    assert shape == (-1, 5)
    assert out.shape == (2, 5)
    np.testing.assert_allclose(out.sum(axis=1), 1.0, rtol=1e-5)
    with pytest.raises(ValueError, match=r"Call apply_fun\(params, inputs, rng=key\)"):
        stax.Dropout(0.5)[1]((), X)


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize(("n", "axis"), [(None, -1), (5, 0), (3, 1), (1, 0)])
def test_cosine_transforms_are_those_of_scipy(norm, n, axis):
    for name in ("dct", "idct"):
        np.testing.assert_allclose(
            getattr(fft, name)(X, n=n, axis=axis, norm=norm),
            getattr(scipy.fft, name)(X, n=n, axis=axis, norm=norm), rtol=1e-4, atol=1e-5,
        )  # fmt: skip
    np.testing.assert_allclose(fft.idctn(fft.dctn(X, norm=norm), norm=norm), X, rtol=1e-5, atol=1e-6)
    with pytest.raises(NotImplementedError, match="Use type=2"):
        fft.dct(X, type=3)


def test_partial_evaluation_computes_known_values_and_records_the_rest():
    f = lu.wrap_init(lambda x, y: [jnp.sin(x), x * y, jax.nn.relu(x)])
    unknown = pe.PartialVal.unknown(core.ShapedArray((3,), jnp.float32))
    jaxpr, outs, _ = pe.trace_to_jaxpr_nounits(f, [pe.PartialVal.known(2.0), unknown])
    assert [out.is_known() for out in outs] == [True, False, True]
    np.testing.assert_allclose(outs[0].value, np.sin(2.0), rtol=1e-6)
    assert outs[1].get_aval().shape == (3,)
    assert len(jaxpr.eqns) == 1


def test_a_wrapped_function_takes_leaves_and_gives_the_structure_of_its_results():
    leaves, tree = jax.tree.flatten((({"a": 1, "b": 2},), {"scale": 3}))
    flat, out_tree = jax.api_util.flatten_fun(lu.wrap_init(lambda x, scale: {"sum": scale * (x["a"] + x["b"])}), tree)
    assert flat.call_wrapped(*leaves) == [9]
    assert out_tree().unflatten([9]) == {"sum": 9}


def test_operators_in_place_rebind_the_name_as_jax_does():
    def f(x):
        y = x
        y *= 2.0
        return jnp.sum(x * y)

    np.testing.assert_allclose(jax.jit(jax.grad(f))(jnp.ones(2)), [4.0, 4.0])
    calque_as_jax.uninstall()
    try:
        assert not hasattr(jnp.ones(2).aval, "sharding")
    finally:
        calque_as_jax.install()


def test_values_with_jax_array_a_size_as_shape_and_a_list_of_axes():
    class Boxed:
        def __jax_array__(self):
            return jnp.asarray(X)

    np.testing.assert_allclose(jnp.mean(Boxed(), axis=[0, 1]), X.mean(), rtol=1e-6)
    np.testing.assert_allclose(jnp.var(X, [0]), X.var(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(jax.random.normal(KEY, 3), jax.random.normal(KEY, (3,)))
    assert jax.sharding.get_abstract_mesh().empty


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hijax.HiPrimitive("box").bind(1.0), "Leave flax_hijax_variable unset"),
        (lambda: layout.Format("C"), "Leave it out"),
        (lambda: sparse.BCOO(X), "A sparse operator is a function"),
        (lambda: core.ShapedArray((2,), jnp.float32, sharding="x"), "Leave these options out"),
        (lambda: jnp.einsum("i,i", X[0], X[0], _dot_general=max), "Leave it out, or write the products"),
        (lambda: jnp.einsum("i,i", X[0], X[0], out_sharding="x"), "with_sharding_constraint"),
    ],
)
def test_options_that_have_no_meaning_here_are_refused(call, words):
    with pytest.raises(NotImplementedError, match=words):
        call()
