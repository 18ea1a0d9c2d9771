from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import checkpoint_name
from calque_autodiff import checkpoint_policies as policies
from calque_autodiff.rules.calls.saving import cut_jaxpr
from calque_core import Primitive, check_jaxpr, dce_jaxpr, eval_jaxpr, jaxpr_equal, lax, make_jaxpr

by_name = policies.save_only_these_names("hidden")
POLICIES = [
    policies.nothing_saveable,
    policies.everything_saveable,
    policies.dots_saveable,
    by_name,
    policies.save_anything_except_these_names("hidden"),
]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=policies.policy_name)


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def needed(jaxpr, policy):
    """Return what is left to be computed again, without dead code."""
    return dce_jaxpr(cut_jaxpr(jaxpr, policy).again, [True] * len(jaxpr.outvars))[0]


def hidden_exp(x):
    return lax.sin(checkpoint_name(lax.exp(x), "hidden"))


def looped(c, xs):
    step = lambda c, x: (lax.cos(hidden_exp(c) * x), (c, hidden_exp(x)))
    return lax.scan(step, c, xs)


def branching(x, y):
    return lax.cond(x > 0.0, hidden_exp, lambda z: hidden_exp(z * y) + hidden_exp(z), y)


PROGRAMS = {
    "operations": (lambda x, y: lax.cos(hidden_exp(x * y)), (0.5, np.arange(3.0))),
    "loop": (looped, (0.5, np.arange(3.0))),
    "loop of no step": (looped, (0.5, np.zeros(0))),
    "first branch": (branching, (0.5, 2.0)),
    "second branch": (branching, (-0.5, 2.0)),
}


@each_policy
@pytest.mark.parametrize("name", [*PROGRAMS, "call"])
def test_both_programs_give_the_results(called, policy, name):
    fun, args = PROGRAMS.get(name, (lambda x: called(hidden_exp)(x) * x, (0.5,)))
    jaxpr = make_jaxpr(fun)(*args)
    want = eval_jaxpr(jaxpr, jaxpr.consts, *args)
    cut = cut_jaxpr(jaxpr, policy)
    check_jaxpr(cut.forward)
    check_jaxpr(cut.again)
    outs = eval_jaxpr(cut.forward, cut.forward.consts, *args)
    again = eval_jaxpr(cut.again, cut.again.consts, *args, *outs[len(want) :])
    for x, y, z in zip(want, outs, again):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(x, z)


def test_without_a_policy_all_is_computed_again():
    jaxpr = make_jaxpr(hidden_exp)(0.5)
    cut = cut_jaxpr(jaxpr, policies.nothing_saveable)
    assert jaxpr_equal(cut.forward, jaxpr)
    assert jaxpr_equal(cut.again, jaxpr)


@pytest.mark.parametrize("name", PROGRAMS)
def test_if_everything_is_saved_nothing_is_computed_again(name):
    fun, args = PROGRAMS[name]
    assert names(needed(make_jaxpr(fun)(*args), policies.everything_saveable)) == []


def test_a_saved_name_stands_for_the_operation_before():
    jaxpr = make_jaxpr(lambda x: (hidden_exp(x), lax.exp(x)))(0.5)
    assert names(needed(jaxpr, by_name)) == ["sin", "exp"]
    jaxpr = make_jaxpr(lambda x: lax.cos(checkpoint_name(checkpoint_name(lax.exp(x), "other"), "hidden")))(0.5)
    assert names(needed(jaxpr, by_name)) == ["cos"]


def test_a_policy_sees_into_calls_loops_and_branches(called):
    for fun, args in (PROGRAMS["loop"], PROGRAMS["first branch"], (called(hidden_exp), (0.5,))):
        jaxpr = make_jaxpr(fun)(*args)
        found = [eqn for inner in needed(jaxpr, by_name).eqns for eqn in inner_equations(inner)]
        assert found
        assert "exp" not in {eqn.primitive.name for eqn in found}


def inner_equations(eqn):
    programs = [eqn.params["jaxpr"]] if "jaxpr" in eqn.params else eqn.params.get("branches", ())
    return [inner for program in programs for inner in program.eqns]


def test_what_branches_save_shares_places():
    [cond] = [
        eqn for eqn in cut_jaxpr(make_jaxpr(branching)(0.5, 2.0), by_name).forward.eqns if eqn.primitive is lax.cond_p
    ]
    assert len(cond.outvars) == 1 + 2  # two places for the one value of a branch and the two of the other


def test_what_has_an_effect_happens_once():
    told_p = Primitive("told", effects=frozenset({"telling"}))
    told_p.def_abstract_eval(lambda x: x.strip_weak_type())
    jaxpr = make_jaxpr(lambda x: lax.sin(told_p.bind(lax.cos(x))))(0.5)
    cut = cut_jaxpr(jaxpr, policies.nothing_saveable)
    assert names(cut.forward) == ["cos", "told", "sin"]
    assert names(needed(jaxpr, policies.nothing_saveable)) == ["sin"]
    assert not cut.again.effects


def called(f, x):
    return lax.jit_p.bind(x, jaxpr=make_jaxpr(f)(x), name="f", compiler=None)[0]


INSIDE = {
    "jit": called,
    "scan": lambda f, x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
    "cond": lambda f, x: lax.cond(x > 0.0, f, lax.sin, x),
    "platform": lambda f, x: lax.platform_dependent(x, cpu=f, default=lax.sin),
    "jit in scan": lambda f, x: lax.scan(lambda c, _: (called(f, c), None), x, None, length=2)[0],
}


@each_policy
@pytest.mark.parametrize("inside", INSIDE)
def test_an_effect_without_a_result_happens_once_inside_a_program_too(inside, policy):
    noted_p = Primitive("noted", multiple_results=True, effects=frozenset({"note"}))
    noted_p.def_abstract_eval(lambda x: [])
    noted = lambda x: (noted_p.bind(x), lax.sin(x))[1]
    jaxpr = make_jaxpr(lambda x: lax.cos(INSIDE[inside](noted, x)))(0.5)
    cut = cut_jaxpr(jaxpr, policy)
    check_jaxpr(cut.forward), check_jaxpr(cut.again)
    assert cut.forward.effects == {"note"}
    assert not cut.again.effects


def test_an_effect_happens_once_though_its_result_has_a_name_that_is_not_saved():
    told_p = Primitive("told", effects=frozenset({"telling"}))
    told_p.def_abstract_eval(lambda x: x.strip_weak_type())
    jaxpr = make_jaxpr(lambda x: lax.sin(checkpoint_name(told_p.bind(lax.cos(x)), "hidden")))(0.5)
    cut = cut_jaxpr(jaxpr, policies.save_anything_except_these_names("hidden"))
    assert cut.forward.effects == {"telling"}
    assert not cut.again.effects


def test_the_cut_of_a_program_is_made_once():
    jaxpr = make_jaxpr(hidden_exp)(0.5)
    assert cut_jaxpr(jaxpr, by_name) is cut_jaxpr(jaxpr, policies.save_only_these_names("hidden"))
    assert cut_jaxpr(jaxpr, by_name) is not cut_jaxpr(jaxpr, policies.dots_saveable)
