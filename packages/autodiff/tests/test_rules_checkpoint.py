from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from calque_autodiff import (
    checkpoint,
    checkpoint_name,
    custom_jvp,
    custom_vjp,
    defjvp_all,
    grad,
    jvp,
    linear_transpose,
    linearize,
    linearize_jaxpr,
    value_and_grad,
    vjp,
)
from calque_autodiff import checkpoint_policies as policies
from calque_core import Primitive, check_jaxpr, eval_jaxpr, float0, lax, make_jaxpr
from calque_core.jaxprs.walk import nested_jaxprs
from calque_pytree import tree_leaves

pytestmark = pytest.mark.sampled(keep=0.1)

by_name = policies.save_only_these_names("hidden")
POLICIES = [
    None,
    policies.everything_saveable,
    policies.dots_saveable,
    by_name,
    policies.save_anything_except_these_names("hidden"),
]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=policies.policy_name)


def layer(x, w):
    hidden = checkpoint_name(lax.sin(x @ w), "hidden")
    return lax.cos(hidden @ w) * x


def counted(jaxpr):
    """Return how often each primitive occurs, in inner programs too."""
    return Counter(eqn.primitive.name for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns)


def kept_by(fun, *args):
    """Return the arrays that the derivative of a function keeps; numbers stand in its program."""
    return [x for x in tree_leaves(vjp(fun, *args)[1]) if np.ndim(x)]


def halves(fun, *args):
    """Return the equations of the program that computes the value, and of the one that computes the gradient."""
    forward, backward = make_jaxpr(value_and_grad(fun))(*args).eqns
    return counted(forward.params["jaxpr"]), counted(backward.params["jaxpr"])


# Laws


@each_policy
def test_checkpointed_programs_obey_the_laws(laws, spaced, policy):
    laws(checkpoint(layer, policy=policy), spaced((2, 2)), spaced((2, 2), seed=1))


@each_policy
def test_loops_branches_and_calls_inside_obey_the_laws(laws, called, spaced, policy):
    def f(x, ys):
        def step(c, y):
            hidden = checkpoint_name(lax.sin(c * y), "hidden")
            return lax.cos(hidden) * c, called(lambda z: checkpoint_name(z * z, "hidden") * c)(hidden)

        c, zs = lax.scan(step, x, ys)
        other = lambda z: checkpoint_name(lax.exp(z), "hidden")
        return lax.cond(x > 0.0, lambda z: lax.sin(checkpoint_name(lax.cos(z), "hidden")), other, c), zs

    laws(checkpoint(f, policy=policy), 0.7, spaced((3,)))


@each_policy
def test_checkpoints_inside_one_another_obey_the_laws(laws, policy):
    inner = checkpoint(lambda x, y: checkpoint_name(lax.sin(x * y), "hidden") * x, policy=by_name)
    laws(checkpoint(lambda x, y: inner(inner(x, y), lax.cos(y)), policy=policy), 0.7, 0.4)


@each_policy
def test_a_loop_of_checkpointed_steps_obeys_the_laws(laws, spaced, policy):
    step = checkpoint(lambda c, y: (checkpoint_name(lax.sin(c * y), "hidden") * c, lax.exp(c)), policy=policy)
    laws(lambda x, ys: lax.scan(step, x, ys), 0.7, spaced((3,)))


def test_results_without_a_derivative_have_none():
    f = checkpoint(lambda x: (lax.sin(x), lax.argmax(x, 0), np.ones(2), x))
    _, dots = jvp(f, (np.arange(3.0),), (np.ones(3),))
    assert dots[1].dtype == float0
    assert not dots[2].any()
    assert dots[3].tolist() == [1.0, 1.0, 1.0]
    cts = (np.zeros(3), np.zeros((), float0), np.ones(2), np.array([1.0, 2.0, 3.0]))
    assert vjp(f, np.arange(3.0))[1](cts)[0].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_derivatives_of_derivatives_agree(depth):
    f = g = lambda x: lax.sin(x) * lax.exp(lax.cos(x))
    for _ in range(depth):
        f, g = grad(f), grad(checkpoint(g))
    np.testing.assert_allclose(g(0.3), f(0.3), 1e-13)


# What is computed when


COUNTS = [  # sines and products: in the first computation, and beside the derivative
    (None, (1, 2), (2, 4)),
    (policies.nothing_saveable, (1, 2), (2, 4)),
    (policies.dots_saveable, (1, 2), (1, 2)),
    (policies.dots_with_no_batch_dims_saveable, (1, 2), (1, 2)),
    (by_name, (1, 2), (1, 4)),
    (policies.save_any_names_but_these("other"), (1, 2), (1, 4)),
    (policies.save_anything_except_these_names("hidden"), (2, 2), (0, 2)),
    (policies.save_from_both_policies(policies.dots_saveable, by_name), (1, 2), (1, 2)),
    (policies.everything_saveable, (2, 2), (0, 2)),
]


