"""Programs that use flax, linen and nnx, as it is: `pytest -p calque_as_jax`, or with jax."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx, serialization
from flax.training import train_state

KEY = jax.random.PRNGKey(0)
X = jax.random.normal(KEY, (16, 4))
Y = jnp.sin(X.sum(axis=1, keepdims=True))


class Net(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x, train=False):
        x = nn.relu(nn.Dense(self.width)(x))
        x = nn.Dropout(0.1, deterministic=not train)(x)
        return nn.Dense(1)(x)


def fit(step, state, steps=200):
    losses = []
    for _ in range(steps):
        state, loss = step(state)
        losses.append(float(loss))
    return losses


def test_a_linen_network_learns_with_adam():
    net = Net()
    params = net.init(KEY, X)["params"]
    state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(1e-2))

    @jax.jit
    def step(state):
        def loss(params):
            return jnp.mean((state.apply_fn({"params": params}, X) - Y) ** 2)

        value, gradient = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradient), value

    losses = fit(step, state)
    assert losses[-1] < 0.2 * losses[0]


def test_a_linen_network_with_dropout_is_random_by_its_key():
    net = Net(width=64)
    variables = net.init(KEY, X)
    run = lambda seed: net.apply(variables, X, train=True, rngs={"dropout": jax.random.PRNGKey(seed)})
    np.testing.assert_array_equal(run(1), run(1))
    assert not np.allclose(run(1), run(2))


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv(3, (3, 3)), (2, 8, 8, 3)), (nn.ConvTranspose(3, (3, 3)), (2, 8, 8, 2)), (nn.LayerNorm(), (2, 6)),
        (nn.GroupNorm(num_groups=2), (2, 6)), (nn.RMSNorm(), (2, 6)), (nn.MultiHeadDotProductAttention(2), (2, 5, 8)),
        (nn.RNN(nn.LSTMCell(4)), (2, 5, 3)), (nn.RNN(nn.GRUCell(4)), (2, 5, 3)), (nn.DenseGeneral((2, 3)), (4, 5)),
    ],
)  # fmt: skip
def test_a_linen_layer_has_a_gradient(layer, shape):
    x = jax.random.normal(KEY, shape)
    variables = layer.init(KEY, x)
    gradient = jax.jit(jax.grad(lambda v: jnp.sum(layer.apply(v, x) ** 2)))(variables)
    leaves = jax.tree.leaves(gradient)
    assert leaves
    assert all(np.isfinite(leaf).all() for leaf in leaves)


def test_batch_norm_updates_its_means():
    layer = nn.BatchNorm(momentum=0.5)
    variables = layer.init(KEY, X, use_running_average=False)
    _, changed = layer.apply(variables, X + 1, use_running_average=False, mutable=["batch_stats"])
    np.testing.assert_allclose(changed["batch_stats"]["mean"], 0.5 * (X + 1).mean(axis=0), rtol=1e-5)


def test_linen_scan_stacks_the_parameters_of_its_steps():
    class Step(nn.Module):
        @nn.compact
        def __call__(self, carry, _):
            return jnp.tanh(nn.Dense(4)(carry)), None

    scanned = nn.scan(Step, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
    variables = scanned().init(KEY, X, None)
    assert variables["params"]["Dense_0"]["kernel"].shape == (3, 4, 4)
    out, _ = scanned().apply(variables, X, None)
    assert out.shape == X.shape


def test_linen_scan_with_shared_parameters_and_vmap():
    class Step(nn.Module):
        @nn.compact
        def __call__(self, carry, x):
            carry = nn.Dense(4)(carry) + x
            return carry, carry

    shared = nn.scan(Step, variable_broadcast="params", split_rngs={"params": False})
    variables = shared().init(KEY, X[0], X)
    assert variables["params"]["Dense_0"]["kernel"].shape == (4, 4)
    mapped = nn.vmap(nn.Dense, in_axes=0, variable_axes={"params": 0}, split_rngs={"params": True})(2)
    assert mapped.init(KEY, X)["params"]["kernel"].shape == (16, 4, 2)


def test_parameters_are_saved_as_bytes():
    variables = Net().init(KEY, X)
    again = serialization.from_bytes(variables, serialization.to_bytes(variables))
    jax.tree.map(np.testing.assert_array_equal, variables, again)


class Perceptron(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(self.dropout(nnx.relu(self.norm(self.hidden(x)))))


def test_an_nnx_network_learns_with_its_optimizer():
    model = Perceptron(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer):
        loss, gradient = nnx.value_and_grad(lambda model: jnp.mean((model(X) - Y) ** 2))(model)
        optimizer.update(model, gradient)
        return loss

    losses = [float(step(model, optimizer)) for _ in range(200)]
    assert losses[-1] < 0.5 * losses[0]


def test_an_nnx_module_splits_into_structure_and_state_and_merges():
    model = Perceptron(nnx.Rngs(0))
    model.eval()
    graph, state = nnx.split(model)
    again = nnx.merge(graph, state)
    np.testing.assert_array_equal(again(X), model(X))
    np.testing.assert_allclose(jax.jit(lambda s: nnx.merge(graph, s)(X))(state), model(X), rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda r: nnx.Conv(3, 4, (3, 3), rngs=r), (2, 8, 8, 3)), (lambda r: nnx.LayerNorm(6, rngs=r), (2, 6)),
        (lambda r: nnx.Embed(5, 3, rngs=r), None), (lambda r: nnx.RNN(nnx.GRUCell(3, 4, rngs=r)), (2, 5, 3)),
        (lambda r: nnx.MultiHeadAttention(2, 8, rngs=r, decode=False), (2, 5, 8)),
    ],
)  # fmt: skip
def test_an_nnx_layer_has_a_gradient(make, shape):
    layer = make(nnx.Rngs(0))
    x = jnp.arange(4) if shape is None else jax.random.normal(KEY, shape)
    gradient = nnx.grad(lambda layer: jnp.sum(layer(x) ** 2))(layer)
    leaves = jax.tree.leaves(gradient)
    assert leaves
    assert all(np.isfinite(leaf).all() for leaf in leaves)


def test_nnx_vmap_and_scan_make_layers_with_an_axis():
    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=0, out_axes=0)
    def make(rngs):
        return nnx.Linear(4, 4, rngs=rngs)

    layers = make(nnx.Rngs(0))
    assert layers.kernel.shape == (3, 4, 4)

    @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
    def apply(x, layer):
        return jnp.tanh(layer(x))

    assert apply(X, layers).shape == X.shape
