"""Reverse mode through branches and loops that positions of a mesh take on their own."""

import numpy as np
import pytest

from calque_autodiff import custom_jvp, custom_vjp, grad, jvp
from calque_core import AbstractMesh, lax, shard_map
from calque_core import PartitionSpec as P

MESH = AbstractMesh((4,), ("i",))
X, W = np.arange(8.0), np.array([0.5, 2.0])


def total(f):
    """Return the sum over positions of `f(shard, w)`, as a function of `w`, which is the same at all positions."""
    return lambda w: shard_map(lambda x, w: lax.psum(f(x, w), "i"), mesh=MESH, in_specs=(P("i"), P()), out_specs=P())(
        X, w
    )


def whole(f):
    """Return the same on one device: `f` on each shard."""
    return lambda w: sum(f(x, w) for x in X.reshape(4, 2))


@custom_vjp
def product(x, w):
    return (x * w).sum()


product.defvjp(lambda x, w: (product(x, w), (x, w)), lambda res, ct: (ct * res[1], ct * res[0]))


@custom_vjp
def product_with_sum(x, w):
    return (x * w).sum()


# As a rule for jax must, it sums over the positions itself.
product_with_sum.defvjp(
    lambda x, w: (product_with_sum(x, w), (x, w)), lambda res, ct: (ct * res[1], lax.psum(ct * res[0], "i"))
)

FUNCTIONS = {
    "a branch that each position chooses": lambda x, w: lax.cond(x[0] > 3.0, lambda: np.sin(x * w).sum(), lambda: w[0]),
    "an operand of such a branch": lambda x, w: lax.cond(x[0] > 3.0, lambda w: (x * w).sum(), lambda w: w[1], w),
    "a scan in it": lambda x, w: lax.cond(
        x[0] > 3.0, lambda: lax.scan(lambda c, t: (c * w[0] + t, None), 1.0, x)[0], lambda: w.sum()
    ),
    "a loop that each position leaves at its step": lambda x, w: lax.while_loop(
        lambda c: c < x[0], lambda c: c * w[1] + w[0], 1.0, max_steps=5
    ),
    "a rule of a user": lambda x, w: product(x, w),
    "a carry that varies from the first step on": lambda x, w: lax.scan(lambda c, t: (c + t * w[0], None), w[1], x)[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_is_that_of_the_function_on_one_device(name):
    f = FUNCTIONS[name]

    np.testing.assert_allclose(total(f)(W), whole(f)(W))
    np.testing.assert_allclose(grad(total(f))(W), grad(whole(f))(W))


def test_a_rule_of_a_user_that_sums_over_positions_itself_is_not_summed_again():
    f = lambda x, w: (x * w).sum()

    np.testing.assert_allclose(grad(total(product_with_sum))(W), grad(whole(f))(W))


def test_a_rule_of_a_user_that_loses_a_sum_over_positions_is_refused():
    @custom_jvp
    def all_sum(x):
        return lax.psum(x.sum(), "i")

    all_sum.defjvp(lambda primals, dots: (all_sum(primals[0]), dots[0].sum()))
    f = shard_map(all_sum, mesh=MESH, in_specs=P("i"), out_specs=P())

    assert f(X) == 28.0
    with pytest.raises(
        ValueError, match=r"shard_map at .*: the result 1 of the program, float64\[\]\{V:i\}, varies over 'i'"
    ):
        jvp(f, (X,), (X,))


def test_a_gradient_inside_is_summed_over_positions():
    f = lambda x, w: grad(lambda w: np.sin(x * w).sum())(w)
    inside = shard_map(f, mesh=MESH, in_specs=(P("i"), P()), out_specs=P())

    np.testing.assert_allclose(inside(X, W), grad(whole(lambda x, w: np.sin(x * w).sum()))(W))
