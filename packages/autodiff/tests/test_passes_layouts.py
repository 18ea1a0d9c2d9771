from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, linearize, vjp
from calque_autodiff.passes.layouts import merge_layouts
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr

X = np.arange(6.0).reshape(2, 3)


TWICE = {
    "broadcast_in_dim": lambda x: lax.broadcast(lax.broadcast_in_dim(x, (2, 5, 3), (0, 2)), (4,)),
    "transpose": lambda x: lax.transpose(lax.transpose(lax.reshape(x, (1, 2, 3)), (1, 2, 0)), (1, 2, 0)),
    "reshape": lambda x: lax.reshape(lax.reshape(x, (3, 2)), (1, 6)),
}


@pytest.mark.parametrize("name", TWICE)
def test_two_placements_in_a_row_are_one(name):
    placed = TWICE[name]
    jaxpr = make_jaxpr(lambda ct: vjp(placed, X)[1](ct)[0])(placed(X))
    back = {"broadcast_in_dim": "reduce_sum"}.get(name, name)
    forward = [eqn.primitive.name for eqn in make_jaxpr(placed)(X).eqns]
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count(back) == 1 + (forward.count(back) if back == name else 0)


@pytest.mark.parametrize("name", TWICE)
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (1, 1)])
def test_merged_placements_obey_the_laws(name, shape, spaced, laws):
    if name == "broadcast_in_dim":
        placed = lambda x: lax.broadcast_in_dim(
            lax.broadcast_in_dim(x, (shape[0], 1, shape[1]), (0, 2)), (4, shape[0], 5, shape[1]), (1, 2, 3)
        )
    elif name == "transpose":
        placed = lambda x: lax.transpose(lax.transpose(lax.reshape(x, (1, *shape)), (1, 2, 0)), (1, 2, 0))
    else:
        placed = lambda x: lax.reshape(lax.reshape(x, shape[::-1]), (1, shape[0] * shape[1]))
    laws(lambda x: lax.mul(placed(x), placed(x)), spaced(shape))


def test_placements_that_undo_one_another_leave_the_tangent():
    undone = lambda x: lax.mul(lax.transpose(lax.transpose(x, (1, 0)), (1, 0)), 2.0)
    jaxpr = make_jaxpr(lambda t: linearize(undone, X)[1](t))(X)
    assert jaxpr.eqns[-1].invars[0] is jaxpr.invars[0]
    np.testing.assert_array_equal(grad(lambda x: lax.reduce_sum(undone(x)))(X), np.full((2, 3), 2.0))


def test_a_result_between_two_placements_keeps_its_tangent():
    both = lambda x: (lax.transpose(x, (1, 0)), lax.transpose(lax.transpose(x, (1, 0)), (1, 0)))
    _, f_vjp = vjp(both, X)
    np.testing.assert_array_equal(f_vjp((X.T, X))[0], 2 * X)
    _, f_lin = linearize(both, X)
    first, second = f_lin(X)
    np.testing.assert_array_equal(first, X.T)
    np.testing.assert_array_equal(second, X)


def test_placements_after_two_that_undo_one_another_are_merged_too():
    def placed(x):
        same = lax.transpose(lax.transpose(x, (1, 0)), (1, 0))
        return same, lax.reshape(lax.reshape(same, (3, 2)), (6,)), lax.sin(same)

    jaxpr = make_jaxpr(placed)(X)
    merged = merge_layouts(jaxpr)
    check_jaxpr(merged)
    assert merged.outvars[0] is merged.invars[0]
    assert [eqn.invars[0] is merged.invars[0] for eqn in merged.eqns] == [True] * 4
    for new, old in zip(eval_jaxpr(merged, (), X), eval_jaxpr(jaxpr, (), X)):
        np.testing.assert_array_equal(new, old)


def test_a_program_without_placements_in_a_row_is_given_back():
    jaxpr = make_jaxpr(lambda x: lax.transpose(lax.sin(lax.transpose(lax.reshape(x, (3, 2)), (1, 0))), (1, 0)))(X)
    assert merge_layouts(jaxpr) is jaxpr
