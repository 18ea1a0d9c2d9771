"""Classes of bugs that systems like this one have had: a reproduction of our own for each, with a link to a report.

The laws cover some of these in general; here each is pinned by itself.
"""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest
from agreement import assert_same

from calque import hessian, jacfwd, jacrev
from calque_autodiff import grad, jvp, linearize, value_and_grad, vjp
from calque_batching import vmap
from calque_core import (
    Primitive,
    ShapedArray,
    config,
    eval_jaxpr,
    float0,
    is_tracer,
    lax,
    make_jaxpr,
    typeof,
)
from calque_pytree import tree_flatten, tree_structure
from calque_xla_backend import Array, device_put, jit

X = np.array([0.5, -1.0, 2.0])


# Shapes of derivatives


def test_the_gradient_with_respect_to_a_scalar_is_a_scalar():
    # https://github.com/jax-ml/jax/issues/6452
    fun = lambda s, x: (lax.exp(s) * x).sum()
    assert np.shape(grad(fun)(0.5, X)) == ()
    assert np.shape(vmap(grad(fun), in_axes=(0, None))(np.ones(2), X)) == (2,)
    assert np.shape(grad(lambda s: vmap(lambda x: s * x)(X).sum())(0.5)) == ()
    assert np.shape(vmap(grad(fun), in_axes=(None, 0), axis_size=2)(0.5, np.ones((2, 3)))) == (2,)
    assert np.shape(grad(jit(fun))(0.5, X)) == ()


# Branches


def test_a_branch_that_ignores_the_batch_gets_its_axis():
    # https://github.com/jax-ml/jax/issues/1263, https://github.com/jax-ml/jax/issues/2264
    fun = lambda p, x: lax.cond(p, lambda y: (y * 2.0, 1.0), lambda y: (lax.zeros_like(y), 2.0), x)
    for predicate in (True, np.array([True, False, True])):
        axes = (0 if np.ndim(predicate) else None, 0)
        outs = vmap(fun, in_axes=axes)(predicate, X)
        assert [np.shape(x) for x in outs] == [(3,), (3,)]
        want = [fun(bool(p), x) for p, x in zip(np.broadcast_to(predicate, 3), X)]
        assert np.stack(want, 1).tolist() == [x.tolist() for x in outs]
    constant = vmap(lambda x: lax.cond(True, lambda y: y, lambda y: np.float64(3.0), x))(X)
    assert constant.tolist() == X.tolist()


def test_the_untaken_branch_does_not_poison_the_gradient():
    # https://github.com/jax-ml/jax/issues/9159, https://github.com/jax-ml/jax/pull/5658
    safe_sqrt = lambda x: lax.cond(x > 0.0, lax.sqrt, lambda y: y * 0.0, x)
    xs = np.array([4.0, 0.0, -1.0])
    for derivative in (grad(safe_sqrt), lambda x: jvp(safe_sqrt, (x,), (1.0,))[1], jit(grad(safe_sqrt))):
        assert np.asarray(vmap(derivative)(xs)).tolist() == [0.25, 0.0, 0.0]
    with np.errstate(invalid="ignore"):  # NumPy notices the infinite derivative of what is thrown away
        assert grad(lambda xs: vmap(safe_sqrt)(xs).sum())(xs).tolist() == [0.25, 0.0, 0.0]


# Tracers kept where they do not belong


def test_a_closure_over_a_tracer_is_read_anew_by_each_call():
    # https://github.com/jax-ml/jax/issues/2912, https://github.com/jax-ml/jax/issues/9374
    @jit
    def scaled(x, factor):
        return jit(lambda y: y * factor)(x)

    assert [float(grad(scaled, argnums=1)(x, 1.0)) for x in (2.0, 5.0)] == [2.0, 5.0]
    assert vmap(grad(scaled), in_axes=(None, 0))(1.0, X).tolist() == X.tolist()


def test_aux_holds_no_tracers():
    # https://github.com/jax-ml/jax/issues/1950
    def fun(x):
        y = lax.sin(x)
        return y.sum(), {"y": y, "nested": jit(lambda z: z * 2.0)(y)}

    for aux in (
        grad(fun, has_aux=True)(X)[1],
        value_and_grad(fun, has_aux=True)(X)[0][1],
        jvp(fun, (X,), (X,), has_aux=True)[2],
        vjp(fun, X, has_aux=True)[2],
        linearize(fun, X, has_aux=True)[2],
        jit(grad(fun, has_aux=True))(X)[1],
    ):
        assert not any(map(is_tracer, tree_flatten(aux)[0]))
        np.testing.assert_allclose(aux["nested"], 2 * np.sin(X), rtol=1e-12)
    aux = vmap(grad(fun, has_aux=True))(np.stack([X, X]))[1]
    assert aux["y"].shape == (2, 3)


