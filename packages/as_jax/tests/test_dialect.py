"""JAX's dialect: what arrays are, which types results have, options that jax takes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.scipy.stats import norm, uniform

import calque


@pytest.mark.parametrize(
    "make",
    [
        lambda: jnp.zeros(3), lambda: jnp.sin(1.0), lambda: jnp.array([1, 2]), lambda: jnp.where(True, 1, -1),
        lambda: jax.random.key(0), lambda: jax.random.PRNGKey(0), lambda: jax.random.normal(jax.random.key(0), (2,)),
        lambda: jax.grad(jnp.sin)(1.0), lambda: jax.vmap(jnp.sin)(np.ones(3)),
        lambda: jax.jvp(jnp.sin, (1.0,), (1.0,))[1],
        lambda: lax.while_loop(lambda i: i < 3, lambda i: i + 1, 0),
        lambda: lax.cond(True, lambda x: x, lambda x: x, 1.0),
        lambda: lax.scan(lambda c, x: (c + x, x), 0.0, jnp.ones(2))[0], lambda: jax.nn.relu(-1.0),
        lambda: jax.nn.initializers.he_normal()(jax.random.key(0), (2, 2)), lambda: jnp.linalg.norm(jnp.ones(2)),
        lambda: jax.scipy.special.gammaln(2.0), lambda: jax.device_put(1), lambda: jnp.asarray(2.0),
        lambda: jax.vjp(jnp.sin, 1.0)[1](1.0)[0], lambda: jax.linearize(jnp.sin, 1.0)[1](1.0),
    ],
)  # fmt: skip
def test_results_are_arrays_on_a_device(make):
    result = make()
    assert isinstance(result, jax.Array)
    assert result.block_until_ready() is not None
    assert not isinstance(np.ones(2), jax.Array)


def test_tracers_are_arrays():
    seen = []
    f = lambda x: seen.append(isinstance(x, jax.Array)) or x
    jax.jit(f)(1.0), jax.grad(f)(1.0), jax.vmap(f)(np.ones(2))
    assert seen == [True, True, True]
    assert issubclass(type(jnp.ones(1)), jax.Array)
    with pytest.raises(TypeError, match=r"Use jnp.asarray"):
        jax.Array()


def test_calque_itself_keeps_its_own_dialect():
    assert type(calque.numpy.zeros(3)) is np.ndarray
    assert type(calque.grad(np.sin)(1.0)) in (np.float32, np.float64)


@pytest.mark.parametrize(
    ("f", "dtype"),
    [
        (lambda x: x * jnp.where(True, 1.0, -1.0), "bfloat16"),
        (lambda x: x * jnp.sqrt(4.0), "bfloat16"),
        (lambda x: x * jnp.ones_like(1.0), "bfloat16"),
        (lambda x: x * jnp.asarray(2.0), "bfloat16"),
        (lambda x: x * jnp.asarray(2.0, jnp.float32), "float32"),
        (lambda x: x * jnp.where(True, np.float32(1), -1.0), "float32"),
    ],
)
def test_functions_of_numbers_have_weak_results(f, dtype):
    x = jnp.ones(2, jnp.bfloat16)
    assert f(x).dtype == jax.jit(f)(x).dtype == jax.eval_shape(f, x).dtype == dtype


def test_options_that_are_none_are_left_out():
    x = jnp.ones((2, 3))
    assert jnp.sum(x, axis=0, where=None).shape == (3,)
    assert jnp.zeros((2,), out_sharding=None).shape == (2,)


def test_eval_shape_keeps_types_that_the_function_returns():
    struct = jax.ShapeDtypeStruct((3,), jnp.float32)
    assert jax.eval_shape(lambda x: {"a": struct, "b": x}, 1.0)["a"] is struct


def test_a_number_is_a_predicate():
    assert lax.cond(2, lambda: 1, lambda: 0) == 1
    assert lax.cond(0, lambda: 1, lambda: 0) == 0
    assert jax.jit(lambda n: lax.cond(n, lambda: 1, lambda: 0))(3) == 1


def test_a_primitive_takes_a_second_evaluation():
    twice_p = jax.extend.core.Primitive("twice")
    twice_p.def_impl(lambda x: x)
    twice_p.def_impl(lambda x: 2 * x)
    twice_p.def_abstract_eval(lambda x: x)
    assert twice_p.bind(2.0) == 4.0
    assert twice_p.get_bind_params({"n": 1}) == {"n": 1}
    assert isinstance(lax.add_p, jax.extend.core.Primitive)


def test_pullbacks_are_pytrees():
    _, pullback = jax.vjp(lambda x: x**2, 3.0)
    out = jax.jit(lambda f: f(1.0))(pullback)
    assert float(out[0]) == 6.0


def test_keys_have_a_type():
    assert jax.typeof(jax.random.key(0)) is not None
    assert jnp.issubdtype(jax.random.key(0).dtype, jax.dtypes.prng_key)
    with pytest.raises(ValueError, match="The generators are 'threefry2x32', 'rbg', 'unsafe_rbg'"):
        jax.random.key(0, impl="philox")


def test_a_jaxpr_comes_with_the_types_of_its_results():
    jaxpr, shape = jax.make_jaxpr(lambda x: {"y": x + 1}, return_shape=True)(np.ones(2))
    assert isinstance(jaxpr, jax.extend.core.ClosedJaxpr)
    assert shape["y"].shape == (2,)


def test_an_array_is_saved_and_loaded(tmp_path):
    jnp.save(tmp_path / "x.npy", jnp.arange(3))
    assert isinstance(jnp.load(tmp_path / "x.npy"), jax.Array)


def test_functions_run_without_jit_on_request():
    with jax.disable_jit(disable=True):
        assert jax.jit(lambda x: x if x > 0 else -x)(-1.0) == 1.0


def test_devices_are_counted_and_clients_that_run_are_listed():
    assert jax.device_count("cpu") == jax.local_device_count("cpu") == len(jax.devices("cpu"))
    assert jax._src.xla_bridge._backends["cpu"] is jax.devices("cpu")[0].client


def test_densities_integrate_to_one():
    x = jnp.linspace(-8.0, 8.0, 4001)
    for law in (norm, uniform):
        assert abs(float(jnp.trapezoid(law.pdf(x, 0.5, 1.5), x)) - 1) < 5e-3
        assert abs(float(law.cdf(law.ppf(0.3, 0.5, 1.5), 0.5, 1.5)) - 0.3) < 1e-5


def test_initial_parameters_have_one_size():
    for make in (jax.nn.initializers.normal(), jax.nn.initializers.zeros, jax.nn.initializers.constant(2.0)):
        assert make(jax.random.key(0), 3).shape == make(jax.random.key(0), (3,), np.float32).shape == (3,)
    names = [make.__name__ for make in (jax.nn.initializers.he_normal(), jax.nn.initializers.zeros)]
    assert names == ["init", "zeros"]


def test_a_mesh_has_axes_that_are_divided_automatically():
    kinds = jax.sharding.AxisType
    for make in (jax.make_mesh, jax.sharding.make_mesh):
        assert make((1,), ("x",), axis_types=(kinds.Auto,)).axis_names == ("x",)
        with pytest.raises(NotImplementedError, match=r"Use AxisType.Auto"):
            make((1,), ("x",), axis_types=(kinds.Explicit,))
    mesh = jax.make_mesh((1, 1), ("x", "y"))
    assert mesh.axis_types == (kinds.Auto, kinds.Auto)
    assert (mesh.are_all_axes_auto, mesh.are_all_axes_explicit, mesh.are_all_axes_manual) == (True, False, False)


def test_dtypes_make_arrays():
    assert isinstance(jnp.float32(1), jax.Array)
    assert jax.jit(lambda x: jnp.int32(x))(2.5) == 2
    assert jnp.float32 == np.float32
    assert jnp.bool_.dtype == np.zeros(1, jnp.bool_).dtype
    assert jnp.ones(1).dtype == jnp.float32
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating)


def test_types_hold_no_sharding():
    aval = jax.typeof(jnp.ones(2))
    assert isinstance(aval, jax.core.ShapedArray)
    assert not aval.sharding.mesh.are_all_axes_explicit
    assert jax.random.normal(jax.random.key(0), (2,), out_sharding=aval.sharding).shape == (2,)
    assert jax.typeof(1).to_tangent_aval().dtype == jax.dtypes.float0


def test_an_open_program_outlives_the_trace_of_its_constants():
    kept = []

    def f(x):
        closed = jax.make_jaxpr(lambda y: y * x)(x)
        kept.append(closed.jaxpr)
        return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0]

    assert float(jax.jit(f)(3.0)) == 9.0
    assert float(jax.grad(f)(3.0)) == 6.0
    assert isinstance(kept[0], jax.extend.core.Jaxpr)
    assert jax.core.eval_jaxpr(kept[0], [2.0], 5.0) == [10.0]


def test_a_primitive_with_an_axis_rule_of_jax_is_batched():
    twice_p = jax.extend.core.Primitive("twice_of_axis")
    twice_p.def_impl(lambda x: 2 * x)
    twice_p.def_abstract_eval(lambda x: x)
    sizes = []

    def rule(axis_size, axis_name, trace_type, args, dims):
        sizes.append((axis_size, axis_name))
        return twice_p.bind(*args), dims[0]

    jax.interpreters.batching.axis_primitive_batchers[twice_p] = rule
    assert list(jax.vmap(twice_p.bind, axis_name="i")(np.arange(3))) == [0, 2, 4]
    assert sizes == [(3, "i")]


def test_zeros_of_primals_are_trees():
    zeros = jax.custom_derivatives.zero_from_primal({"x": jnp.ones(2), "n": 1})
    assert zeros["x"].shape == (2,)
    assert zeros["n"].dtype == jax.dtypes.float0


def test_a_tracer_tells_which_jvp_it_belongs_to():
    seen = []

    def f(x):
        main = jax.extend.core.find_top_trace([x]).main
        seen.append(isinstance(x, jax.interpreters.ad.JVPTracer) and x._trace.main is main)
        return x

    jax.jvp(f, (1.0,), (1.0,))
    assert seen == [True]


def test_references_hold_device_arrays_and_have_types_of_their_own():
    ref = jax.new_ref(np.zeros(2), kind=None)
    ref[...] = 3.0
    jax.jit(lambda ref, x: jax.ref.addupdate(ref, 0, x))(ref, 1.0)
    jax.vmap(lambda ref, x: ref.__setitem__(..., ref[...] * x))(ref, jnp.arange(2.0))
    result = jax.freeze(ref)
    assert (isinstance(result, jax.Array), result.dtype, result.tolist()) == (True, "float32", [0.0, 3.0])
    assert isinstance(jax.typeof(ref), jax.ref.AbstractRef)
    assert (isinstance(ref, jax.Ref), isinstance(ref, jax.Array)) == (True, False)
    assert isinstance(jax.empty_ref(jax.ShapeDtypeStruct((2,), "float32"))[...], jax.Array)


def test_a_checkpointed_function_is_traced_where_nothing_else_is():
    seen = []

    @jax.checkpoint
    def f(x, n=2):
        """Its own words."""
        seen.append(isinstance(x, jax.core.Tracer))
        return {"y": jnp.sin(x) * n}

    result = f(np.ones(2), n=3)["y"]
    assert np.allclose(result, 3 * np.sin(1))
    assert isinstance(result, jax.Array)
    assert seen == [True]
    assert (f.__name__, f.__doc__) == ("f", "Its own words.")
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.checkpoint(lambda x: x if x > 0 else -x)(1.0)
    assert jax.checkpoint(lambda x, n: x**n, static_argnums=1)(3.0, 2) == 9.0
    assert jax.checkpoint(jax.random.split)(jax.random.key(0)).shape == (2,)


def test_products_have_the_default_precision_of_jax():
    lowered = lambda **options: jax.jit(lambda x: jnp.matmul(x, x, **options)).lower(np.eye(2)).as_text()
    assert jax.config.jax_default_matmul_precision is None
    assert "HIGH" not in lowered()
    assert "HIGHEST" in lowered(precision=lax.Precision.HIGHEST)
    with jax.default_matmul_precision("highest"):
        assert "HIGHEST" in lowered()
        with jax.default_matmul_precision(None):
            assert "HIGH" not in lowered()
    jax.config.update("jax_default_matmul_precision", "high")
    assert jax.config.jax_default_matmul_precision == "high"
    jax.config.update("jax_default_matmul_precision", None)
    assert [*map(str, lax.Precision)] == ["DEFAULT", "HIGH", "HIGHEST"]


def test_collectives_take_no_groups_as_none():
    mean = lambda x: lax.pmean(x, "i", axis_index_groups=None)
    assert jax.vmap(mean, axis_name="i")(np.array([1.0, 3.0])).tolist() == [2, 2]
    with pytest.raises(TypeError, match="axis_index_groups"):
        jax.vmap(lambda x: lax.pmean(x, "i", axis_index_groups=[[0], [1]]), axis_name="i")(np.ones(2))


def test_a_type_gives_that_of_its_tangents():
    assert jax.typeof(1.0).at_least_vspace() == jax.core.ShapedArray((), "float32")
    assert jax.typeof(1).at_least_vspace().dtype == jax.dtypes.float0


def test_a_product_sums_the_axes_that_its_result_leaves_out():
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    assert jnp.einsum("a...->a", x).tolist() == [66, 210]
    assert jnp.einsum("a...b,b->a", x, np.ones(4)).tolist() == [66, 210]
    assert jnp.einsum("...a -> a ", x).tolist() == jnp.einsum("...a->a", x).tolist() == [60, 66, 72, 78]
    assert jnp.einsum("...a->...", x).shape == (2, 3)


def test_labels_of_a_product_are_any_characters():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    assert jnp.einsum("a1,b1->a b", x, x).tolist() == jnp.einsum("12,32", x, x).tolist() == (x @ x.T).tolist()


@pytest.mark.parametrize("x", [jnp.int64, np.dtype("int32"), "int32", int, 1, np.ones(1, np.int32)])
def test_a_dtype_is_asked_of_a_value_or_of_a_dtype(x):
    assert lax.dtype(x) == np.dtype("int32")


@pytest.mark.parametrize("make", [jnp.ones, lambda n: np.ones(n, np.float32)])
def test_a_donated_argument_that_no_result_can_take_is_told(make):
    with pytest.warns(UserWarning, match=r"^Some donated buffers were not usable: float32\[3\]\."):
        jax.jit(lambda x, y: x.sum() + y, donate_argnums=(0, 1))(make(3), make(2))


def test_a_donated_argument_that_a_result_takes_or_nobody_uses_is_not_told(recwarn):
    jax.jit(lambda x, y: {"x": x["x"] + 1}, donate_argnums=(0, 1))({"x": jnp.ones(3)}, jnp.ones(2))
    assert not recwarn.list


def test_a_jitted_function_tells_how_often_it_was_traced():
    @jax.jit
    def f(x):
        return x + 1

    f(1.0), f(2.0), jax.jit(static_argnums=0)(len)(())
    assert f._cache_size() == 1
    f(1)
    assert f._cache_size() == 2


def test_a_converted_closure_returns_arrays():
    converted, values = jax.closure_convert(lambda x: 2 * x, 1.0)
    assert (isinstance(converted(3.0, *values), jax.Array), values) == (True, [])


@pytest.mark.parametrize("function", [jnp.cumsum, jnp.cumprod])
def test_no_function_drops_the_array_for_its_result(function):
    x, out = jnp.array([2.0, 3.0]), np.zeros(2, np.float32)
    function(x, out=out)
    assert out.tolist() == function(x).tolist()
    with pytest.raises(TypeError, match="out= is not supported"):
        jax.jit(lambda x: function(x, out=out))(x)
    with pytest.raises(TypeError):
        jnp.take(x, 0, out=out)


def test_a_dtype_tells_the_bits_of_an_element():
    assert [jax.dtypes.itemsize_bits(dtype) for dtype in ("int4", "bfloat16", jnp.float32)] == [4, 16, 32]
