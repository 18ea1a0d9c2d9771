"""Classes of bugs, continued: functions with derivative rules of their own, each with a link to a report.

Most rules here are wrong on purpose, by a factor: so it shows which one was used.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from custom_program import with_jvp, with_vjp

from calque import hessian, jacfwd, jacrev
from calque_autodiff import (
    SymbolicZero,
    custom_gradient,
    custom_jvp,
    custom_rules,
    custom_vjp,
    grad,
    jvp,
    linearize,
    vjp,
)
from calque_batching import custom_vmap, vmap
from calque_core import UnexpectedTracerError, float0, is_tracer, lax
from calque_xla_backend import jit

X = np.array([0.5, -1.0, 2.0])


def tripled_jvp(x):
    """Give x, with a derivative of 3."""
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda primals, dots: (f(*primals), 3.0 * dots[0]))
    return f(x)


def tripled_vjp(x):
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (3.0 * ct,))
    return f(x)


each_kind = pytest.mark.parametrize("f", [tripled_jvp, tripled_vjp])


# Rules and batches


@each_kind
def test_a_rule_survives_vmap(f):
    # https://github.com/jax-ml/jax/issues/1249
    total = lambda g: lambda x: g(x).sum()
    assert grad(f)(2.0) == 3.0
    for derivative in (
        vmap(grad(f)),
        grad(total(vmap(f))),
        grad(total(jit(vmap(f)))),
        grad(total(vmap(jit(f)))),
        jit(vmap(grad(f))),
        vmap(jit(grad(f))),
        vmap(grad(lambda x: vmap(f, axis_size=2, in_axes=None)(x)[1])),
        grad(lambda x: vmap(vmap(f))(x[None]).sum()),
    ):
        assert np.asarray(derivative(X)).tolist() == [3.0] * 3


def test_results_and_tangents_may_differ_in_what_is_mapped():
    # https://github.com/jax-ml/jax/issues/5849, https://github.com/jax-ml/jax/pull/4665
    f = custom_jvp(lambda x, y: (lax.sin(x) + 0.0 * y, lax.cos(x)))

    @f.defjvp
    def rule(primals, dots):  # the first tangent never depends on y, the second is a constant
        return f(*primals), (2.0 * dots[0], 1.0)

    over_y = lambda x, ys: vmap(f, in_axes=(None, 0))(x, ys)
    for run in (over_y, jit(over_y)):
        outs, out_dots = jvp(run, (0.5, X), (1.0, X))
        assert [np.shape(x) for x in (*outs, *out_dots)] == [(3,)] * 4
        assert np.asarray(out_dots).tolist() == [[2.0] * 3, [1.0] * 3]
    both = vmap(lambda x, dot: jvp(f, (0.5, x), (dot, x))[1], in_axes=(0, None))(X, 1.0)
    assert np.asarray(both).tolist() == [[2.0] * 3, [1.0] * 3]
    assert grad(lambda x: over_y(x, X)[0].sum())(0.5) == 6.0
    assert np.shape(vmap(grad(lambda x, y: f(x, y)[0]), in_axes=(None, 0))(0.5, X)) == (3,)


def test_vjp_rules_in_scan_in_vmap_in_grad():
    # https://github.com/jax-ml/jax/issues/4173, https://github.com/jax-ml/jax/issues/4521
    def loop(x):
        return lax.scan(lambda c, w: (tripled_vjp(c) * w, c), x, X)[0]

    slope = 27.0 * X.prod()
    np.testing.assert_allclose(grad(loop)(1.0), slope)
    for derivative in (
        vmap(grad(loop)),
        jit(vmap(grad(loop))),
        grad(lambda x: vmap(loop)(x).sum()),
        grad(lambda x: jit(vmap(loop))(x).sum()),
        grad(lambda x: lax.scan(lambda c, w: (vmap(tripled_vjp)(c) * w, None), x, X)[0].sum()),
        grad(lambda x: lax.scan(lambda c, w: (vmap(tripled_vjp)(c) * w, None), x, X, reverse=True)[0].sum()),
    ):
        np.testing.assert_allclose(derivative(X), [slope] * 3)


def test_a_branch_of_a_vjp_rule_under_vmap():
    # https://github.com/jax-ml/jax/issues/5832
    f = custom_vjp(lambda x: lax.cond(x > 0.0, lax.sin, lambda x: 2.0 * x, x))
    f.defvjp(
        lambda x: (f(x), x),
        lambda x, ct: (lax.cond(x > 0.0, lambda x, ct: 3.0 * ct, lambda x, ct: 5.0 * ct, x, ct),),
    )
    for derivative in (vmap(grad(f)), grad(lambda x: vmap(f)(x).sum()), jit(vmap(grad(f))), vmap(jit(grad(f)))):
        assert np.asarray(derivative(X)).tolist() == [3.0, 5.0, 3.0]


@pytest.mark.parametrize("how", [lambda f: f, jit])
def test_a_branch_of_tangents_in_a_jvp_rule_in_a_batch_in_reverse(how):
    # https://github.com/jax-ml/jax/issues/5832
    f = custom_jvp(lambda x: x)
    f.defjvp(
        lambda primals, dots: (f(*primals), lax.cond(primals[0] > 0.0, lambda t: 3.0 * t, lambda t: 5.0 * t, *dots))
    )
    assert np.asarray(vmap(grad(f))(X)).tolist() == [3.0, 5.0, 3.0]
    assert np.asarray(jvp(vmap(f), (X,), (np.ones(3),))[1]).tolist() == [3.0, 5.0, 3.0]
    assert np.asarray(grad(lambda x: how(vmap(f))(x).sum())(X)).tolist() == [3.0, 5.0, 3.0]


def test_a_vjp_rule_around_a_batching_rule():
    # https://github.com/jax-ml/jax/issues/14150
    doubled = custom_rules(lambda x: lax.sin(x))  # twice as large under vmap
    doubled.def_batch(lambda size, in_batched, x: (2.0 * lax.sin(x), True))
    f = custom_vjp(lambda x: doubled(x))
    f.defvjp(lambda x: (doubled(x), x), lambda x, ct: (3.0 * doubled(x) * ct,))
    assert f(0.5) == np.sin(0.5)
    np.testing.assert_allclose(grad(f)(0.5), 3.0 * np.sin(0.5), rtol=1e-14)
    np.testing.assert_allclose(vmap(f)(X), 2.0 * np.sin(X), rtol=1e-14)
    total = lambda x: vmap(f)(x).sum()
    for derivative in (vmap(grad(f)), grad(total), jit(vmap(grad(f))), grad(jit(total)), vmap(jit(grad(f)))):
        np.testing.assert_allclose(derivative(X), 6.0 * np.sin(X), rtol=1e-14)


# Tracers kept where they do not belong


def scaled(x, scale):
    """Apply a function that closes over `scale` in function and rule, and a static one that does."""
    f = custom_jvp(lambda y: y * scale)
    f.defjvp(lambda primals, dots: (f(*primals), 3.0 * scale * dots[0]))

    @partial(custom_vjp, nondiff_argnums=(0,))
    def apply(fun, y):
        return fun(y)

    apply.defvjp(lambda fun, y: (apply(fun, y), None), lambda fun, _, ct: (3.0 * fun(ct),))
    return f(x) + apply(lambda y: y * scale, x)


def test_what_a_rule_closes_over_is_read_anew_by_each_call():
    # https://github.com/jax-ml/jax/issues/2912, https://github.com/jax-ml/jax/issues/9374
    # https://github.com/jax-ml/jax/issues/20889, https://github.com/jax-ml/jax/issues/23065
    compiled, derivative = jit(scaled), jit(grad(scaled))
    for scale in (1.0, 2.0):
        for slope in (grad(scaled), grad(compiled), derivative):
            assert slope(1.0, scale) == 6.0 * scale
        in_scan = lambda x, s=scale: lax.scan(lambda c, _: (scaled(c, s), None), x, None, length=2)[0]
        assert grad(in_scan)(1.0) == jit(grad(in_scan))(1.0) == (6.0 * scale) ** 2
        in_cond = lambda x, s=scale: lax.cond(s > 0, lambda: scaled(x, s), lambda: x)
        assert grad(in_cond)(1.0) == grad(jit(in_cond))(1.0) == 6.0 * scale
    for mapped in (vmap(grad(scaled)), jit(vmap(grad(scaled))), vmap(jit(grad(scaled))), vmap(grad(compiled))):
        np.testing.assert_allclose(mapped(np.ones(3), X), 6.0 * X)
    outer = lambda x, s: vmap(scaled)(x, s).sum()
    for total in (outer, jit(outer), lambda x, s: jit(vmap(compiled))(x, s).sum()):
        np.testing.assert_allclose(grad(total)(np.ones(3), X), 6.0 * X)


def test_a_variable_of_a_closure_may_be_assigned_anew():
    # https://github.com/jax-ml/jax/issues/20889
    def fun(x, a, b):
        scale = a
        f = custom_jvp(lambda y: y * scale)
        f.defjvp(lambda primals, dots: (f(*primals), scale * dots[0]))
        y = f(x)
        scale = b
        return y + f(x)

    ones = np.ones(2)
    for derivative in (grad(fun), jit(grad(fun)), grad(jit(fun))):
        assert derivative(1.0, 2.0, 3.0) == 5.0
    assert vmap(grad(jit(fun)))(ones, 2.0 * ones, 3.0 * ones).tolist() == [5.0, 5.0]


@pytest.mark.parametrize("how", [lambda f: f, lambda f: lambda x: lax.cond(x > 0, f, f, x)])
def test_a_number_of_a_closure_may_be_assigned_anew(how):
    def fun(x, y):
        scale = 2.0
        f = custom_jvp(lambda x: x * scale * y)
        f.defjvp(lambda primals, dots: (f(*primals), scale * y * dots[0]))
        first = how(f)(x)
        scale = 3.0
        return first + how(f)(x)

    assert fun(1.0, 10.0) == jit(fun)(1.0, 10.0) == 50.0
    assert grad(jit(fun))(1.0, 10.0) == 50.0


def test_a_rule_may_note_its_arguments_in_a_list():
    # https://github.com/jax-ml/jax/issues/20889
    noted = []
    f = custom_jvp(lambda x, y: x * y)

    @f.defjvp
    def rule(primals, dots):
        noted.append(primals)
        return f(*primals), 3.0 * primals[1] * dots[0]

    for _ in range(2):
        assert grad(jit(f))(1.0, 2.0) == jit(grad(f))(1.0, 2.0) == 6.0
        assert jit(grad(grad(lambda x: f(x, x) * x)))(1.0) == jit(grad(grad(lambda x: f(x, x) * x)))(1.0)
    assert noted


@pytest.mark.parametrize("how", [lambda f: f, jit, lambda f: jit(jit(f)), lambda f: lambda *xs: jit(f)(*xs) * 1.0])
def test_a_derivative_of_what_a_rule_closes_over_is_refused(how):
    # https://github.com/jax-ml/jax/issues/9374
    with pytest.raises(UnexpectedTracerError, match=r"closes over a value that is being differentiated.*argument"):
        grad(how(scaled), argnums=1)(1.0, 2.0)
    stopped = lambda x, s: scaled(x, lax.stop_gradient(s))
    assert grad(how(stopped), argnums=(0, 1))(1.0, 2.0) == (12.0, 0.0)


@pytest.mark.parametrize("jvp_rule", [None, "fwd"])
def test_a_linear_function_outlives_the_closure_of_its_rules(jvp_rule):
    # https://github.com/jax-ml/jax/issues/23065
    def fun(x, n):
        scale = lax.convert_element_type(n, x.dtype)
        f = custom_vjp(lambda y: y * scale)
        f.defvjp(lambda y: (y * scale, None), lambda _, ct: (3.0 * scale * ct,), jvp=jvp_rule)
        return f(x)

    pulled = lambda x, n: vjp(lambda y: fun(y, n), x)[1](1.0)[0]
    ns = np.arange(3)
    assert (
        np.asarray(jit(vmap(pulled))(X, ns)).tolist()
        == np.asarray(vmap(jit(pulled))(X, ns)).tolist()
        == [0.0, 3.0, 6.0]
    )
    if jvp_rule is None:
        return
    pushed = lambda x, n: linearize(lambda y: fun(y, n), x)[1](1.0)
    for run in (vmap(pushed), jit(vmap(pushed)), vmap(jit(pushed))):
        assert np.asarray(run(X, ns)).tolist() == [0.0, 1.0, 2.0]


def test_a_function_made_of_another_one_with_rules_is_not_that_one():
    # https://github.com/jax-ml/jax/issues/1249
    inner = with_jvp(lambda row: lax.sin(row).sum(), 2.0)
    for wrapped in (vmap(inner), jit(vmap(inner)), with_vjp(vmap(inner), 1.0)):
        outer = custom_jvp(wrapped)
        outer.defjvp(lambda primals, dots: (outer(*primals), 3.0 * dots[0].sum(axis=1)))  # noqa: B023
        assert np.shape(outer(np.ones((2, 3)))) == (2,)
        assert np.asarray(grad(lambda x: outer(x).sum())(np.ones((2, 3)))).tolist() == [[3.0] * 3] * 2  # noqa: B023


# Zeros


def test_rules_meet_arrays_of_zeros_unless_they_ask_for_symbols():
    # https://github.com/jax-ml/jax/issues/2657, https://github.com/jax-ml/jax/issues/1179
    f = custom_jvp(lambda x, y, n: (x * y, y, n))

    @f.defjvp
    def rule(primals, dots):
        assert all(is_tracer(t) or isinstance(t, (np.ndarray, np.generic, float)) for t in dots), dots
        return f(*primals), (3.0 * (primals[1] * dots[0] + primals[0] * dots[1]), dots[1], dots[2])

    g = custom_vjp(lambda x, y, n: (x * y, y, n))

    def bwd(kept, cts):
        assert all(is_tracer(t) or isinstance(t, (np.ndarray, np.generic, float)) for t in cts), cts
        return 3.0 * kept[1] * cts[0], 3.0 * kept[0] * cts[0] + cts[1], None

    g.defvjp(lambda x, y, n: (g(x, y, n), (x, y)), bwd)
    for fun in (f, g):
        for result, want in ((0, (6.0, 3.0)), (1, (0.0, 1.0))):
            chosen = lambda x, y, fun=fun, result=result: fun(x, y, 3)[result]
            for run in (chosen, jit(chosen), lambda x, y: vmap(chosen, axis_size=1)(x[None], y[None])[0]):  # noqa: B023
                for first in (lambda f: f, jit):
                    derivative = first(grad(run, argnums=(0, 1)))
                    assert tuple(map(float, derivative(np.float64(1.0), np.float64(2.0)))) == want


def test_zeros_that_rules_give_reach_nobody():
    # https://github.com/jax-ml/jax/issues/28144
    f = custom_jvp(lambda x, y: x * y)
    f.defjvp(lambda primals, dots: (f(*primals), dots[1]), symbolic_zeros=True)
    g = custom_vjp(lambda x, y: x * y)
    g.defvjp(lambda x, y: (g(x.value, y.value), None), lambda _, ct: (None, None), symbolic_zeros=True)
    for h in (f, g):
        for fun in (doubled_by(h), jit(doubled_by(h)), repeated(h), chosen(h)):
            once = grad(fun)
            for derivative in (once, jit(once), grad(jit(fun)), grad(once), jit(grad(once)), vmap_of_one(once)):
                assert float(derivative(1.0)) == 0.0
                assert type(derivative(1.0)) is not SymbolicZero
    assert jvp(repeated(f), (1.0,), (1.0,))[1] == jit(lambda x: jvp(repeated(f), (x,), (1.0,))[1])(1.0) == 0.0


def doubled_by(h):
    return lambda x: h(x, 2.0)


def repeated(h):
    return lambda x: lax.scan(lambda c, _: (h(c, 2.0), c), x, None, length=2)[0]


def chosen(h):
    return lambda x: lax.cond(x > 0.0, h, lambda x, y: x * 3.0, x, 2.0)


def vmap_of_one(h):
    return lambda x: vmap(h)(np.array([x]))[0]


# Integers


def test_integers_of_functions_with_rules():
    # https://github.com/jax-ml/jax/issues/25724, https://github.com/jax-ml/jax/issues/16000
    # https://github.com/jax-ml/jax/pull/7652
    def value(x, n):
        return x * lax.convert_element_type(n, x.dtype), n + 1, x > 0.0

    f = custom_jvp(value)

    @f.defjvp
    def rule(primals, dots):
        (x, n), (x_dot, n_dot) = primals, dots
        assert n_dot.dtype == float0
        assert n_dot.shape == n.shape
        flag_dot = np.zeros(x.shape, float0)
        return f(x, n), (3.0 * lax.convert_element_type(n, x.dtype) * x_dot, n_dot, flag_dot)

    g = custom_vjp(value)

    def bwd(n, cts):
        assert [ct.dtype for ct in cts[1:]] == [float0, float0]
        return 3.0 * lax.convert_element_type(n, np.float64) * cts[0], np.zeros(n.shape, float0)

    g.defvjp(lambda x, n: (g(x, n), n), bwd)
    ns = np.array([1, 2, 4])
    for fun in (f, g):
        first = lambda x, n, fun=fun: fun(x, n)[0].sum()
        mapped = lambda x, n, fun=fun: vmap(fun)(x, n)[0].sum()
        rows = lambda x, n, fun=fun: lax.scan(lambda m, row: (m + 1, fun(*row)[0]), np.int32(0), (x, n))[1].sum()
        for total in (first, mapped, rows, jit(first), jit(mapped), jit(rows)):
            for how in (lambda d: d, jit):
                assert np.asarray(how(grad(total))(X, ns)).tolist() == [3.0, 6.0, 12.0]
        assert np.asarray(vmap(grad(first))(X, ns)).tolist() == [3.0, 6.0, 12.0]
        outs, pull = vjp(fun, X, ns)
        bars = pull((np.ones(3), np.zeros(3, float0), np.zeros(3, float0)))
        assert [np.asarray(x).dtype for x in bars] == [np.float64, float0]
        assert [np.asarray(x).dtype for x in outs] == [np.float64, np.int64, np.bool_]
    _, dots = jvp(f, (X, ns), (X, np.zeros(3, float0)))
    assert [np.asarray(x).dtype for x in dots] == [np.float64, float0, float0]


# Higher orders


def test_a_scan_in_a_rule_at_second_order():
    # https://github.com/jax-ml/jax/issues/3819
    weights = np.array([0.5, 1.0, 1.5])

    def plain(x):
        for w in weights:
            x = lax.sin(x) * w + lax.cos(w * x) * x
        return x

    def step(state, w):
        x, x_dot = state
        slope = lax.cos(x) * w - w * lax.sin(w * x) * x + lax.cos(w * x)
        return (lax.sin(x) * w + lax.cos(w * x) * x, slope * x_dot), None

    looped = lambda x: lax.scan(lambda y, w: (lax.sin(y) * w + lax.cos(w * y) * y, None), x, weights)[0]
    by_hand, by_jvp = custom_jvp(looped), custom_jvp(looped)
    by_hand.defjvp(lambda primals, dots: lax.scan(step, (primals[0], dots[0]), weights)[0])
    by_jvp.defjvp(lambda primals, dots: (by_jvp(*primals), jvp(looped, primals, dots)[1]))
    second = grad(grad(plain))(0.7)
    for f in (by_hand, by_jvp):
        for derivative in (
            hessian(f),
            grad(grad(f)),
            jacfwd(jacfwd(f)),
            jacrev(jacfwd(f)),
            jit(hessian(f)),
            hessian(jit(f)),
            lambda x, f=f: jvp(grad(f), (x,), (1.0,))[1],
            lambda x, f=f: linearize(grad(f), x)[1](1.0),
            lambda x, f=f: vmap(hessian(f))(np.array([0.1, x]))[1],
        ):
            np.testing.assert_allclose(derivative(0.7), second, rtol=1e-12)
        np.testing.assert_allclose(grad(grad(grad(f)))(0.7), grad(grad(grad(plain)))(0.7), rtol=1e-11)


def test_second_derivatives_where_the_first_is_zero():
    # https://github.com/jax-ml/jax/issues/40627
    square = custom_jvp(lambda x: x * x)
    square.defjvp(lambda primals, dots: (square(*primals), 2.0 * primals[0] * dots[0]))
    cube = custom_vjp(lambda x: x * x * x)
    cube.defvjp(lambda x: (cube(x), x), lambda x, ct: (3.0 * square(x) * ct,))

    @custom_jvp
    def sinc(x):
        near_zero = lax.lt(lax.abs(x), 1e-3)
        apart = lax.select(near_zero, lax.ones_like(x), x)
        return lax.select(near_zero, 1.0 - x * x / 6.0, lax.sin(apart) / apart)

    @sinc.defjvp
    def sinc_jvp(primals, dots):
        (x,), (x_dot,) = primals, dots
        near_zero = lax.lt(lax.abs(x), 1e-3)
        apart = lax.select(near_zero, lax.ones_like(x), x)
        return sinc(x), lax.select(near_zero, -x / 3.0, (lax.cos(apart) - sinc(apart)) / apart) * x_dot

    for how in (lambda f: f, jit, lambda f: lambda x: vmap(f)(np.array([x, 1.0]))[0]):
        assert how(grad(square))(0.0) == 0.0
        assert how(grad(grad(square)))(0.0) == how(hessian(square))(0.0) == how(hessian(jit(square)))(0.0) == 2.0
        assert how(grad(grad(cube)))(0.0) == 0.0
        assert how(grad(grad(grad(cube))))(0.0) == 6.0
        np.testing.assert_allclose(how(grad(grad(sinc)))(0.0), -1.0 / 3.0)
        np.testing.assert_allclose(how(hessian(sinc))(0.0), -1.0 / 3.0)


# Evaluated and compiled


def test_a_derivative_that_is_evaluated_is_the_one_that_is_compiled():
    # https://github.com/jax-ml/jax/issues/39025
    @custom_vjp
    def f(x, y):
        z = x * y
        return z, x, z

    def fwd(x, y):
        z = x * y
        return (z, x, z), (x, y, z, x)  # residuals that are arguments, results, and the same twice

    def bwd(kept, cts):
        x, y, z, again = kept
        return cts[0] * y + cts[1] + 2.0 * cts[2] * z, cts[0] * again + 0.5 * cts[2] * x

    f.defvjp(fwd, bwd)

    @custom_gradient
    def g(x, y):
        z = x * y
        return (z, x), lambda cts: (cts[0] * z, cts[1] + x)

    y = X + 3.0
    for fun, number in ((f, 3), (g, 2)):
        cts = [X * (i + 1.0) for i in range(number)]
        run = lambda x, y, cts, fun=fun: vjp(fun, x, y)[1](tuple(cts))
        compiled = jit(run)(X, y, cts)
        np.testing.assert_allclose(run(X, y, cts), compiled, rtol=1e-14)
        np.testing.assert_allclose(vjp(jit(fun), X, y)[1](tuple(cts)), compiled, rtol=1e-14)
        np.testing.assert_allclose(jit(vmap(run, in_axes=(0, 0, 0)))(X, y, cts), compiled, rtol=1e-14)
        _, pull = vjp(fun, X, y)
        for _ in range(2):  # a second call is not disturbed by the first
            np.testing.assert_allclose(pull(tuple(cts)), compiled, rtol=1e-14)
        x = X.copy()
        _, pull = vjp(fun, x, y)
        x[:] = 0.0
        np.testing.assert_allclose(pull(tuple(cts)), compiled, rtol=1e-14)


# Functions with a rule for batches that hold programs


def mapped_by_rule(fun):
    """Return `fun` with the rule that maps it."""
    f = custom_vmap(fun)
    f.def_vmap(lambda size, is_mapped, x: (vmap(fun)(x), True))
    return f


def inner(x):
    return lax.sin(lax.sin(x))


HELD = {
    "jit": jit(inner),
    "cond": lambda x: lax.cond(x > 0, inner, lax.cos, x),
    "scan": lambda x: lax.scan(lambda c, _: (lax.sin(c), None), x, None, length=2)[0],
    "custom_vmap": mapped_by_rule(inner),
    "custom_vmap of custom_vmap": mapped_by_rule(lambda x: lax.sin(mapped_by_rule(lax.sin)(x))),
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_a_function_with_a_rule_for_batches_that_holds_a_program_has_a_traced_gradient(held):
    f, plain = mapped_by_rule(lambda x: lax.sin(held(x))), lambda x: lax.sin(inner(x))
    for derivative in (grad, lambda f: grad(grad(f)), lambda f: lambda x: jvp(grad(f), (x,), (1.0,))[1]):
        expected = derivative(plain)(0.5)
        assert float(jit(derivative(f))(0.5)) == pytest.approx(float(expected), rel=1e-14)
        np.testing.assert_allclose(vmap(derivative(f))(np.array([0.5, 0.5])), expected, rtol=1e-14)
