"""`cond` with a mapped predicate under derivatives: a branch that an element does not take leaves no trace in them."""

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linearize
from calque_batching import vmap
from calque_core import lax

X = np.array([-1.0, 0.0, 0.5, 2.0])


def guarded_log(batched):
    """Return log above zero and a line elsewhere; the logarithm and its derivative are not finite there."""

    def line(x):
        return lax.add(lax.mul(x, 2.0), 3.0)

    return lambda x: lax.cond(lax.gt(x, 0.0), lax.log, line, x, batched=batched)


@pytest.fixture(params=["select", "skip", "map"])
def guarded(request):
    return guarded_log(request.param)


def test_derivatives_inside_the_batch_are_those_of_the_branch_taken(guarded):
    slopes = np.where(X > 0, 1 / np.where(X > 0, X, 1), 2.0)

    np.testing.assert_allclose(vmap(grad(guarded))(X), slopes)
    np.testing.assert_allclose(vmap(lambda x: jvp(guarded, (x,), (1.0,))[1])(X), slopes)
    np.testing.assert_allclose(vmap(lambda x: linearize(guarded, x)[1](1.0))(X), slopes)
    np.testing.assert_allclose(vmap(grad(grad(guarded)))(X), np.where(X > 0, -(slopes**2), 0.0))


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_derivatives_of_the_batch_are_those_of_the_branches_taken(guarded):
    slopes = np.where(X > 0, 1 / np.where(X > 0, X, 1), 2.0)

    np.testing.assert_allclose(grad(lambda x: lax.reduce_sum(vmap(guarded)(x)))(X), slopes)
    np.testing.assert_allclose(jvp(vmap(guarded), (X,), (np.ones(4),))[1], slopes)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("batched", ["select", "skip", "map"])
def test_an_operand_shared_by_all_elements_gets_no_nan_from_those_that_do_not_take_the_branch(batched):
    def quotient(x, w):
        return lax.cond(lax.gt(x, 0.0), lambda: lax.reduce_sum(lax.div(w, x)), lambda: 0.0, batched=batched)

    gradient = grad(lambda w: lax.reduce_sum(vmap(quotient, (0, None))(X, w)))(np.ones(2))

    assert gradient.tolist() == [2.5, 2.5]


@pytest.mark.parametrize("batched", ["select", "skip"])
def test_a_sum_over_the_axis_inside_a_branch_has_a_derivative_by_every_element(batched):
    def share(x):
        return lax.cond(lax.gt(x, 0.0), lambda: lax.psum(lax.sin(x), "i"), lambda: x, batched=batched)

    total = lambda x: lax.reduce_sum(vmap(share, axis_name="i")(x))

    np.testing.assert_allclose(grad(total)(X), 2 * np.cos(X) + (X <= 0))
