"""Classes of bugs, continued: values that are computed again, each with a link to a report."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import check_grads, checkpoint, checkpoint_name, grad, jvp, linearize, saved_residuals, vjp
from calque_autodiff import checkpoint_policies as policies
from calque_batching import vmap
from calque_core import float0, lax, make_jaxpr, typeof
from calque_xla_backend import jit

X = np.array([0.5, -1.0, 2.0])
POLICIES = [None, policies.everything_saveable, policies.save_only_these_names("hidden")]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=policies.policy_name)

# Loops


@each_policy
def test_the_gradient_of_a_checkpointed_loop_is_that_of_the_loop(policy):
    # https://github.com/jax-ml/jax/issues/14302
    def loop(w, x):
        def step(c, y):
            hidden = checkpoint_name(lax.sin(w * c), "hidden")
            return hidden * y, (c, hidden)

        last, (carries, ys) = lax.scan(step, x[0], x)
        return last + (carries * ys).sum()

    for rematted in (checkpoint(loop, policy=policy), jit(checkpoint(loop, policy=policy))):
        for argnums in (0, 1, (0, 1)):
            got, want = grad(rematted, argnums)(0.7, X), grad(loop, argnums)(0.7, X)
            for a, b in zip(got if isinstance(got, tuple) else [got], want if isinstance(want, tuple) else [want]):
                np.testing.assert_allclose(np.asarray(a), b, 1e-13)


@each_policy
def test_a_carry_that_no_step_changes_and_a_result_that_is_an_argument_keep_their_places(policy):
    # https://github.com/jax-ml/jax/issues/14302
    def f(a, b, xs):
        step = lambda c, x: ((c[0], lax.sin(c[1] * c[0]), x), (x, c[1], c[0]))
        (same, last, row), rows = lax.scan(step, (a, b, xs[0]), xs)
        return same, last * row, rows, b, xs

    check_grads(checkpoint(f, policy=policy), (0.6, 0.3, X), 2)


def test_loops_that_end_by_a_condition_are_checkpointed_whole_and_inside():
    # https://github.com/jax-ml/jax/issues/2180
    def doubled(x):
        return lax.while_loop(lambda y: y < 10.0, lambda y: y * 2.0 + lax.sin(y), x, max_steps=8)

    check_grads(checkpoint(doubled), (1.1,), 2)
    step = checkpoint(lambda y: y * 2.0 + lax.sin(y))
    inside = lambda x: lax.while_loop(lambda y: y < 10.0, step, x, max_steps=8)
    np.testing.assert_allclose(grad(inside)(1.1), grad(doubled)(1.1), 1e-13)
    unbounded = checkpoint(lambda x: lax.while_loop(lambda y: y < 10.0, lambda y: y * 2.0, x))
    assert jvp(unbounded, (1.1,), (1.0,))[1] == 16.0


def test_a_loop_that_no_tangent_reaches_is_known_or_run_again():
    # https://github.com/jax-ml/jax/issues/2180
    def f(n, x):
        count = lax.while_loop(lambda m: m < 9, lambda m: m * 2, n)
        return lax.sin(x) * lax.convert_element_type(count, np.float64)

    for policy in POLICIES:
        np.testing.assert_allclose(grad(checkpoint(f, policy=policy), 1)(np.int32(1), 0.5), 16 * np.cos(0.5), 1e-14)


def test_a_loop_inside_a_checkpoint_inside_a_loop():
    # https://github.com/jax-ml/jax/issues/1907
    def inner(x):
        return lax.fori_loop(0, 3, lambda i, y: lax.sin(y) * x, x)

    outer = lambda f: lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=3)
    check_grads(outer(checkpoint(inner)), (0.8,), 2)
    for compose in (grad, lambda f: jit(grad(f)), lambda f: jit(grad(jit(f)))):
        got = compose(lambda x: outer(checkpoint(inner))(x)[0])(0.8)
        np.testing.assert_allclose(np.asarray(got), grad(lambda x: outer(inner)(x)[0])(0.8), 1e-13)
    rows = vmap(lambda x: grad(lambda x: outer(checkpoint(inner))(x)[0])(x))(X)
    np.testing.assert_allclose(rows, [grad(lambda x: outer(inner)(x)[0])(x) for x in X], 1e-12)


# Weak types


@each_policy
def test_python_scalars_may_be_arguments_results_and_carries(policy):
    # https://github.com/jax-ml/jax/issues/9836
    def f(x, s):
        c, ys = lax.scan(lambda c, y: (checkpoint_name(c * s, "hidden"), c + y), 1.0, x)
        return c, ys, s, 2.0

    rematted = checkpoint(f, policy=policy)
    for x in (X, X.astype(np.float32)):
        assert [typeof(y).str_short() for y in rematted(x, 0.5)] == [typeof(y).str_short() for y in f(x, 0.5)]
        assert [a.str_short() for a in make_jaxpr(rematted)(x, 0.5).out_avals] == [
            typeof(y).str_short() for y in f(x, 0.5)
        ]
        outs, pull = vjp(rematted, x, 0.5)
        x_bar, s_bar = pull(tuple(np.ones_like(y) for y in outs))
        assert (typeof(x_bar), typeof(s_bar).dtype) == (typeof(x), np.float64)
    check_grads(rematted, (X, 0.5), 2)


@each_policy
def test_integers_and_float0_pass_through(policy):
    # https://github.com/jax-ml/jax/issues/9836
    f = checkpoint(lambda n, x: (n + 1, x * lax.convert_element_type(n, np.float64), x > 0), policy=policy)
    (_, slope, positive), pull = vjp(f, np.int32(3), 2.0)
    assert (slope, bool(positive)) == (6.0, True)
    n_bar, x_bar = pull((np.zeros((), float0), 1.0, np.zeros((), float0)))
    assert (n_bar.dtype, x_bar) == (float0, 3.0)


# What is kept


def test_results_nobody_differentiates_are_not_computed_again():
    # https://github.com/jax-ml/jax/pull/27353
    f = checkpoint(lambda x: (lax.sin(x), lax.exp(lax.exp(x))))
    _, f_lin = linearize(lambda x: f(x)[0], 0.5)
    [eqn] = make_jaxpr(f_lin)(1.0).eqns
    assert [e.primitive.name for e in eqn.params["jaxpr"].eqns] == ["cos", "mul"]


def test_arguments_that_no_derivative_needs_are_not_kept():
    # https://github.com/jax-ml/jax/pull/27353
    f = checkpoint(lambda x, y, n: lax.sin(x) + y * 2.0)
    assert [origin for _, origin in saved_residuals(f, X, X, X)] == ["from the argument x"]
    f = checkpoint(lambda x: lax.stop_gradient(lax.exp(x)) + x)
    assert saved_residuals(f, X) == []
