"""Programs that use equinox, and equinox with optax, as their users write them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest


def data():
    key = jax.random.key(0)
    x = jax.random.normal(key, (64, 2))
    return key, x, jnp.sin(x[:, :1]) * x[:, 1:]


def test_a_network_learns():
    key, x, y = data()
    model = eqx.nn.MLP(2, 1, 16, 2, key=key)
    optimiser = optax.adam(1e-2)
    state = optimiser.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model, state):
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
        updates, state = optimiser.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, loss

    losses = []
    for _ in range(100):
        model, state, loss = step(model, state)
        losses.append(float(loss))
    assert losses[-1] < 0.2 * losses[0]


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda key: eqx.nn.Linear(3, 4, key=key), (3,)),
        (lambda key: eqx.nn.Conv2d(1, 2, 3, key=key), (1, 8, 8)),
        (lambda key: eqx.nn.ConvTranspose1d(1, 2, 3, key=key), (1, 8)),
        (lambda key: eqx.nn.LayerNorm(5), (5,)),
        (lambda key: eqx.nn.RMSNorm(5), (5,)),
        (lambda key: eqx.nn.GroupNorm(2, 4), (4, 3)),
        (lambda key: eqx.nn.MaxPool2d(2, 2), (1, 4, 4)),
        (lambda key: eqx.nn.AvgPool1d(2, 2), (1, 4)),
        (lambda key: eqx.nn.Sequential([eqx.nn.Linear(3, 3, key=key), eqx.nn.Lambda(jax.nn.relu)]), (3,)),
        (lambda key: eqx.nn.PReLU(), (3,)),
    ],
)
def test_a_layer_has_a_result_and_a_derivative(make, shape):
    layer = make(jax.random.key(1))
    x = jax.random.normal(jax.random.key(2), shape)
    value, grads = eqx.filter_value_and_grad(lambda both: jnp.sum(both[0](both[1]) ** 2))((layer, x))
    assert np.isfinite(value)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(grads))
    assert eqx.filter_vmap(layer)(jnp.stack([x, x])).shape[0] == 2


def test_cells_and_attention():
    key = jax.random.key(3)
    cell = eqx.nn.GRUCell(2, 3, key=key)
    final, _ = jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(3), jnp.ones((5, 2)))
    assert final.shape == (3,)
    h, c = eqx.nn.LSTMCell(2, 3, key=key)(jnp.ones(2), (jnp.zeros(3), jnp.zeros(3)))
    assert h.shape == c.shape == (3,)
    attention = eqx.nn.MultiheadAttention(2, 4, key=key)
    assert attention(jnp.ones((3, 4)), jnp.ones((3, 4)), jnp.ones((3, 4))).shape == (3, 4)
    assert eqx.nn.Embedding(7, 2, key=key)(jnp.array(3)).shape == (2,)


def test_dropout_and_state():
    key = jax.random.key(4)
    assert (eqx.nn.Dropout(0.5)(jnp.ones(100), key=key) == 0).any()
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, axis_name="batch", mode="batch")
    out, state = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(jnp.ones((4, 3)), state)
    assert out.shape == (4, 3)


def test_errors_under_jit():
    @eqx.filter_jit
    def checked(x):
        return eqx.error_if(x, x < 0, "must be positive")

    assert float(checked(jnp.array(1.0))) == 1.0
    with pytest.raises(Exception, match="must be positive"):
        checked(jnp.array(-1.0))


def test_filters_and_trees():
    tree = {"w": jnp.ones(2), "name": "layer", "f": jnp.sin}
    arrays, rest = eqx.partition(tree, eqx.is_array)
    assert eqx.tree_equal(eqx.combine(arrays, rest), tree)
    assert eqx.filter_jit(lambda t: t["f"](t["w"]))(tree).shape == (2,)
    assert eqx.tree_at(lambda t: t["w"], tree, jnp.zeros(2))["w"].sum() == 0
    assert eqx.filter_eval_shape(lambda t: t, tree)["w"].shape == (2,)
    closed = eqx.filter_closure_convert(lambda x: x * tree["w"], jnp.ones(2))
    assert closed(jnp.ones(2)).shape == (2,)
    jaxpr, _, _ = eqx.filter_make_jaxpr(lambda x: jnp.sin(x))(1.0)
    assert jaxpr.eqns


def test_derivatives_of_the_user():
    @eqx.filter_custom_vjp
    def double(x):
        return 2 * x

    double.def_fwd(lambda perturbed, x: (2 * x, None))
    double.def_bwd(lambda residuals, g, perturbed, x: 3 * g)
    assert float(eqx.filter_grad(double)(jnp.array(1.0))) == 3.0
    _, tangent = eqx.filter_jvp(lambda x: x**2, (jnp.array(3.0),), (jnp.array(1.0),))
    assert float(tangent) == 6.0
    assert eqx.filter_jacrev(lambda x: x**2)(jnp.ones(2)).shape == (2, 2)
    assert float(eqx.filter_hessian(lambda x: x**3)(jnp.array(2.0))) == 12.0


def test_loops():
    f = lambda x, kind: eqx.internal.while_loop(
        lambda s: s[1] < 4, lambda s: (s[0] * x, s[1] + 1), (x, 0), max_steps=8, kind=kind
    )[0]
    for kind in ("checkpointed", "bounded"):
        assert abs(float(jax.grad(f)(jnp.array(1.5), kind)) - 5 * 1.5**4) < 1e-3