@pytest.mark.parametrize(("policy", "first", "second"), COUNTS, ids=[policies.policy_name(row[0]) for row in COUNTS])
def test_how_much_is_computed_again_by_each_policy(policy, first, second):
    """The derivative of `layer` by x reads `hidden @ w`, through a sine, and takes two products of its own."""
    loss = lambda x: lax.reduce_sum(checkpoint(lambda y: layer(y, WEIGHTS), policy=policy)(x))
    forward, backward = [
        eqn.params["jaxpr"] for eqn in make_jaxpr(grad(loss))(WEIGHTS).eqns if eqn.primitive is lax.remat_p
    ]
    counts = [counted(program) for program in (forward, backward)]
    assert [(c["sin"], c["dot_general"]) for c in counts] == [first, second]


WEIGHTS = np.linspace(-1.0, 1.0, 4).reshape(2, 2)


def test_the_linear_program_is_one_equation_that_computes_again():
    linear = linearize_jaxpr(make_jaxpr(checkpoint(lambda x: lax.sin(lax.sin(x))))(1.0), [True]).linear
    check_jaxpr(linear)
    [eqn] = linear.eqns
    assert eqn.params["differentiated"]
    assert counted(eqn.params["jaxpr"]) == {"sin": 1, "cos": 2, "mul": 2}


def test_the_first_computation_drops_what_only_the_derivative_needs():
    forward, backward = halves(checkpoint(lambda x: lax.sin(lax.sin(x))), 1.0)
    assert forward == {"sin": 2}
    assert backward == {"sin": 1, "cos": 2, "mul": 2}


def test_a_named_result_need_not_be_computed_again_to_be_read_under_another_name():
    """The derivative of exp reads its result, which is the operand of the name."""
    f = checkpoint(lambda x: lax.sin(checkpoint_name(lax.exp(x), "hidden")), policy=by_name)
    forward, backward = halves(f, 1.0)
    assert (forward["exp"], backward["exp"]) == (1, 0)


def test_second_derivatives_are_checkpointed_too():
    def chain(x):
        for _ in range(5):
            x = lax.sin(x)
        return x

    slope = lambda f: grad(lambda x: lax.reduce_sum(f(x)))
    assert len(kept_by(slope(chain), np.ones(3))) > 10
    assert [x.tolist() for x in kept_by(slope(checkpoint(chain)), np.ones(3))] == [
        [1.0] * 3
    ] * 2  # the cotangent is one


def test_loops_that_are_computed_again_keep_no_row():
    steps = lambda x: lax.scan(lambda c, _: (lax.sin(c), None), x, None, length=10)[0]
    shapes = lambda f: [np.shape(x) for x in kept_by(f, np.ones(3))]
    assert (10, 3) in shapes(steps)
    assert shapes(checkpoint(steps)) == [(3,)]


def test_a_loop_of_checkpointed_steps_keeps_the_carries_only():
    def step(c, x):
        for _ in range(4):
            c = lax.sin(c * x)
        return c, None

    rows = lambda f: [np.shape(x) for x in kept_by(lambda c, xs: lax.scan(f, c, xs)[0], 0.5, np.ones(10))]
    assert rows(checkpoint(step)) == [(10,), (10,)]
    assert len(rows(step)) > 4


# Cutting by a policy inside programs


def test_a_value_named_in_a_loop_is_kept_for_each_step():
    def f(c, xs):
        step = lambda c, x: (lax.cos(checkpoint_name(lax.sin(lax.sin(c * x)), "hidden")), None)
        return lax.scan(step, c, xs)[0]

    assert len(kept_by(checkpoint(f), 0.5, np.arange(4.0))) == 1
    assert [x.shape for x in kept_by(checkpoint(f, policy=by_name), 0.5, np.arange(4.0))] == [(4,), (4,)]
    forward, backward = halves(checkpoint(f, policy=by_name), 0.5, np.arange(4.0))
    assert (forward["sin"], forward["cos"]) == (2, 1)
    # Again: sin(c x), but not the sine of it; cos' = -sin; and the carry, which is the cosine of what is kept.
    assert backward["sin"] == 2


def test_everything_kept_of_a_loop_leaves_no_loop_to_run_again():
    f = lambda c: lax.scan(lambda c, _: (lax.sin(c), lax.cos(c) * c), c, None, length=4)
    loss = lambda c: lax.reduce_sum(f(c)[1]) * lax.exp(f(c)[0])
    _, backward = halves(checkpoint(loss, policy=policies.everything_saveable), 0.5)
    assert backward["scan"] == 2  # both run backwards
    assert backward["sin"] == backward["cos"] == 0


