import numpy as np
import pytest

from calque_autodiff import check_vjp, custom_gradient, grad, jvp, value_and_grad, vjp
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr


@custom_gradient
def steep_exp(x):
    """Return exp x; its derivative is said to be 2 exp x."""
    y = lax.exp(x)
    return y, lambda ct: 2.0 * ct * y


def run(jaxpr, *args):
    check_jaxpr(jaxpr)
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


def test_it_gives_the_first_of_the_pair():
    assert steep_exp(0.7) == np.exp(0.7)
    assert run(make_jaxpr(steep_exp)(0.7), 0.7) == [np.exp(0.7)]
    assert steep_exp.__name__ == "steep_exp"


def test_the_second_of_the_pair_is_the_derivative():
    np.testing.assert_allclose(grad(steep_exp)(0.7), 2.0 * np.exp(0.7), 1e-14)
    np.testing.assert_allclose(run(make_jaxpr(grad(steep_exp))(0.7), 0.7)[0], 2.0 * np.exp(0.7), 1e-14)


def test_it_is_the_derivative_of_a_recorded_call_too():
    program = make_jaxpr(lambda x: lax.sin(steep_exp(x)))(0.7)
    found = grad(lambda x: eval_jaxpr(program, program.consts, x)[0])(0.7)
    np.testing.assert_allclose(found, 2.0 * np.exp(0.7) * np.cos(np.exp(0.7)), 1e-14)


def test_what_the_function_computed_is_a_residual_and_not_computed_again():
    runs = []

    @custom_gradient
    def f(x):
        runs.append(x)
        y = lax.exp(x)
        return y, lambda ct: ct * y

    _, f_vjp = vjp(f, 0.7)
    assert (f_vjp(1.0), f_vjp(2.0)) == ((np.exp(0.7),), (2.0 * np.exp(0.7),))
    assert len(runs) == 1


def test_a_right_rule_obeys_the_laws_in_reverse(called):
    @custom_gradient
    def f(p, y):
        out = lax.sin(p["x"]) * y
        return {"out": out}, lambda ct: ({"x": ct["out"] * lax.cos(p["x"]) * y}, ct["out"] * lax.sin(p["x"]))

    for g in (lambda x, y: f({"x": x}, y)["out"], called(lambda x, y: f({"x": x * x}, y)["out"])):
        check_vjp(g, lambda x, y, g=g: vjp(g, x, y), (0.3, 0.7))


def test_higher_derivatives_differentiate_the_backward_function_in_its_cotangent_and_residuals():
    np.testing.assert_allclose(grad(grad(steep_exp))(0.7), derivative_of_the_slope(), 1e-14)
    np.testing.assert_allclose(run(make_jaxpr(grad(grad(steep_exp)))(0.7), 0.7)[0], derivative_of_the_slope(), 1e-14)


def derivative_of_the_slope():
    return 2.0 * np.exp(0.7)  # of 2 y, where y is what the function computed, by its own operations


def test_loops_and_branches_use_it():
    f = lambda x: lax.scan(lambda c, _: (steep_exp(c), None), x, None, length=2)[0]
    np.testing.assert_allclose(grad(f)(0.7), 4.0 * np.exp(0.7) * np.exp(np.exp(0.7)), 1e-14)
    g = lambda x: lax.cond(x > 0.0, steep_exp, lax.sin, x)
    np.testing.assert_allclose(grad(g)(0.7), 2.0 * np.exp(0.7), 1e-14)


def test_arguments_may_be_named_and_have_defaults():
    f = custom_gradient(lambda x, y=2.0: (x * y, lambda ct: (ct * y, None)))
    assert f(x=3.0) == 6.0
    assert value_and_grad(lambda x: f(x, y=5.0))(3.0) == (15.0, 5.0)
    assert value_and_grad(f)(3.0) == (6.0, 2.0)


ABOUT_FUNCTIONS = {
    "no pair": (
        lambda x: x,
        r"custom_gradient of <lambda> .*: the function returned ~float64\[\]\. Return a pair: the output, ",
    ),
    "no function": (
        lambda x: (x, x),
        r"the function returned a tuple of length 2\. Return a pair: the output, and a func",
    ),
    "a generator": (
        lambda x: (y for y in (x, x)),
        r"custom_gradient of <lambda> .*: a generator or coroutine runs after",
    ),
    "too many": (
        lambda x: (x, lambda ct: (ct, ct)),
        (
            r"the bwd rule <lambda> \(test_custom_gradient\.py:\d+\) of <lambda> .* returned a tuple of length 2, but "
            r"it needs a tuple of 1 cotangent"
        ),
    ),
    "another shape": (
        lambda x: (x, lambda ct: np.ones(3)),
        r"the bwd rule <lambda> .* a cotangent of float64\[3\] for x, which is float64\[\]\. Return float64\[\]\.",
    ),
}


@pytest.mark.parametrize(("fun", "message"), ABOUT_FUNCTIONS.values(), ids=ABOUT_FUNCTIONS)
def test_a_wrong_function_is_refused_with_its_name(fun, message):
    with pytest.raises(TypeError, match=message):
        grad(custom_gradient(fun))(1.0)
    with pytest.raises(TypeError, match=message):
        make_jaxpr(grad(custom_gradient(fun)))(1.0)


def test_of_several_arguments_each_needs_a_cotangent():
    f = custom_gradient(lambda x, y: (x * y, lambda ct: ct))
    with pytest.raises(TypeError, match=r"returned float64\[\], but it needs a tuple of 2 cotangents, one for each"):
        grad(f)(1.0, 2.0)


def test_what_is_no_array_is_refused_with_its_name():
    f = custom_gradient(lambda x, mode: (x, lambda ct: (ct, None)))
    with pytest.raises(
        TypeError, match=r"custom_gradient of <lambda> .*: mode is 'fast' of type str, .* close over it"
    ):
        grad(lambda x: f(x, "fast"))(1.0)


def test_what_is_no_function_is_refused_at_once():
    with pytest.raises(TypeError, match=r"custom_gradient got 3 of type int at .* Give a function\."):
        custom_gradient(3)


def test_forward_mode_is_refused():
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to steep_exp .* only a vjp rule"):
        jvp(steep_exp, (1.0,), (1.0,))
