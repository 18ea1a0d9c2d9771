"""A backward pass carries the signs of cotangents: gradients of differences have no `neg`, and the same values."""

import inspect

import numpy as np
import pytest

from calque_autodiff import custom_vjp, deftranspose, grad, jvp, linear_transpose, transpose_jaxpr, vjp
from calque_core import Primitive, config, jaxpr_as_fun, lax, make_jaxpr, rules
from calque_core.testing import check_jaxpr

X, Y = np.array([0.5, -1.5, 2.0]), np.array([1.0, 3.0, -0.25])


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def total(x):
    return lax.reduce_sum(x, (0,))


def differences(x, y):
    return total(lax.mul(lax.sub(x, lax.mul(y, x)), lax.sub(y, lax.neg(lax.sin(x)))))


def test_a_gradient_of_differences_subtracts_and_negates_nothing():
    gradient = make_jaxpr(grad(differences, (0, 1)))(X, Y)
    forward = make_jaxpr(differences)(X, Y)
    assert names(gradient).count("neg") == names(forward).count("neg") == 1
    assert "sub" in names(gradient)[len(forward.eqns) :]
    check_jaxpr(gradient)


@pytest.mark.parametrize("checks", [False, True])
def test_the_values_are_the_central_differences(checks):
    with config.enable_checks(checks):
        bars = grad(differences, (0, 1))(X, Y)
        staged = jaxpr_as_fun(make_jaxpr(grad(differences, (0, 1)))(X, Y))(X, Y)
    for i, (bar, again) in enumerate(zip(bars, staged)):
        np.testing.assert_array_equal(bar, again)
        for k in range(3):
            steps = [np.eye(3)[k] * h * (i == j) for h in (1e-6, -1e-6) for j in (0, 1)]
            slope = (differences(X + steps[0], Y + steps[1]) - differences(X + steps[2], Y + steps[3])) / 2e-6
            np.testing.assert_allclose(bar[k], slope, rtol=1e-7)


def test_a_sign_that_meets_no_other_cotangent_is_computed_once_at_the_line_of_its_origin():
    def f(x, y):
        return lax.mul(lax.sub(x, y), 3.0)  # line 2

    gradient = make_jaxpr(grad(f, 1))(1.0, 2.0)
    assert names(gradient)[-2:] == ["mul", "neg"]
    line = inspect.getsourcelines(f)[1] + 1
    assert gradient.eqns[-1].source_info.line == line


def test_two_negative_cotangents_are_added_before_the_sign():
    transposed, _ = transpose_jaxpr(make_jaxpr(lambda x: lax.sub(lax.neg(x), lax.mul(x, 2.0)))(1.0), [True])
    assert names(transposed) == ["mul", "add_any", "neg"]
    assert jaxpr_as_fun(transposed)(1.0) == [-3.0]


def test_the_transpose_of_the_transpose_of_a_difference_is_the_difference():
    program = make_jaxpr(lax.sub)(1.0, 2.0)
    once, _ = transpose_jaxpr(program, [True, True])
    twice, _ = transpose_jaxpr(once, [True])
    assert (names(once), names(twice)) == (["neg"], ["sub"])
    assert jaxpr_as_fun(twice)(5.0, 3.0) == [2.0]


def test_a_number_that_is_subtracted_from_an_array_gets_the_sum():
    np.testing.assert_allclose(grad(lambda y: total(lax.sub(X, y)))(2.0), -3.0)
    np.testing.assert_allclose(grad(lambda y: total(lax.sub(y, X)))(2.0), 3.0)


def test_a_user_rule_for_the_way_back_gets_the_value_of_a_negative_cotangent():
    seen = []

    @custom_vjp
    def clipped(x):
        return x

    def bwd(_, ct):
        seen.append(ct)
        return (lax.max(ct, 0.0),)

    clipped.defvjp(lambda x: (x, None), bwd)
    assert grad(lambda x: lax.neg(clipped(x)))(1.0) == 0.0
    assert seen == [-1.0]


@pytest.mark.parametrize("leaf", [False, True])
def test_the_transpose_rule_of_a_user_gets_the_value_too(leaf):
    positive_p = Primitive("positive_part_of_the_cotangent")
    positive_p.def_impl(lambda x: x, leaf=leaf)
    positive_p.def_abstract_eval(lambda x: x.strip_weak_type())
    positive_p.def_rule("jvp", lambda primals, tangents: (primals[0], positive_p.bind(*tangents)))
    deftranspose(positive_p, lambda ct, x: [lax.max(ct, 0.0)])
    assert grad(lambda x: lax.neg(positive_p.bind(x)))(1.0) == 0.0
    assert grad(lambda x: lax.neg(lax.neg(positive_p.bind(x))))(1.0) == 1.0


def test_a_rule_that_replaces_the_rule_of_neg_runs():
    calls, before = [], rules("transpose")[lax.neg_p]

    def counted(ct, x):
        calls.append(ct)
        return [lax.neg(ct)]

    lax.neg_p.def_rule("transpose", counted, override=True)
    try:
        assert linear_transpose(lambda x: lax.neg(lax.neg(x)), 1.0)(2.0) == (2.0,)
    finally:
        lax.neg_p.def_rule("transpose", before, override=True)
    assert calls == [2.0, -2.0]
    assert "neg" not in names(make_jaxpr(linear_transpose(lambda x: lax.neg(lax.neg(x)), 1.0))(2.0))


def test_pullbacks_and_derivatives_of_derivatives_agree():
    def f(x):
        return lax.sub(lax.neg(lax.mul(x, x)), lax.sub(1.0, lax.sin(x)))

    _, pullback = vjp(f, X)
    np.testing.assert_allclose(pullback(X)[0], jvp(f, (X,), (X,))[1], rtol=1e-15)
    np.testing.assert_allclose(grad(grad(lambda x: lax.neg(lax.mul(x, lax.mul(x, x)))))(2.0), -12.0)
