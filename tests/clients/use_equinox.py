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


def test_parameters_are_saved_and_loaded(tmp_path):
    key = jax.random.key(5)
    model = eqx.nn.MLP(2, 1, 4, 1, key=key)
    eqx.tree_serialise_leaves(tmp_path / "model.eqx", model)
    like = eqx.filter_eval_shape(lambda key: eqx.nn.MLP(2, 1, 4, 1, key=key), key)
    assert eqx.tree_equal(eqx.tree_deserialise_leaves(tmp_path / "model.eqx", like), model)


def test_modules_have_static_fields_methods_and_checks():
    class Scale(eqx.Module):
        factor: jax.Array = eqx.field(converter=jnp.asarray)
        name: str = eqx.field(static=True, default="scale")

        def __check_init__(self):
            if self.factor.ndim:
                raise ValueError("factor has axes")

        @eqx.filter_jit
        def __call__(self, x):
            return self.factor * x

    layer = Scale(2.0)
    assert float(layer(3.0)) == 6.0
    assert len(jax.tree.leaves(layer)) == 1
    assert "Scale(factor=weak_f32[])" in eqx.tree_pformat(layer).replace("\n", "").replace("  ", "")
    assert jax.vmap(layer.__call__)(jnp.ones(3)).shape == (3,)
    with pytest.raises(ValueError, match="factor has axes"):
        Scale(jnp.ones(2))
    with pytest.raises(AttributeError):
        layer.factor = 3.0


def test_an_ensemble_is_made_and_called_at_once():
    make = eqx.filter_vmap(lambda key: eqx.nn.Linear(2, 3, key=key))
    ensemble = make(jax.random.split(jax.random.key(6), 4))
    assert ensemble.weight.shape == (4, 3, 2)
    call = eqx.filter_vmap(lambda model, x: model(x), in_axes=(eqx.if_array(0), None))
    assert call(ensemble, jnp.ones(2)).shape == (4, 3)


def test_layers_are_scanned():
    layers = eqx.filter_vmap(lambda key: eqx.nn.Linear(3, 3, key=key))(jax.random.split(jax.random.key(7), 5))
    arrays, rest = eqx.partition(layers, eqx.is_array)

    @eqx.filter_grad
    def total(arrays, x):
        step = eqx.filter_checkpoint(lambda x, layer: (jnp.tanh(eqx.combine(layer, rest)(x)), None))
        return jax.lax.scan(step, x, arrays)[0].sum()

    assert total(arrays, jnp.ones(3)).weight.shape == (5, 3, 3)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda key: eqx.nn.WeightNorm(eqx.nn.Linear(3, 4, key=key)), (3,)),
        (lambda key: eqx.nn.RotaryPositionalEmbedding(4), (3, 4)),
        (lambda key: eqx.nn.AdaptiveAvgPool2d(2), (1, 6, 6)),
        (lambda key: eqx.nn.Conv3d(1, 1, 2, padding=1, key=key), (1, 3, 3, 3)),
        (lambda key: eqx.nn.ConvTranspose2d(2, 1, 3, stride=2, key=key), (2, 4, 4)),
        (lambda key: eqx.nn.Conv1d(4, 4, 3, groups=2, padding="SAME", key=key), (4, 6)),
    ],
)
def test_more_layers_have_derivatives(make, shape):
    layer = make(jax.random.key(8))
    grads = eqx.filter_grad(lambda x: jnp.sum(layer(x) ** 2))(jax.random.normal(jax.random.key(9), shape))
    assert grads.shape == shape
    assert np.isfinite(grads).all()


def test_states_are_updated():
    norm, state = eqx.nn.make_with_state(eqx.nn.SpectralNorm)(
        eqx.nn.Linear(3, 2, key=jax.random.key(10)), "weight", key=jax.random.key(11)
    )
    out, _ = eqx.filter_jit(norm)(jnp.ones(3), state)
    assert out.shape == (2,)
    index = eqx.nn.StateIndex(jnp.array(0))
    model, state = eqx.nn.make_with_state(lambda: index)()
    state = eqx.filter_jit(lambda s: s.set(model, s.get(model) + 1))(state)
    assert int(state.get(model)) == 1
    assert eqx.nn.inference_mode(eqx.nn.Dropout(0.5))(jnp.ones(3)).sum() == 3.0


def test_callbacks_donation_and_shapes():
    double = lambda x: eqx.filter_pure_callback(lambda x: np.asarray(x) * 2, x, result_shape_dtypes=x)
    assert float(eqx.filter_jit(double)(jnp.array(2.0))) == 4.0
    assert float(eqx.filter_jit(lambda x: x + 1, donate="all")(jnp.array(1.0))) == 2.0
    traced = eqx.filter_jit(lambda x, n: x * n).lower(jnp.ones(2), 3).compile()
    np.testing.assert_allclose(traced(jnp.ones(2), 3), 3.0)
    assert eqx.is_inexact_array(jnp.ones(1))
    assert eqx.filter(jnp.arange(2), eqx.is_inexact_array) is None


def test_the_user_is_told_which_branch_failed():
    f = eqx.filter_jit(lambda x: eqx.branched_error_if(x, x > 0, jnp.where(x > 5, 1, 0), ["small", "large"]))
    assert float(f(jnp.array(-1.0))) == -1.0
    with pytest.raises(Exception, match="large"):
        f(jnp.array(7.0))


def test_a_schedule_of_optax_with_clipped_gradients():
    key, x, y = data()
    model = eqx.nn.Linear(2, 1, key=key)
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 10, 100)
    chain = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule), optax.ema(0.9))
    state = chain.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state):
        grads = eqx.filter_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
        updates, state = chain.update(grads, state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), state

    for _ in range(5):
        model, state = step(model, state)
    assert np.isfinite(model.weight).all()
