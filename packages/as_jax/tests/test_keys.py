"""Typed keys, as in jax: leaves of pytrees, and operands of every transformation."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from calque_core import config

KEY = jax.random.key(0)
KEYS = jax.random.split(KEY, 3)


def words(keys):
    return np.asarray(jax.random.key_data(keys)).tolist()


def test_a_key_is_one_leaf():
    assert jax.tree.leaves({"key": KEY, "x": 1.0}) == [KEY, 1.0]
    assert jax.tree.map(lambda x: x.shape, {"keys": KEYS}) == {"keys": (3,)}
    assert isinstance(KEY, jax.Array)
    assert words(copy.deepcopy(KEY)) == words(pickle.loads(pickle.dumps(KEY))) == words(KEY)


def test_a_key_has_a_dtype_and_a_type():
    aval = jax.typeof(KEYS)
    assert (aval.shape, aval.ndim, str(aval.dtype), str(aval)) == ((3,), 1, "key<fry>", "key<fry>[3]")
    assert aval.dtype == KEY.dtype == jax.jit(lambda k: k)(KEY).dtype
    assert jax.dtypes.issubdtype(KEY.dtype, jax.dtypes.prng_key)
    assert not jnp.issubdtype(KEY.dtype, jnp.floating)
    assert aval.to_tangent_aval().dtype == jax.dtypes.float0
    assert repr(KEY) == "Array((), dtype=key<fry>) overlaying:\n[0 0]"
    assert jax.random.key_impl(KEY) == "threefry2x32"
    assert words(jax.random.clone(KEY)) == words(KEY)


def test_a_key_has_a_stand_in():
    struct = jax.eval_shape(jax.random.split, jax.ShapeDtypeStruct((), KEY.dtype))
    assert isinstance(struct, jax.ShapeDtypeStruct)
    assert (struct.shape, struct.dtype) == ((2,), KEY.dtype)
    assert jax.make_jaxpr(lambda k: k, return_shape=True)(KEYS)[1].shape == (3,)


@pytest.mark.parametrize(
    "move",
    [
        lambda keys: jnp.stack([keys[0], keys[1]]), lambda keys: np.stack([keys[0], keys[1]]),
        lambda keys: jnp.concatenate([keys, keys]), lambda keys: jnp.where(jnp.arange(3) > 0, keys, keys[::-1]),
        lambda keys: lax.select(jnp.arange(3) > 0, keys, keys[::-1]), lambda keys: keys.at[0].set(keys[1]),
        lambda keys: keys.at[1].get(), lambda keys: keys.reshape(1, 3).T, lambda keys: [*keys][2],
        lambda keys: lax.dynamic_index_in_dim(keys, 1), lambda keys: jnp.broadcast_to(keys[0], (2,)),
        lambda keys: lax.stop_gradient(keys), lambda keys: jnp.take(keys, jnp.array([2, 0]), axis=0),
        lambda keys: jax.random.wrap_key_data(jax.random.key_data(keys)),
    ],
)  # fmt: skip
def test_keys_move_as_their_numbers_do(move):
    moved = move(KEYS)
    assert type(moved) is type(KEY)
    numbered = move(jnp.arange(3)) if "key_data" not in move.__code__.co_names else jnp.arange(3)
    assert words(moved) == words(KEYS[numbered])
    assert words(jax.jit(move)(KEYS)) == words(moved)


def test_keys_are_compared():
    others = KEYS[jnp.array([0, 2, 2])]
    assert jnp.isclose(KEYS, others).tolist() == [True, False, True]
    assert (bool(jnp.allclose(KEYS, KEYS)), bool(jnp.allclose(KEYS, others))) == (True, False)
    assert bool(jax.jit(jnp.allclose)(KEYS, KEYS))
    assert not jnp.allclose(np.ones(2), np.zeros(2))


def test_a_traced_key_is_not_callable():
    called = []
    lax.scan(lambda key, x: (key, called.append(callable(key))), KEY, np.arange(2))
    assert called == [False]


def test_keys_are_operands_of_loops_and_branches():
    step = lambda key, other: (jax.random.split(key)[0], other)
    last, kept = lax.scan(step, KEY, KEYS)
    assert words(kept) == words(KEYS)
    looped = lax.fori_loop(0, 3, lambda _, key: step(key, None)[0], KEY)
    chosen = lax.cond(True, lambda key: looped, lambda key: key, KEY)
    state = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, step(s[1], None)[0]), (0, KEY))
    assert words(last) == words(looped) == words(chosen) == words(state[1])


def test_keys_are_mapped_over():
    numbers = jnp.stack([jax.random.normal(key) for key in KEYS])
    assert jax.vmap(jax.random.normal)(KEYS).tolist() == numbers.tolist() == lax.map(jax.random.normal, KEYS).tolist()
    assert jax.vmap(jax.random.split)(KEYS).shape == (3, 2)
    assert jax.vmap(lambda k: k, in_axes=1)(KEYS.reshape(1, 3)).shape == (3, 1)
    mapped = jax.vmap(lambda go, key: lax.cond(go, lambda k: KEY, lambda k: k, key))(jnp.arange(3) > 1, KEYS)
    assert words(mapped) == words(jnp.stack([KEYS[0], KEYS[1], KEY]))


def test_functions_of_keys_are_differentiated():
    f = lambda x, key: x * jax.random.normal(key)
    slope = float(jax.random.normal(KEY))
    assert float(jax.grad(f)(2.0, KEY)) == slope == float(jax.jit(jax.grad(jax.checkpoint(f)))(2.0, KEY))
    assert jax.vjp(f, 2.0, KEY)[1](1.0)[1].dtype == jax.dtypes.float0


def test_a_program_of_keys_is_compiled_ahead_of_time():
    compiled = jax.jit(jax.random.split).lower(KEY).compile()
    assert words(compiled(KEY)) == words(compiled(KEY)) == words(jax.random.split(KEY))
    assert jax.jit(jax.random.split).lower(jax.ShapeDtypeStruct((), KEY.dtype)).out_info.shape == (2,)


def test_a_key_is_no_number():
    for f in (lambda key: key + 1, jnp.sin, lambda key: lax.add(key, 1)):
        with pytest.raises(TypeError, match="key"):
            f(KEY)
        with pytest.raises(TypeError, match="key"):
            jax.jit(f)(KEY)


def test_a_type_of_keys_names_its_generator():
    key = jax.random.key(0, impl="rbg")
    assert str(jax.typeof(key)) == "key<rbg>[]"
    keys = jax.jit(jax.random.split)(key)
    assert (keys.dtype, keys.shape) == (jax.random.key_dtype("rbg"), (2,))
    np.testing.assert_array_equal(jax.random.key_data(keys), jax.random.key_data(jax.random.split(key)))
    assert keys.dtype != jax.random.key(0).dtype
    with config.default_prng_impl("unsafe_rbg"):
        assert jax.config.jax_default_prng_impl == "unsafe_rbg"
        assert str(jax.random.key(0).dtype) == "key<urbg>"


def test_keys_have_no_other_dtype():
    key = jax.random.key(0)
    for call in (jnp.astype, jax.jit(lambda key, dtype: jnp.astype(key, dtype), static_argnums=1)):
        assert jnp.array_equal(jax.random.key_data(call(key, key.dtype)), jax.random.key_data(key))
    with pytest.raises(TypeError, match="their dtype is key<fry>, not int32"):
        jnp.astype(key, "int32")


def test_a_scan_over_typed_keys_draws_what_one_over_their_words_does():
    walk = lambda x, key: (x + jax.random.normal(key), x)
    typed = jax.lax.scan(walk, 0.0, jax.random.split(jax.random.key(0), 20))
    raw = jax.lax.scan(walk, 0.0, jax.random.split(jax.random.PRNGKey(0), 20))

    assert all(isinstance(x, jax.Array) for x in typed)
    assert [float(x) for x in (typed[0], *typed[1])] == [float(x) for x in (raw[0], *raw[1])]
    _, key = jax.lax.fori_loop(0, 3, lambda i, c: (i, jax.random.split(c[1])[0]), (0, jax.random.key(0)))
    assert isinstance(key, jax.Array)