# Zeros and integers


def test_a_zero_tangent_never_reaches_an_operation():
    # https://github.com/jax-ml/jax/issues/2657, https://github.com/jax-ml/jax/issues/1179
    def fun(x, y):
        constant = lax.floor(x) + lax.stop_gradient(y)
        return lax.cond(constant[0] > 0, lambda c: c * 2.0, lambda c: c, constant), jit(lambda c: c + 1.0)(constant)

    zeros = [[0.0] * 3] * 2
    for transform in (lambda f: f, jit, lambda f: lambda *xs: eval_jaxpr(make_jaxpr(f)(*xs), [], *xs)):
        out_dots = transform(lambda x, y: jvp(fun, (x, y), (x, y))[1])(X, X)
        assert [np.asarray(t).tolist() for t in out_dots] == zeros
        bars = transform(lambda x, y: vjp(fun, x, y)[1]((x, y)))(X, X)
        assert [np.asarray(t).tolist() for t in bars] == zeros
    assert [x.tolist() for x in linearize(fun, X, X)[1](X, X)] == zeros


def test_integers_have_float0_tangents_under_every_transformation():
    # https://github.com/jax-ml/jax/issues/25724, https://github.com/jax-ml/jax/issues/16000
    def fun(x, n):
        return x * n, n + 1, lax.argmax(x, 0)

    n = np.arange(3)
    void = np.zeros(3, float0)
    _, out_dots = jvp(fun, (X, n), (X, void))
    assert [typeof(t).dtype == float0 for t in out_dots] == [False, True, True]
    bars = vjp(fun, X, n)[1]((X, void, np.zeros((), float0)))
    assert bars[1].dtype == float0
    batched = vmap(lambda x, n: grad(lambda x, n: (x * n).sum(), argnums=(0, 1), allow_int=True)(x, n))
    assert [g.dtype for g in batched(np.stack([X, X]), np.stack([n, n]))] == [np.float64, float0]
    assert jit(lambda x, n: vjp(fun, x, n)[1]((x, void, np.zeros((), float0)))[0])(X, n).tolist() == (X * n).tolist()


@pytest.mark.parametrize("position", [0, 1])
def test_rules_of_several_operands_work_with_a_tangent_in_one(position):
    # https://github.com/jax-ml/jax/issues/1901, https://github.com/jax-ml/jax/issues/32548
    functions = {
        "concatenate": lambda x, y: lax.concatenate([x, y], 0),
        "pad": lambda x, y: lax.pad(x, y[0], ((1, 1, 0),)),
        "select": lambda x, y: lax.select(np.array([True, False, True]), x, y),
        "sort": lambda x, y: lax.sort((x, y))[1],
        "clamp": lambda x, y: lax.clamp(y - 1.0, x, y + 1.0),
        "dot": lax.dot,
        "div": lax.div,
        "cond": lambda x, y: lax.cond(True, lambda a, b: a * b, lambda a, b: a, x, y),
        "jit": jit(lambda x, y: (x * y, y)),
    }
    y = np.array([0.25, 1.0, 3.0])
    for name, fun in functions.items():
        one = lambda z, fun=fun: fun(*[z if i == position else (X, y)[i] for i in (0, 1)])
        dots = tuple(X if i == position else np.zeros(3) for i in (0, 1))
        got, want = jvp(one, ((X, y)[position],), (X,))[1], jvp(fun, (X, y), dots)[1]
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want), err_msg=name)


# Books of residuals and forwarded values


def test_forwarded_arguments_and_residuals_are_not_mixed_up():
    # https://github.com/jax-ml/jax/issues/20267
    @jit
    def inner(a, b, c):
        return c, a * b, a, lax.sin(b), a

    def fun(a, b, c):
        first, second, third, fourth, fifth = inner(a, b, c)
        return first + 10 * second + 100 * third + 1000 * fourth + 10_000 * fifth

    a, b, c = 2.0, 3.0, 5.0
    found = grad(fun, argnums=(0, 1, 2))(a, b, c)
    np.testing.assert_allclose(found, (10 * b + 10_100, 10 * a + 1000 * np.cos(b), 1.0), rtol=1e-13)
    again = jit(grad(jit(fun), argnums=(2, 1, 0)))(a, b, c)
    np.testing.assert_allclose(again, found[::-1], rtol=1e-13)


