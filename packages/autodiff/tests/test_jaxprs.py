from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import jvp_jaxpr, linearize_jaxpr, partial_eval_jaxpr
from calque_core import Primitive, check_jaxpr, config, eval_jaxpr, lax, make_jaxpr


def example(a):
    return -lax.sin(a)


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_the_program_of_a_derivative_computes_results_and_tangents():
    jaxpr, out_mask = jvp_jaxpr(make_jaxpr(example)(3.0), [True])
    check_jaxpr(jaxpr)
    assert out_mask == [True]
    assert sorted(names(jaxpr)) == ["cos", "mul", "neg", "neg", "sin"]
    assert eval_jaxpr(jaxpr, jaxpr.consts, 3.0, 2.0) == [-np.sin(3.0), -2.0 * np.cos(3.0)]


def test_tangents_that_are_zero_are_left_out_unless_they_are_asked_for():
    program = make_jaxpr(lambda x, y: (lax.sin(x), y * 2.0))(1.0, 1.0)
    jaxpr, out_mask = jvp_jaxpr(program, [True, False])
    assert (len(jaxpr.invars), len(jaxpr.outvars), out_mask) == (3, 3, [True, False])
    jaxpr, out_mask = jvp_jaxpr(program, [True, False], instantiate=[False, True])
    assert out_mask == [True, True]
    assert eval_jaxpr(jaxpr, jaxpr.consts, 0.0, 1.0, 5.0) == [0.0, 2.0, 5.0, 0.0]


def test_a_program_is_cut_into_what_is_known_and_what_is_linear():
    """The example by which the literature explains the unzip: a sine, negated."""
    parts = linearize_jaxpr(make_jaxpr(example)(3.0), [True])
    check_jaxpr(parts.known)
    assert sorted(names(parts.known)) == ["cos", "neg", "sin"]
    assert names(parts.linear) == ["mul", "neg"]
    results = eval_jaxpr(parts.known, parts.known.consts, 3.0)
    residuals = parts.residuals([3.0], results)
    assert eval_jaxpr(parts.linear, parts.linear.consts, *residuals, 2.0) == [-2.0 * np.cos(3.0)]


def test_residuals_that_are_operands_or_results_already_are_not_computed_again():
    parts = linearize_jaxpr(make_jaxpr(lambda x, y: lax.exp(x) * y)(1.0, 2.0), [True, True])
    assert ("in", 1) in parts.sources
    parts = linearize_jaxpr(make_jaxpr(lambda x: lax.exp(x))(1.0), [True])
    assert parts.sources == [("out", 0)]
    assert len(parts.known.outvars) == 1


def test_a_program_is_split_where_knowledge_ends():
    split = partial_eval_jaxpr(make_jaxpr(lambda x, y: (lax.sin(x), lax.exp(x) * y, x))(1.0, 2.0), [True, False])
    check_jaxpr(split.known)
    check_jaxpr(split.unknown)
    assert split.known_outs == [True, False, True]
    assert names(split.unknown) == ["mul"]
    *outs, residual = eval_jaxpr(split.known, split.known.consts, 1.0)
    assert outs == [np.sin(1.0), 1.0]
    assert eval_jaxpr(split.unknown, split.unknown.consts, residual, 2.0) == [2.0 * np.exp(1.0)]


@pytest.mark.parametrize("derive", [jvp_jaxpr, linearize_jaxpr, partial_eval_jaxpr])
def test_what_is_derived_is_made_once_per_mask_and_setting(derive):
    program = make_jaxpr(lambda x, y: lax.sin(x) * y)(1.0, 1.0)
    assert derive(program, [True, False]) is derive(program, [True, False])
    assert derive(program, [True, False]) is not derive(program, [False, True])
    with config.enable_x64(False):
        inside = derive(program, [True, False])
    assert inside is not derive(program, [True, False])


def test_a_rule_given_later_is_used():
    late_p = Primitive("late")
    late_p.def_impl(lambda x: x)
    late_p.def_abstract_eval(lambda x: x.strip_weak_type())
    late_p.def_rule("jvp", lambda primals, tangents: (primals[0], tangents[0]))
    program = make_jaxpr(lambda x: late_p.bind(x))(1.0)
    before, _ = jvp_jaxpr(program, [True])
    late_p.def_rule("jvp", lambda primals, tangents: (primals[0], tangents[0] * 2.0), override=True)
    after, _ = jvp_jaxpr(program, [True])
    assert len(before.eqns) < len(after.eqns)
