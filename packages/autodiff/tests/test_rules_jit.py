from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import defjvp_all, grad, jvp, linearize, vjp
from calque_core import Primitive, check_jaxpr, dce_jaxpr, debug, eval_jaxpr, float0, lax, make_jaxpr
from calque_core.lax import jit_p


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_programs_obey_the_laws(called, spaced, laws):
    laws(called(lambda x, y: lax.sin(x) * lax.exp(y) + x), spaced((3,)), 0.5)


def test_programs_in_programs_obey_the_laws(called, spaced, laws):
    inner = lambda x: called(lambda z: lax.cos(z) * x)(lax.tanh(x))
    laws(called(lambda x: inner(x) * 2.0), spaced((3,)))


def test_a_program_that_closes_over_a_traced_value_obeys_the_laws(called, laws):
    laws(lambda x: called(lambda y: lax.sin(y) * x)(x * x), 0.7)


def test_the_forward_program_is_one_and_so_is_the_backward_one(called):
    jaxpr = make_jaxpr(grad(called(lambda x: lax.sin(x) * lax.exp(x))))(1.0)
    check_jaxpr(jaxpr)
    assert names(jaxpr) == ["jit", "jit"]
    backward = jaxpr.eqns[1].params["jaxpr"]
    assert set(names(backward)) <= {"mul", "add_any"}


def test_the_parameters_of_the_call_are_passed_on(called):
    compiled = []

    def compiler(jaxpr, args):
        compiled.append(jaxpr.debug_name)
        return eval_jaxpr(jaxpr, jaxpr.consts, *args)

    program = make_jaxpr(lax.sin)(1.0)
    f = lambda x: jit_p.bind(x, jaxpr=program, name="f", compiler=compiler)[0]
    assert grad(f)(1.0) == np.cos(1.0)
    assert jvp(f, (1.0,), (1.0,))[1] == np.cos(1.0)
    assert len(compiled) == 3


def test_results_without_a_derivative_have_none(called):
    program = make_jaxpr(lambda x: (lax.sin(x), lax.argmax(x, 0), np.ones(2), x))(np.arange(3.0))
    f = lambda x: tuple(jit_p.bind(x, jaxpr=program, name="f", compiler=None))
    _, dots = jvp(f, (np.arange(3.0),), (np.ones(3),))
    assert dots[1].dtype == float0
    assert not dots[2].any()
    assert dots[3].tolist() == [1.0, 1.0, 1.0]
    cts = (np.zeros(3), np.zeros((), float0), np.ones(2), np.array([1.0, 2.0, 3.0]))
    assert vjp(f, np.arange(3.0))[1](cts)[0].tolist() == [1.0, 2.0, 3.0]


def test_forwarded_operands_and_residuals_keep_their_places(called, laws):
    """Cf. https://github.com/jax-ml/jax/issues/20267."""
    laws(called(lambda x, y: lax.reduce_sum(x * y) + lax.sin(y)), np.array([1.0, 2.0]), 0.3)
    laws(lambda x, y: called(lambda a, b, c: b * lax.exp(c) * a)(x, x, y), 0.3, 0.4)


def test_an_unused_operand_has_a_zero_cotangent(called):
    x_bar, y_bar = vjp(called(lambda x, y: lax.sin(x)), 0.0, np.ones(2))[1](1.0)
    assert (x_bar, y_bar.tolist()) == (1.0, [0.0, 0.0])


def test_dead_tangents_are_removed_from_the_linear_program(called):
    _, f_lin = linearize(lambda x: called(lambda x: lax.exp(lax.sin(x)) * 0.0 + x)(x), 1.0)
    jaxpr = make_jaxpr(f_lin)(1.0)
    assert len(dce_jaxpr(jaxpr, [True])[0].eqns) == len(jaxpr.eqns)


def test_a_program_inside_a_rule_is_split_into_what_is_known_and_what_is_linear(called, laws):
    bent_p = Primitive("bent")
    bent_p.def_impl(lambda x: np.sin(np.exp(x)))
    bent_p.def_abstract_eval(lambda x: x.strip_weak_type())
    slope = called(lambda x, t: lax.cos(lax.exp(x)) * lax.exp(x) * t)
    defjvp_all(bent_p, lambda primals, tangents: (bent_p.bind(*primals), slope(primals[0], tangents[0])))
    laws(bent_p.bind, 0.7)
    _, f_lin = linearize(bent_p.bind, 0.7)
    (eqn,) = make_jaxpr(f_lin)(1.0).eqns
    assert names(eqn.params["jaxpr"]) == ["mul"]


@pytest.mark.parametrize("depth", [1, 3])
def test_gradients_of_gradients_through_programs_agree(called, depth):
    f, g = lambda x: lax.sin(x) * x, called(lambda x: lax.sin(x) * x)
    for _ in range(depth):
        f, g = grad(f), grad(called(g))
    np.testing.assert_allclose(g(0.3), f(0.3), 1e-13)


def test_a_program_of_tangents_alone_leaves_nothing_to_compute_before(called):
    doubled = Primitive("doubled")
    doubled.def_impl(lambda x: np.multiply(x, 2.0))
    doubled.def_abstract_eval(lambda x: x.strip_weak_type())
    twice = called(lambda t: 2.0 * t)
    defjvp_all(doubled, lambda primals, tangents: (doubled.bind(*primals), twice(*tangents)))

    assert names(make_jaxpr(grad(doubled.bind))(1.0)).count("jit") == 1
    assert grad(doubled.bind)(1.0) == 2.0


def twice_deep(x):
    return lax.sin(x) * x


def linearized_keys(jaxpr):
    return [key[0] for key in jaxpr.memo_keys()]


@pytest.mark.counts
def test_a_program_is_linearized_once_and_never_cut_after_its_derivative(called):
    inner = make_jaxpr(twice_deep)(1.0)
    outer = make_jaxpr(lambda x: jit_p.bind(x, jaxpr=inner, name="inner", compiler=None)[0] * x)(1.0)
    gradient = grad(lambda x: jit_p.bind(x, jaxpr=outer, name="outer", compiler=None)[0])
    for _ in range(2):
        assert gradient(0.5) == pytest.approx(2 * np.sin(0.5) * 0.5 + np.cos(0.5) * 0.25)
    for jaxpr in (outer, inner):
        assert sorted(linearized_keys(jaxpr)) == ["linearize", "linearized call"]


def test_a_program_inside_a_rule_pushes_known_tangents_and_recorded_ones(called, laws):
    """The tangent trace that runs a rule computes the first derivative below and records the second."""
    product = called(lambda x, y: lax.sin(x) * y)

    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        _, slope = jvp(lambda x: product(x, 1.0), (x,), (1.0,))
        _, dot = jvp(lambda t: product(x, t), (x_dot,), (slope,))
        return lax.sin(x) ** 2 / 2, jvp(lambda t: product(0.0, t), (dot,), (dot,))[1] + dot * x_dot

    squared_p = Primitive("squared")
    squared_p.def_impl(lambda x: np.sin(x) ** 2 / 2)
    squared_p.def_abstract_eval(lambda x: x.strip_weak_type())
    squared_p.def_rule("jvp", rule)
    laws(squared_p.bind, 0.7)


def test_the_derivatives_of_a_linearized_program_have_its_effects_once(called):
    seen = []

    def f(x):
        debug.callback(lambda y: seen.append(float(y)), x)
        return lax.sin(x)

    assert grad(called(f))(0.5) == np.cos(0.5)
    assert seen == [0.5]