def test_an_argument_that_no_result_needs_has_a_zero_gradient_through_jit():
    # https://github.com/jax-ml/jax/issues/1082
    fun = jit(lambda x, y, z: (x * 2.0, y))
    assert grad(lambda x, y, z: fun(x, y, z)[0].sum(), argnums=(0, 1, 2))(X, X, X)[1:][1].tolist() == [0.0] * 3


# The same derivative everywhere, at special points too

SPECIAL = {
    "x ** 0": (lambda x: x**0, 0.0, [1.0, 0.0, 0.0]),
    "x ** 1": (lambda x: x**1, 0.0, [0.0, 1.0, 0.0]),
    "x ** 2": (lambda x: x**2, 0.0, [0.0, 0.0, 2.0]),
    "x ** 2.0 at 0": (lambda x: lax.pow(x, 2.0), 0.0, [0.0, 0.0, 2.0]),
    "x ** 3": (lambda x: x**3, 0.0, [0.0, 0.0, 0.0]),
    "square": (lax.square, 0.0, [0.0, 0.0, 2.0]),
    "x * x": (lambda x: x * x, 0.0, [0.0, 0.0, 2.0]),
    "tanh": (lax.tanh, 0.0, [0.0, 1.0, 0.0]),
    "expm1": (lax.expm1, 0.0, [0.0, 1.0, 1.0]),
    "log1p": (lax.log1p, 0.0, [0.0, 1.0, -1.0]),
    "logistic": (lax.logistic, 0.0, [0.5, 0.25, 0.0]),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_derivatives_at_special_points_are_those_of_the_function_in_every_mode(name):
    # https://github.com/jax-ml/jax/issues/18450, https://github.com/jax-ml/jax/issues/40627
    fun, x, (value, first, second) = SPECIAL[name]
    forward = lambda f: lambda x: jvp(f, (x,), (1.0,))[1]
    for transform in (lambda f: f, jit, lambda f: lambda x: vmap(f)(lax.broadcast(x, (1,)))[0]):
        assert float(transform(fun)(x)) == value
        for derivative in (grad, forward):
            assert float(transform(derivative(fun))(x)) == first
            assert float(derivative(transform(fun))(x)) == first
            for outer in (grad, forward):
                assert float(transform(outer(derivative(fun)))(x)) == second
                assert float(outer(transform(derivative(fun)))(x)) == second


def test_forward_and_reverse_jacobians_are_equal_at_ties():
    # https://github.com/jax-ml/jax/issues/10993, https://github.com/jax-ml/jax/issues/9507
    ties = np.array([1.0, 1.0, 0.0])
    for fun in (
        lambda x: lax.max(x, np.ones(3)),
        lambda x: lax.select(x > 0.5, x * 2.0, x),
        lambda x: lax.sort(x),
        lambda x: lax.reduce_max(x) * x,
        lambda x: lax.clamp(0.0, x, 1.0),
        lambda x: lax.abs(x - 1.0),
        lambda x: lax.sort((lax.floor(x), x))[1],
    ):
        np.testing.assert_allclose(jacfwd(fun)(ties), jacrev(fun)(ties), rtol=1e-15)
        assert np.isfinite(jacfwd(fun)(ties)).all()
        np.testing.assert_allclose(jit(jacrev(fun))(ties), jacrev(fun)(ties), rtol=1e-15)


def test_eager_and_compiled_pull_backs_are_equal():
    # https://github.com/jax-ml/jax/issues/39025
    fun = lambda x, y: lax.sort(lax.concatenate([x * y, lax.rev(x, (0,))], 0)) * 2.0
    _, eager = vjp(fun, X, X + 1)
    _, compiled = vjp(jit(fun), X, X + 1)
    cts = np.arange(6.0)
    for a, b in zip(eager(cts), compiled(cts)):
        np.testing.assert_allclose(a, b, rtol=1e-15)


def test_the_hessian_through_jit_is_that_without():
    # https://github.com/jax-ml/jax/issues/757
    fun = lambda x: (lax.exp(x) * lax.sin(x[0])).sum()
    np.testing.assert_allclose(hessian(jit(fun))(X), hessian(fun)(X), rtol=1e-12)
    np.testing.assert_allclose(jit(jacfwd(jacrev(fun)))(X), jacrev(jacfwd(fun))(X), rtol=1e-12)


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
        with pytest.raises(RuntimeError, match="donate the same buffer twice"):
            function(x, x)
    y = device_put(np.ones(4))
    function(y, device_put(np.ones(4)))
    with pytest.raises(RuntimeError, match=r"f64\[4\] was used after it was deleted or donated"):
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
