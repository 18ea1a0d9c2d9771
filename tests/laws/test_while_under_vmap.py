"""`while` with a mapped condition under derivatives: the steps that an element does not take leave no trace in them."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linear_transpose, linearize
from calque_batching import vmap
from calque_core import lax
from calque_jet import jet
from calque_xla_backend import jit

X = np.array([0.2, 3.1, 1.0, 7.7, 0.5])  # of which some take no step, and none as many as another


def to_its_root(x, batched="select"):
    """Take roots of what is above a half: of less there is none, and its derivative is a nan."""
    return lax.while_loop(lambda v: v > 0.5, lambda v: lax.sqrt(v - 0.45), x, batched=batched)


def to_its_log(x, weight):
    """Take logarithms while they are defined, beside a counter; only the last steps would be infinite."""
    step = lambda c: (c[0] + 1, lax.log(c[1]) * weight)
    return lax.while_loop(lambda c: c[1] > 1.0, step, (0, x))[1]


def written_out(x):
    while x > 0.5:
        x = lax.sqrt(x - 0.45)
    return x


SLOPES = np.array([grad(written_out)(x) for x in X])
CURVES = np.array([grad(grad(written_out))(x) for x in X])


@pytest.mark.parametrize("around", [lambda f: f, jit], ids=["evaluated", "compiled"])
def test_derivatives_inside_the_batch_are_those_of_the_steps_taken(around):
    np.testing.assert_allclose(around(vmap(grad(to_its_root)))(X), SLOPES, 1e-12)
    np.testing.assert_allclose(around(vmap(lambda x: jvp(to_its_root, (x,), (1.0,))[1]))(X), SLOPES, 1e-12)
    np.testing.assert_allclose(around(vmap(lambda x: linearize(to_its_root, x)[1](1.0)))(X), SLOPES, 1e-12)
    np.testing.assert_allclose(around(vmap(grad(grad(to_its_root))))(X), CURVES, 1e-12)
    np.testing.assert_allclose(vmap(around(grad(to_its_root)))(X), SLOPES, 1e-12)


@pytest.mark.parametrize("around", [lambda f: f, jit], ids=["evaluated", "compiled"])
def test_derivatives_of_the_batch_are_those_of_the_steps_taken(around):
    total = lambda x: lax.reduce_sum(vmap(to_its_root)(x))
    np.testing.assert_allclose(around(grad(total))(X), SLOPES, 1e-12)
    np.testing.assert_allclose(around(lambda x: jvp(total, (x,), (np.ones(5),))[1])(X), SLOPES.sum(), 1e-12)
    np.testing.assert_allclose(around(grad(lambda x: lax.reduce_sum(grad(total)(x))))(X), CURVES, 1e-12)


@pytest.mark.parametrize("around", [lambda f: f, jit], ids=["evaluated", "compiled"])
def test_loops_of_one_element_after_the_other_have_the_derivatives_of_the_steps_taken(around):
    alone = lambda x: to_its_root(x, "map")
    total = lambda x: lax.reduce_sum(vmap(alone)(x))
    np.testing.assert_allclose(around(vmap(alone))(X), [written_out(x) for x in X], 1e-15)
    np.testing.assert_allclose(around(vmap(grad(alone)))(X), SLOPES, 1e-12)
    np.testing.assert_allclose(around(grad(total))(X), SLOPES, 1e-12)
    np.testing.assert_allclose(around(lambda x: jvp(total, (x,), (np.ones(5),))[1])(X), SLOPES.sum(), 1e-12)
    np.testing.assert_allclose(around(vmap(grad(grad(alone))))(X), CURVES, 1e-12)


def test_a_value_shared_by_all_elements_gets_no_nan_from_those_that_are_done():
    one_by_one = sum(grad(to_its_log, 1)(x, 1.3) for x in X)
    shared = vmap(to_its_log, (0, None))
    np.testing.assert_allclose(grad(lambda w: lax.reduce_sum(shared(X, w)))(1.3), one_by_one, 1e-12)
    np.testing.assert_allclose(jit(grad(lambda w: lax.reduce_sum(shared(X, w))))(1.3), one_by_one, 1e-12)


@pytest.mark.parametrize("checkpoints", [1, 2])
def test_elements_of_very_different_numbers_of_steps_keep_few_values(checkpoints):
    def f(x, n):
        step = lambda c: (c[0] + 1, lax.sin(c[1]) * 1.1)
        return lax.while_loop(lambda c: c[0] < n, step, (0, x), checkpoints=checkpoints)[1]

    counts = np.array([0, 13, 1, 5, 2])
    want = [grad(f)(x, n) for x, n in zip(X, counts)]
    np.testing.assert_allclose(vmap(grad(f))(X, counts), want, 1e-12)
    np.testing.assert_allclose(jit(vmap(grad(f)))(X, counts), want, 1e-12)
    np.testing.assert_allclose(grad(lambda x: lax.reduce_sum(vmap(f)(x, counts)))(X), want, 1e-12)


def test_a_batch_of_one_and_of_none():
    np.testing.assert_allclose(vmap(grad(to_its_root))(X[1:2]), SLOPES[1:2], 1e-12)
    np.testing.assert_allclose(vmap(grad(to_its_root))(X[:1]), [1.0])
    assert vmap(grad(to_its_root))(X[:0]).shape == (0,)


def shares(count, weight):
    """Return weight / count + ... + weight / 1; a step after the last one divides by zero."""
    step = lambda c: (c[0] - 1.0, c[1] + weight / c[0])
    return lax.while_loop(lambda c: c[0] > 0.0, step, (count, 0.0))[1]


@pytest.mark.parametrize("around", [lambda f: f, jit], ids=["evaluated", "compiled"])
def test_a_carry_without_a_derivative_makes_no_nan_in_those_of_others(around):
    counts = np.array([0.0, 3.0, 1.0])
    total = lambda weight: lax.reduce_sum(vmap(shares, (0, None))(counts, weight))
    want = 1.0 + 1 / 2 + 1 / 3 + 1.0

    np.testing.assert_allclose(around(grad(total))(2.0), want, 1e-12)
    np.testing.assert_allclose(grad(around(total))(2.0), want, 1e-12)
    np.testing.assert_allclose(around(linear_transpose(total, 0.0))(1.0)[0], want, 1e-12)
    np.testing.assert_allclose(around(lambda w: jet(total, (w,), ((1.0,),))[1][0])(2.0), want, 1e-12)
    np.testing.assert_allclose(around(grad(lambda w: jet(total, (w,), ((w,),))[1][0]))(2.0), want, 1e-12)


def test_a_compiled_step_without_derivatives_chooses_once_for_each_carry():
    """A second choice, of the state from which a discarded step starts, took a sixth of the time of a short step."""
    step = lambda c: (lax.sin(c[0]) + 1.0, c[0])
    loop = lambda x: lax.while_loop(lambda c: lax.abs(c[0] - c[1]) > 1e-3, step, (x, 0.0))[0]
    batch = vmap(loop)

    assert choices_of_a_step(batch) == 2
    np.testing.assert_allclose(jit(batch)(X), batch(X), 1e-12)


def choices_of_a_step(f):
    """Return the number of choices in the body of the first loop of the compiled program."""
    text = jit(f).lower(X).as_text()
    return text.partition("stablehlo.while")[2].partition(" do {")[2].partition("stablehlo.return")[0].count(".select")
