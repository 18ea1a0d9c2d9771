"""Classes of bugs, continued: caches, memory, pytrees and the compiler, each with a link to a report."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest
from agreement import assert_same

from calque_autodiff import grad
from calque_batching import vmap
from calque_core import Primitive, ShapedArray, config, lax, make_jaxpr
from calque_pytree import tree_flatten, tree_structure
from calque_xla_backend import Array, device_put, jit

X = np.array([0.5, -1.0, 2.0])

# Caches


def test_a_setting_is_part_of_the_key():
    # https://github.com/jax-ml/jax/issues/40609, https://github.com/jax-ml/jax/pull/1946
    @jit
    def fun(x):
        return x * 2, lax.full((2,), 1.0)

    dtypes = lambda: [str(x.dtype) for x in fun(X)]
    assert dtypes() == ["float64", "float64"]
    with config.default_dtype_bits(32):
        assert dtypes() == ["float64", "float32"]
    with config.enable_x64(False):
        assert dtypes() == ["float32", "float32"]
    assert dtypes() == ["float64", "float64"]


def test_a_replaced_rule_is_part_of_the_key():
    # https://github.com/jax-ml/jax/issues/12542
    scaled_p = Primitive("scaled")
    scaled_p.def_abstract_eval(lambda aval: ShapedArray(aval.shape, aval.dtype))
    scaled_p.def_rule("decomposition", lambda x: lax.mul(x, 2.0))
    function = jit(lambda x: scaled_p.bind(x))
    derivative = jit(grad(lambda x: scaled_p.bind(x)))
    assert (float(function(1.0)), float(derivative(1.0))) == (2.0, 2.0)
    scaled_p.def_rule("decomposition", lambda x: lax.mul(x, 3.0), override=True)
    assert (float(function(1.0)), float(derivative(1.0))) == (3.0, 3.0)


def test_a_result_that_the_user_changes_does_not_change_the_next_one():
    # https://github.com/jax-ml/jax/issues/38460
    function = jit(lambda x: {"a": [x]})
    out = function(X)
    out["a"].append(1)
    out["b"] = 2
    assert function(X).keys() == {"a"}
    assert len(function(X)["a"]) == 1


def test_the_axis_of_an_enclosing_vmap_is_part_of_the_key():
    # https://github.com/jax-ml/jax/pull/1770
    function = jit(lambda x: x / lax.axis_size("i"))
    mapped = lambda n: vmap(function, axis_name="i")(np.ones(n)).tolist()
    assert mapped(2) == [0.5, 0.5]
    assert mapped(4) == [0.25] * 4


def test_equal_static_arguments_of_different_types_are_different():
    # https://github.com/jax-ml/jax/issues/9273
    function = jit(lambda x, n: x * n, static_argnums=1)
    x = np.array([1, 2], np.int32)
    found = [function(x, n).dtype for n in (1, 1.0, True, np.int8(1))]
    assert found[:3] == [(x * n).dtype for n in (1, 1.0, True)]
    assert function(x, 1).dtype == np.int32


def test_a_static_argument_that_is_changed_and_hashes_anew_is_traced_anew():
    # https://github.com/jax-ml/jax/issues/13992
    function = jit(lambda x, names: x * len(names), static_argnums=1)
    assert float(function(2.0, ("a",))) == 2.0
    assert float(function(2.0, ("a", "b"))) == 4.0
    with pytest.raises(TypeError, match="hash"):
        function(2.0, ["a"])


@pytest.mark.parametrize(
    "transform",
    [jit, lambda f: jit(grad(f)), lambda f: grad(jit(f)), lambda f: vmap(jit(f)), lambda f: grad(jit(jit(f)))],
)
def test_a_function_and_what_it_closes_over_are_freed(transform):
    # https://github.com/jax-ml/jax/issues/29803, https://github.com/jax-ml/jax/issues/12719
    class Model:
        pass

    def run():
        model = Model()
        model.w = np.ones(3)

        def fun(x):
            return (x * model.w).sum() if np.ndim(x) else x * model.w[0]

        transform(fun)(np.ones(3))
        return weakref.ref(model), weakref.ref(fun)

    references = run()
    gc.collect()
    assert [r() for r in references] == [None, None]


# Memory


def test_host_memory_is_not_aliased():
    # https://github.com/jax-ml/jax/issues/37830
    for dtype in (np.float32, np.float64, np.int32):
        x = np.zeros(64, dtype)  # aligned, which is when sharing would be possible
        kept = [device_put(x), jit(lambda y: y)(x), jit(lambda y: (y, y + 1))(x)[0]]
        x[:] = 7
        assert all((np.asarray(y) == 0).all() for y in kept)


def test_a_device_array_gives_nobody_writable_memory():
    # https://github.com/jax-ml/jax/issues/37830
    y = device_put(X)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(y)[0] = 1.0


@pytest.mark.filterwarnings("ignore")
def test_an_array_donated_twice_is_an_error_and_no_crash():
    # https://github.com/openxla/xla/issues/22604
    function = jit(lambda x, y: (x + 1, y * 2), donate_argnums=(0, 1))
    x = device_put(np.ones(4))
    for _ in range(2):  # by the general path, and by the fast one
        with pytest.raises(RuntimeError, match="are one array, which is donated"):
            function(x, x)
    y = device_put(np.ones(4))
    function(y, device_put(np.ones(4)))
    with pytest.raises(RuntimeError, match=r"float64\[4\] was used after it was deleted or donated"):
        function(y, y)


# Pytrees


def test_a_cyclic_tree_is_an_error_and_no_crash():
    # https://github.com/jax-ml/jax/issues/15711
    cycle = [1.0]
    cycle.append({"again": cycle})
    for use in (tree_flatten, jit(lambda t: t), grad(lambda t: t[0]), vmap(lambda t: t), make_jaxpr(lambda t: t)):
        with pytest.raises(ValueError, match="contains itself"):
            use(cycle)


def test_a_malformed_treedef_is_an_error_and_no_crash():
    # https://github.com/jax-ml/jax/pull/39658
    treedef = tree_structure({"a": [1, 2]})
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    restore, (nodes,) = treedef.__reduce__()
    assert restore(nodes) == treedef
    for damaged in (nodes[:-1], (*nodes, None), ((list, 10**12, None), *nodes), ((int, 1, None), None), None):
        with pytest.raises(ValueError, match="pickled PyTreeDef"):
            restore(damaged)


# The compiler


def test_the_compiler_does_not_change_values_at_the_edges():
    # https://github.com/jax-ml/jax/issues/33479, https://github.com/jax-ml/jax/issues/39264
    # Not every law of floats survives: XLA turns (x + c) - c into x, for whoever calls it.
    # Subnormal numbers are left out: XLA's CPU code flushes them to zero.
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3e-308, 1e308, -1e308])
    with np.errstate(all="ignore"):
        for fun in (
            lambda x: x - x,
            lambda x: x * 0.0,
            lambda x: x / x,
            lambda x: lax.max(x, 0.0),
            lambda x: lax.min(0.0, x),
            lambda x: lax.select(x == x, x, lax.zeros_like(x)),
            lambda x: lax.sign(x),
            lambda x: lax.sqrt(x),
            lambda x: lax.neg(lax.neg(x)),
            lambda x: lax.floor(x),
            lambda x: lax.sort(x),
        ):
            got, want = np.asarray(jit(fun)(edges)), fun(edges)
            np.testing.assert_array_equal(got, want)
            is_number = want == want
            np.testing.assert_array_equal(np.signbit(got[is_number]), np.signbit(want[is_number]))


def test_a_constant_function_of_no_arguments_compiles():
    # https://github.com/jax-ml/jax/issues/37919
    assert float(jit(lambda: lax.sin(1.0))()) == pytest.approx(np.sin(1.0), rel=1e-15)
    assert isinstance(jit(lambda: 2.0)(), Array)
    assert_same(jit(lambda: np.zeros((0, 3)))(), np.zeros((0, 3)))
