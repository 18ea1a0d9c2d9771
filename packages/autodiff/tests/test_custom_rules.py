"""Rules of every kind on one function; what needs vmap is tested where it is at hand."""

import numpy as np
import pytest

from calque_autodiff import SymbolicZero, custom_rules, grad, jvp, linear_transpose, linearize, vjp
from calque_autodiff.custom.custom_rules import is_perturbed
from calque_core import UndefinedPrimal, Zero, eval_jaxpr, lax, make_jaxpr, typeof


def run(f, *args):
    jaxpr = make_jaxpr(f)(*args)
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


def sine(*kinds):
    """Return sin with rules of the given kinds: jvp gives 2 cos x, vjp 3 cos x, linearize 5 cos x."""
    f = custom_rules(lax.sin)
    if "jvp" in kinds:
        f.def_jvp(lambda primals, tangents: (f(*primals), 2.0 * lax.cos(primals[0]) * tangents[0]))
    if "vjp" in kinds:
        f.def_vjp(lambda x: (f(x), x), lambda x, ct: (3.0 * lax.cos(x) * ct,))
    if "linearize" in kinds:
        f.def_linearize(lambda x: (f(x), lax.cos(x)), lambda cos_x, x_dot: 5.0 * cos_x * x_dot)
    return f


FACTORS = {(): (1.0, 1.0), ("jvp",): (2.0, 2.0), ("jvp", "vjp"): (2.0, 3.0), ("linearize",): (5.0, 5.0)}


@pytest.mark.parametrize(("kinds", "factors"), FACTORS.items())
def test_each_mode_takes_its_rule_and_does_without_one(kinds, factors):
    f, slope = sine(*kinds), np.cos(0.7)
    forwards, backwards = lambda x: jvp(f, (x,), (1.0,))[1], grad(f)
    assert f(0.7) == np.sin(0.7)
    for found, factor in ((forwards, factors[0]), (backwards, factors[1])):
        np.testing.assert_allclose(found(0.7), factor * slope, 1e-14)
        np.testing.assert_allclose(run(found, 0.7)[0], factor * slope, 1e-14)


def test_without_a_rule_for_forward_mode_the_vjp_rule_does_not_serve_it():
    with pytest.raises(TypeError, match="this function has only a vjp rule"):
        jvp(sine("vjp"), (0.7,), (1.0,))


def test_rules_are_given_as_decorators_too():
    f = custom_rules(lambda x: x)

    @f.def_jvp
    def rule(primals, tangents):
        return primals[0], 7.0 * tangents[0]

    assert callable(rule)
    assert grad(f)(1.0) == 7.0


def test_a_rule_of_forward_mode_may_ask_for_symbolic_zeros():
    seen = []
    f = custom_rules(lambda x, y: x * y)
    f.def_jvp(lambda p, t: (seen.extend(map(type, t)) or f(*p), t[0] * p[1]), symbolic_zeros=True)
    assert grad(f)(3.0, 5.0) == 5.0
    assert seen[1] is SymbolicZero


def test_static_arguments_go_in_front_in_every_rule():
    f = custom_rules(lambda x, n: x**n, static_argnames="n")
    f.def_linearize(lambda x, n: (x**n, x), lambda n, x, x_dot: 10.0 * n * x ** (n - 1) * x_dot)
    assert grad(lambda x: f(x, 3))(2.0) == 120.0
    f.def_jvp(lambda n, p, t: (p[0] ** n, 20.0 * n * p[0] ** (n - 1) * t[0]))
    assert grad(lambda x: f(x, n=3))(2.0) == 240.0


# Linear functions


def scaling(factor):
    """Return k^2 x, which is linear in x, with a transpose that is `factor` times the right one."""
    f = custom_rules(lambda x, k: k * k * x)
    f.def_transpose(lambda ct, k: factor * f(ct, k))
    return f


def test_a_right_transpose_obeys_the_laws(laws, called):
    laws(scaling(1.0), 0.3, 0.7)
    laws(called(scaling(1.0)), 0.3, 0.7)


def test_reverse_mode_takes_the_transpose_and_forward_mode_needs_nothing():
    f = scaling(5.0)
    assert grad(f)(1.0, 3.0) == 45.0
    assert run(grad(f), 1.0, 3.0) == [45.0]
    assert jvp(f, (1.0, 3.0), (1.0, 0.0)) == (9.0, 9.0)
    assert linear_transpose(lambda x: f(x, 3.0), 1.0)(2.0) == (90.0,)
    assert linearize(lambda x: f(x, 3.0), 1.0)[1](2.0) == 18.0


def test_arguments_in_which_it_is_not_linear_are_differentiated_by_its_operations():
    f = scaling(5.0)
    assert grad(f, 1)(2.0, 3.0) == 12.0
    assert grad(grad(f), 1)(2.0, 3.0) == 30.0


