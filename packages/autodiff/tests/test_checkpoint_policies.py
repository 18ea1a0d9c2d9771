from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint, checkpoint_name, saved_residuals
from calque_autodiff import checkpoint_policies as policies
from calque_core import jaxpr_equal, lax, make_jaxpr
from calque_core.lax import dot_general_p, name_p, sin_p

BATCHED, PLAIN = (((2,), (1,)), ((0,), (0,))), (((1,), (0,)), ((), ()))


def verdicts(policy):
    """Return what a policy says of a sine, of a product, of a batch of products, and of the names 'a' and 'b'."""
    return [
        policy(sin_p),
        policy(dot_general_p, dimension_numbers=PLAIN, preferred_element_type=None),
        policy(dot_general_p, dimension_numbers=BATCHED, preferred_element_type=None),
        policy(name_p, name="a"),
        policy(name_p, name="b"),
    ]


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        (policies.everything_saveable, [True] * 5),
        (policies.nothing_saveable, [False] * 5),
        (policies.dots_saveable, [False, True, True, False, False]),
        (policies.checkpoint_dots, [False, True, True, False, False]),
        (policies.dots_with_no_batch_dims_saveable, [False, True, False, False, False]),
        (policies.checkpoint_dots_with_no_batch_dims, [False, True, False, False, False]),
        (policies.save_only_these_names("a"), [False, False, False, True, False]),
        (policies.save_any_names_but_these("a"), [False, False, False, False, True]),
        (policies.save_anything_except_these_names("a"), [True, True, True, False, True]),
        (
            policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("b")),
            [False, True, True, False, True],
        ),
    ],
    ids=lambda x: None if isinstance(x, list) else policies.policy_name(x),
)
def test_what_a_policy_saves(policy, want):
    assert verdicts(policy) == want


def layer(x, w):
    hidden = checkpoint_name(lax.sin(x @ w), "hidden")
    return checkpoint_name(lax.tanh(hidden @ w), "out") * x


KEPT = [  # beside the two arguments, at most
    (policies.nothing_saveable, []),
    (None, []),
    (policies.dots_saveable, ["dot_general", "dot_general"]),
    (policies.save_only_these_names("hidden"), ["'hidden'"]),
    (policies.save_only_these_names("hidden", "out"), ["'hidden'", "'out'"]),
    (policies.save_any_names_but_these("hidden"), ["'out'"]),
    (policies.save_anything_except_these_names("hidden"), ["dot_general", "cos", "tanh_slope", "'out'"]),
    (policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("out")),
     ["dot_general", "dot_general", "'out'"]),  # the slope of tanh is a function of its operand
    (policies.everything_saveable, ["cos", "'hidden'", "tanh_slope", "'out'"]),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "want"), KEPT, ids=[policies.policy_name(policy) for policy, _ in KEPT])
def test_what_a_derivative_keeps_by_a_policy(policy, want):
    kept = saved_residuals(checkpoint(layer, policy=policy), np.ones((2, 2)), np.ones((2, 2)))
    origins = [origin for _, origin in kept if "argument" not in origin]
    assert sorted(origin.split(" at ")[0].split()[-1] for origin in origins) == sorted(want)


def test_a_refused_name_is_not_saved_as_the_result_of_the_operation_before():
    program = lambda x: lax.sin(checkpoint_name(lax.exp(x), "hidden"))
    both = policies.save_from_both_policies
    refusing = policies.save_anything_except_these_names("hidden")
    kept = lambda policy: [
        origin.split(" at ")[0] for _, origin in saved_residuals(checkpoint(program, policy=policy), 1.0)
    ]
    assert kept(refusing) == ["from the argument x", "output of cos"]
    assert kept(both(refusing, refusing)) == ["from the argument x", "output of cos"]
    assert "from the argument x" not in kept(both(refusing, policies.everything_saveable))


def test_policies_of_equal_names_are_equal():
    make = lambda: make_jaxpr(checkpoint(lax.sin, policy=policies.save_only_these_names("a", "b")))(1.0)
    assert jaxpr_equal(make(), make())
    assert policies.save_only_these_names("a", "b") == policies.save_only_these_names("b", "a")
    assert policies.save_only_these_names("a") != policies.save_any_names_but_these("a")
    assert "policy=save_only_these_names('a', 'b')" in str(make())


def test_a_name_that_is_no_string_is_refused_in_words():
    with pytest.raises(TypeError, match=r"save_only_these_names got sin of type Primitive. Give the names, as strings"):
        policies.save_only_these_names(sin_p)
    with pytest.raises(TypeError, match="save_from_both_policies got 'a' of type str as a policy"):
        policies.save_from_both_policies(policies.dots_saveable, "a")
