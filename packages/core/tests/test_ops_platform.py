"""`platform_dependent`: evaluation runs the branch of the CPU; programs keep all branches."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import (
    Primitive,
    check_jaxpr,
    config,
    dce_jaxpr,
    eval_jaxpr,
    interpret,
    lax,
    make_jaxpr,
)
from calque_core.lax import platform_dependent, platform_dependent_p


def double(x):
    return x * 2.0


def triple(x):
    return x * 3.0


@pytest.mark.parametrize(
    ("functions", "want"),
    [
        ({"cpu": double, "tpu": triple}, 10.0),
        ({"tpu": triple, "default": double}, 10.0),
        ({"default": triple, "cpu": double, "cuda": triple}, 10.0),
        ({"default": double}, 10.0),
    ],
)
def test_evaluation_runs_the_function_of_the_cpu_or_the_default(functions, want):
    run = lambda x: platform_dependent(x, **functions)
    jaxpr = make_jaxpr(run)(5.0)
    check_jaxpr(jaxpr)
    assert run(5.0) == want
    assert eval_jaxpr(jaxpr, jaxpr.consts, 5.0) == [want]
    with config.disable_jit(True):
        assert run(5.0) == want


def test_one_equation_holds_all_functions():
    jaxpr = make_jaxpr(lambda x, y: platform_dependent(x, default=lambda x: x + y, tpu=triple))(1.0, 2.0)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is platform_dependent_p
    assert eqn.params["platforms"] == ("tpu", None)
    assert [branch.eqns[0].primitive for branch in eqn.params["branches"]] == [lax.mul_p, lax.add_p]


def test_arguments_and_results_are_trees():
    out = platform_dependent({"a": 1.0}, 2.0, cpu=lambda d, y: [d["a"], (y,)], default=lambda d, y: [y, (y,)])
    assert out == [1.0, (2.0,)]


def test_a_function_for_another_platform_is_traced_but_never_runs():
    elsewhere_p = Primitive("elsewhere")
    elsewhere_p.def_abstract_eval(lambda x: x.strip_weak_type())
    assert platform_dependent(np.float64(5.0), cpu=double, tpu=elsewhere_p.bind) == 10.0


def test_operands_that_no_function_needs_for_the_used_results_go():
    def fun(x, y):
        return platform_dependent(x, y, cpu=lambda x, y: (x, y), default=lambda x, y: (x * 2, x + y))

    jaxpr = make_jaxpr(fun)(1.0, 2.0)
    first, used_first = dce_jaxpr(jaxpr, [True, False])
    _, used_second = dce_jaxpr(jaxpr, [False, True])
    assert (used_first, used_second) == ([True, False], [True, True])
    assert eval_jaxpr(first, (), 2.0) == [2.0]
    check_jaxpr(first)


def test_an_interpreter_runs_the_function_of_the_cpu_or_stages_all():
    run = lambda x: platform_dependent(x, cpu=lax.sin, default=lax.exp)
    jaxpr = make_jaxpr(run)(0.5)
    changed = lambda x: interpret(jaxpr, {lax.sin_p: lax.cos, lax.exp_p: lax.log}, x)
    assert changed(0.5) == [np.cos(0.5)]
    (eqn,) = make_jaxpr(changed)(0.5).eqns
    assert [branch.eqns[0].primitive for branch in eqn.params["branches"]] == [lax.cos_p, lax.log_p]


@pytest.mark.parametrize(
    ("functions", "error", "words"),
    [
        ({}, ValueError, r"platform_dependent at .* got no functions\. Give one for each platform, or a default\."),
        ({"gpu": double}, ValueError, r"platform_dependent at .* got gpu=\. Name the platform: cuda= or rocm=\."),
        ({"tpu": double}, ValueError, r"platform_dependent at .* has no function for the platform 'cpu', and no def"),
        ({"cpu": 3}, TypeError, r"platform_dependent got 3 of type int at .*\. Give a function\."),
        (
            {"cpu": double, "tpu": lambda x: (x, x)},
            TypeError,
            r"platform_dependent branch outputs must have the same pytree structure, but they differ at",
        ),
        (
            {"cpu": double, "tpu": lambda x: np.float32(1)},
            TypeError,
            r"platform_dependent branch outputs must have equal types, but they differ at",
        ),
    ],
)
def test_functions_that_do_not_fit_are_refused(functions, error, words):
    with pytest.raises(error, match=words):
        platform_dependent(np.float64(1.0), **functions)


def test_an_argument_that_is_no_array_is_refused():
    with pytest.raises(TypeError, match=r"platform_dependent at .*: x is 'a' of type str, which is not an array"):
        platform_dependent("a", cpu=double)