def test_a_value_named_in_a_branch_or_a_call_is_kept(called):
    inner = lambda x: lax.sin(checkpoint_name(lax.exp(lax.exp(x)), "hidden"))
    branching = lambda x: lax.cond(x > 0.0, inner, lambda x: x * 2.0, x)
    for f in (called(inner), branching):
        forward, backward = halves(checkpoint(f, policy=by_name), 0.5)
        assert (forward["exp"], backward["exp"]) == (2, 1)
        assert grad(checkpoint(f, policy=by_name))(0.5) == grad(f)(0.5)


def test_a_checkpoint_inside_keeps_its_own_policy():
    inner = checkpoint(lambda x: lax.sin(lax.sin(x)), policy=policies.everything_saveable)
    outer = checkpoint(lambda x: inner(lax.exp(x)), policy=policies.dots_saveable)
    policies_found = {eqn.params["policy"] for eqn in nested_equations(make_jaxpr(grad(outer))(0.5))}
    assert policies_found == {policies.everything_saveable, policies.dots_saveable}


def nested_equations(jaxpr):
    return [eqn for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns if eqn.primitive is lax.remat_p]


# Rules


def test_a_checkpoint_inside_a_rule_is_split_and_computes_again(laws):
    bent_p = Primitive("bent")
    bent_p.def_impl(lambda x: np.sin(np.exp(x)))
    bent_p.def_abstract_eval(lambda x: x.strip_weak_type())
    slope = checkpoint(lambda x, t: lax.cos(lax.exp(x)) * lax.exp(x) * t)
    defjvp_all(bent_p, lambda primals, tangents: (bent_p.bind(*primals), slope(primals[0], tangents[0])))
    laws(bent_p.bind, 0.7)
    _, f_lin = linearize(bent_p.bind, 0.7)
    jaxpr = make_jaxpr(f_lin)(1.0)
    [eqn] = jaxpr.eqns
    assert counted(eqn.params["jaxpr"]) == {"exp": 2, "cos": 1, "mul": 2}


def test_a_checkpointed_linear_function_is_transposed():
    assert linear_transpose(checkpoint(lambda x: 3.0 * x), 1.0)(2.0) == (6.0,)
    with pytest.raises(NotImplementedError, match="not linear"):
        linear_transpose(checkpoint(lambda x: x * x), 1.0)(2.0)


def test_names_and_barriers_are_linear(laws):
    laws(lambda x: checkpoint_name(lax.sin(x), "hidden") * x, 0.5)
    laws(lambda x, y: lax.optimization_barrier((lax.sin(x), y, x)), 0.5, np.ones(2))
    assert linear_transpose(lambda x: checkpoint_name(x, "x"), 1.0)(2.0) == (2.0,)
    assert counted(make_jaxpr(linearize(lambda x: checkpoint_name(x, "x"), 1.0)[1])(np.float64(1.0))) == {}
    x_bar, y_bar = vjp(lambda x, y: lax.optimization_barrier((x, y))[0], 1.0, 2.0)[1](3.0)
    assert (x_bar, y_bar) == (3.0, 0.0)


def test_the_forward_half_of_a_custom_vjp_runs_in_both_passes_and_its_residuals_in_the_second():
    @custom_vjp
    def doubled(x):
        return x + x

    doubled.defvjp(lambda x: (lax.mul(x, 2.0), lax.exp(x)), lambda residual, ct: (residual * ct,))
    jaxpr = make_jaxpr(grad(lambda x: checkpoint(lambda x: lax.sin(doubled(x)))(x)))(np.float64(1.0))
    first, second = [eqn.params["jaxpr"] for eqn in jaxpr.eqns if "jaxpr" in eqn.params]
    assert [eqn.primitive.name for eqn in first.eqns] == ["mul", "sin"]
    assert {"mul", "exp", "cos"} <= {eqn.primitive.name for eqn in second.eqns}


def test_a_constant_that_both_halves_need_is_bound_once():
    table = np.array([0.5, 1.5, -2.0])
    function = custom_jvp(lambda x: lax.sin(x * table))
    function.defjvp(lambda primals, dots: (function(*primals), jvp(function.fun, primals, dots)[1]))
    x = np.array([0.1, 0.2, 0.3])
    jaxpr = make_jaxpr(lambda x: linearize(checkpoint(function), x)[1](x))(x)
    check_jaxpr(jaxpr)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, x)[0], np.cos(x * table) * table * x, rtol=1e-15)