def test_several_arguments_may_be_linear_together():
    f = custom_rules(lambda x, k, p: k * (x + p["w"]))
    f.def_transpose(lambda ct, k: (2.0 * k * ct, {"w": 3.0 * k * ct}), argnums=(0, 2))
    x_bar, k_bar, p_bar = grad(f, (0, 1, 2))(1.0, 5.0, {"w": 2.0})
    assert (x_bar, k_bar, p_bar) == (10.0, 3.0, {"w": 15.0})


def test_none_is_a_cotangent_of_zero():
    f = custom_rules(lambda x, k: k * x)
    f.def_transpose(lambda ct, k: None)
    assert grad(f)(1.0, 2.0) == 0.0


def test_a_transpose_goes_beside_static_arguments():
    f = custom_rules(lambda n, x, k: n * k * x, static_argnums=0)
    f.def_transpose(lambda n, ct, k: 5.0 * n * k * ct, argnums=1)
    assert grad(lambda x: f(2, x, 3.0))(1.0) == 30.0


def test_a_given_derivative_wins_over_the_transpose():
    f = scaling(5.0)
    f.def_jvp(lambda primals, tangents: (f(*primals), 7.0 * tangents[0]))
    assert grad(f)(1.0, 3.0) == 7.0


def test_is_perturbed_looks_for_a_tangent_that_is_not_a_symbolic_zero():
    zero = Zero(typeof(1.0))
    assert is_perturbed({"a": zero, "b": 1.0})
    assert not is_perturbed([zero, ()])


# Errors


def linear(rule, argnums=0, **statics):
    f = custom_rules(lambda x, k: k * x, **statics)
    f.def_transpose(rule, argnums)
    return f


RULE = r"the transpose rule <lambda> \(test_custom_rules\.py:\d+\) of <lambda> \(test_custom_rules\.py:\d+\) "
ABOUT_TRANSPOSES = {
    "too many": (
        linear(lambda ct, k: (ct, ct)),
        TypeError,
        RULE + r"returned a tuple of length 2\. Return a tuple of 1 cot",
    ),
    "another structure": (
        linear(lambda ct, k: {"a": ct}),
        TypeError,
        RULE + r"returned, for argument 0, a cotangent of the structure PyTreeDef\(\{'a': \*\}\), but the argument has",
    ),
    "another shape": (
        linear(lambda ct, k: np.ones(3)),
        TypeError,
        RULE + r"returned a cotangent of float64\[3\] for x, which is float64\[\]\. Return float64\[\]\.",
    ),
    "a generator": (linear(lambda ct, k: (x for x in (ct,))), TypeError, r"the transpose rule of <lambda> .*generator"),
    "out of range": (
        linear(lambda ct, k: ct, argnums=2),
        ValueError,
        r"def_transpose of <lambda> .* got argnums=\(2,\), but there are 2 positional arguments",
    ),
    "static": (
        linear(lambda ct, k: ct, argnums=1, static_argnums=1),
        ValueError,
        r"def_transpose of <lambda> .*: argument 1 is static\. Name arguments that hold arrays\.",
    ),
}


@pytest.mark.parametrize(("f", "error", "message"), ABOUT_TRANSPOSES.values(), ids=ABOUT_TRANSPOSES)
def test_a_wrong_transpose_is_refused_with_its_name(f, error, message):
    with pytest.raises(error, match=message):
        grad(f)(1.0, 2.0)


def test_the_transpose_in_an_argument_that_is_not_linear_is_refused():
    with pytest.raises(TypeError, match=RULE + "cannot transpose an argument in which the function is not"):
        linear_transpose(linear(lambda ct, k: ct), 1.0, 2.0)(1.0)


def test_a_first_half_that_gives_no_pair_is_refused():
    f = custom_rules(lax.sin)
    f.def_linearize(lambda x: x, lambda residuals, x_dot: x_dot)
    with pytest.raises(
        TypeError, match=r"the function fwd, <lambda> .*, of the rule of custom_rules of sin .* Return a pair"
    ):
        jvp(f, (1.0,), (1.0,))


def generator(*args):
    yield args


KINDS = ["def_jvp", "def_transpose", "def_batch"]
PAIRS = ["def_vjp", "def_linearize"]


@pytest.mark.parametrize("kind", [*KINDS, *PAIRS])
def test_what_is_no_rule_is_refused_at_once(kind):
    for given, message in (
        (3, kind + r" got 3 of type int at .* Give a function\."),
        (generator, kind + " of generator"),
    ):
        with pytest.raises(TypeError, match=message):
            getattr(custom_rules(lax.sin), kind)(*[given] * (1 + (kind in PAIRS)))


def test_the_marks_of_transposition_reach_no_rule():
    seen = []
    f = custom_rules(lambda x, k: k * x)
    f.def_transpose(lambda ct, k: seen.extend([ct, k]) or k * ct)
    assert vjp(f, 1.0, 2.0)[1](3.0)[0] == 6.0
    assert not any(isinstance(x, (UndefinedPrimal, Zero)) for x in seen)
