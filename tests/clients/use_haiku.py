"""Programs that use haiku as it is: `pytest -p calque_as_jax`, or with jax."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

KEY = jax.random.PRNGKey(0)
X = jax.random.normal(KEY, (16, 4))
Y = jnp.sin(X.sum(axis=1, keepdims=True))


def test_a_network_learns_with_adam():
    net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([16, 1])(x)))
    params, optimizer = net.init(KEY, X), optax.adam(1e-2)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        loss, gradient = jax.value_and_grad(lambda p: jnp.mean((net.apply(p, X) - Y) ** 2))(params)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state, loss

    losses = []
    for _ in range(150):
        params, state, loss = step(params, state)
        losses.append(float(loss))
    assert losses[-1] < 0.2 * losses[0]
    assert set(params) == {"mlp/~/linear_0", "mlp/~/linear_1"}


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda x: hk.Conv2D(3, 3)(x), (2, 8, 8, 3)), (lambda x: hk.Conv1DTranspose(3, 3)(x), (2, 8, 3)),
        (lambda x: hk.LayerNorm(-1, True, True)(x), (2, 6)), (lambda x: hk.RMSNorm(-1)(x), (2, 6)),
        (lambda x: hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling())(x, x, x), (2, 5, 8)),
        (lambda x: hk.dynamic_unroll(hk.LSTM(4), x, hk.LSTM(4).initial_state(2))[0], (5, 2, 3)),
        (lambda x: hk.dynamic_unroll(hk.GRU(4), x, hk.GRU(4).initial_state(2))[0], (5, 2, 3)),
        (lambda x: hk.avg_pool(hk.Linear(3)(x), (1, 2, 2, 1), (1, 2, 2, 1), "SAME"), (2, 6, 6, 3)),
    ],
)  # fmt: skip
def test_a_layer_has_a_gradient(layer, shape):
    net = hk.without_apply_rng(hk.transform(layer))
    x = jax.random.normal(KEY, shape)
    params = net.init(KEY, x)
    gradient = jax.jit(jax.grad(lambda p: jnp.sum(net.apply(p, x) ** 2)))(params)
    leaves = jax.tree.leaves(gradient)
    assert leaves
    assert all(np.isfinite(leaf).all() for leaf in leaves)


def test_batch_norm_keeps_its_state():
    net = hk.without_apply_rng(hk.transform_with_state(lambda x: hk.BatchNorm(True, True, 0.9)(x, is_training=True)))
    params, state = net.init(KEY, X)
    _, state = net.apply(params, state, X)
    np.testing.assert_allclose(state["batch_norm/~/mean_ema"]["average"], X.mean(axis=0)[None], rtol=1e-4, atol=1e-6)


def test_loops_and_branches_of_haiku_take_parameters_of_the_function():
    def function(x):
        layer = hk.Linear(4)
        x = hk.fori_loop(0, 3, lambda _, x: jnp.tanh(layer(x)), x) if not hk.running_init() else layer(x)
        x = hk.cond(x.sum() > 0, layer, lambda x: x, x)
        return hk.scan(lambda c, x: (c + layer(x), None), jnp.zeros(4), x)[0]

    net = hk.transform(function)
    params = net.init(KEY, X)
    assert jax.jit(net.apply)(params, KEY, X).shape == (4,)


def test_random_keys_and_grad_in_a_transformed_function():
    def function(x):
        noise = jax.random.normal(hk.next_rng_key(), x.shape)
        layer = hk.Linear(1)
        return hk.grad(lambda x: layer(x).sum())(x + noise) + hk.vmap(layer, split_rng=False)(x)

    net = hk.transform(function)
    params = net.init(KEY, X)
    np.testing.assert_array_equal(net.apply(params, KEY, X), net.apply(params, KEY, X))


def test_a_stack_of_layers_and_the_shapes_of_its_parameters():
    net = hk.transform(lambda x: hk.experimental.layer_stack(3)(lambda x: jnp.tanh(hk.Linear(4)(x)))(x))
    params = jax.eval_shape(net.init, KEY, X)
    assert [leaf.shape for leaf in jax.tree.leaves(params)] == [(3, 4), (3, 4, 4)]
    assert "Linear" in hk.experimental.tabulate(net)(X)
