import numpy as np
import pytest

from calque_core import (
    ShapedArray,
    check_jaxpr,
    debug,
    eval_jaxpr,
    lax,
    make_jaxpr,
)
from calque_core.engine import merge_equal_equations

F64 = ShapedArray((), "float64")


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def call(jaxpr, *args, name="f"):
    return lax.jit_p.bind(*args, jaxpr=jaxpr, name=name, compiler=None)


def test_equal_equations_are_computed_once_through_any_number_of_steps():
    jaxpr = make_jaxpr(lambda x: lax.mul(lax.exp(lax.sin(x)), lax.exp(lax.sin(x))))(1.0)
    assert names(merge_equal_equations(jaxpr)) == ["sin", "exp", "mul"]
    merged = merge_equal_equations(jaxpr)
    check_jaxpr(merged)
    assert eval_jaxpr(merged, (), 1.0) == eval_jaxpr(jaxpr, (), 1.0)


def test_two_results_stay_two_but_a_result_may_serve_the_program():
    results = merge_equal_equations(make_jaxpr(lambda x: (lax.sin(x), lax.sin(x)))(np.ones(2)))
    assert names(results) == ["sin", "sin"]
    first, second = eval_jaxpr(results, (), np.ones(2))
    assert not np.shares_memory(first, second)
    used = merge_equal_equations(make_jaxpr(lambda x: (lax.neg(lax.sin(x)), lax.sin(x)))(1.0))
    assert names(used) == ["sin", "neg"]
    assert eval_jaxpr(used, (), 1.0) == [-np.sin(1.0), np.sin(1.0)]


@pytest.mark.parametrize(
    "two",
    [
        lambda x: (lax.mul(x, 0.0), lax.mul(x, -0.0)),
        lambda x: (lax.integer_pow(x, 3), lax.integer_pow(x, 5)),
        lambda x: (lax.reduce_precision(x, 8, 7), lax.reduce_precision(x, 8, 9)),
    ],
    ids=["zeros of two signs", "exponents", "parameters"],
)
def test_equations_that_one_can_tell_apart_stay(two):
    jaxpr = make_jaxpr(lambda x: lax.add(*map(lax.sin, two(x))))(2.0)
    assert names(merge_equal_equations(jaxpr)).count("sin") == 2


def test_a_program_without_equal_equations_is_given_back():
    for f in (lambda x: lax.sin(lax.cos(x)), lambda x: lax.sin(lax.sin(x))):
        jaxpr = make_jaxpr(f)(1.0)
        assert merge_equal_equations(jaxpr) is jaxpr


def test_equations_with_effects_or_programs_stay():
    printed = make_jaxpr(lambda x: [debug.print("{}", x), debug.print("{}", x), x][-1])(1.0)
    assert len(merge_equal_equations(printed).eqns) == len(printed.eqns) == 2
    inner = make_jaxpr(lax.sin)(1.0)
    called = make_jaxpr(lambda x: lax.add(*call(inner, x), *call(inner, x)))(1.0)
    assert names(merge_equal_equations(called)) == ["jit", "jit", "add"]
