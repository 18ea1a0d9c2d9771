"""Classes of bugs that systems like this one have had: a reproduction of our own for each, with a link to a report.

The laws cover some of these in general; here each is pinned by itself.
"""

from __future__ import annotations

import numpy as np
import pytest

from calque import hessian, jacfwd, jacrev
from calque_autodiff import grad, jvp, linearize, value_and_grad, vjp
from calque_batching import vmap
from calque_core import (
    eval_jaxpr,
    float0,
    is_tracer,
    lax,
    make_jaxpr,
    typeof,
)
from calque_pytree import tree_flatten
from calque_xla_backend import jit

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


@pytest.mark.sampled(keep=0.2)
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
