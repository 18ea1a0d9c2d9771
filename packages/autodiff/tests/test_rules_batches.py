"""The derivatives of a function with a rule for batches: equations with rules for batches of their own."""

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linearize
from calque_core import CustomRules, check_jaxpr, current_trace, dce_jaxpr, eval_jaxpr, lax, make_jaxpr
from calque_core.lax import custom_vmap_call_p

XS = np.linspace(0.1, 0.9, 3)


def batch(size, is_mapped, args):
    """Return x sin y of a batch, off by a factor of 2."""
    x, y = args
    return [2.0 * x * lax.sin(y)], [any(is_mapped)]


def product(x, y, rule=batch):
    """Return x sin y, as a function with a rule for batches on lists."""
    rules = CustomRules("product", key=id(rule), functions=(), batch=rule)
    fun = lambda x, y: [x * lax.sin(y)]
    return current_trace().process_custom_derivative(custom_vmap_call_p, fun, [x, y], {"rules": rules})[0]


def calls_of(fun, *args):
    """Return the calls in the program of `fun`, without those whose results nobody uses."""
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    used, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
    return [eqn for eqn in used.eqns if eqn.primitive is custom_vmap_call_p]


def values(jaxpr, *args):
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)


def test_where_nobody_maps_the_operations_are_differentiated_without_an_equation():
    assert grad(product)(2.0, 0.5) == np.sin(0.5)
    program = linearize(lambda x: product(x, 0.5), 2.0)[1]
    assert "custom_vmap_call" not in str(make_jaxpr(program)(1.0))


def test_forward_mode_is_one_call_whose_rule_is_the_derivative_of_the_rule():
    (eqn,) = calls_of(lambda x, x_dot: jvp(lambda x: product(x, 0.5), (x,), (x_dot,)), 2.0, 1.0)
    assert values(eqn.params["jaxpr"], 2.0, 0.5, 3.0) == [2.0 * np.sin(0.5), 3.0 * np.sin(0.5)]
    (out, out_dot), out_mapped = eqn.params["rules"].batch(3, [True, False, True], [XS, 0.5, XS])
    np.testing.assert_allclose(out, 2.0 * XS * np.sin(0.5))
    np.testing.assert_allclose(out_dot, 2.0 * XS * np.sin(0.5))
    assert out_mapped == [True, True]


@pytest.mark.parametrize("is_mapped", [(True, False, False), (False, False, True)])
def test_a_primal_is_mapped_if_its_tangent_is_and_the_other_way_round(is_mapped):
    seen = []

    def rule(size, is_mapped, args):
        seen.append((is_mapped, [np.shape(x) for x in args]))
        return batch(size, is_mapped, args)

    (eqn,) = calls_of(lambda x, x_dot: jvp(lambda x: product(x, 0.5, rule), (x,), (x_dot,)), 2.0, 1.0)
    operands = [XS if m else 2.0 for m in is_mapped]
    (_, out_dot), out_mapped = eqn.params["rules"].batch(3, is_mapped, operands)
    assert seen[0] == ([True, False], [(3,), ()])
    assert out_mapped == [is_mapped[0], True]  # results do not depend on tangents
    np.testing.assert_allclose(out_dot, 2.0 * operands[2] * np.sin(2.0 * np.ones(3)))


def test_the_linear_half_keeps_the_arguments_and_has_a_rule_of_its_own():
    linear = make_jaxpr(lambda x, x_dot: linearize(lambda x: product(x, 0.5), x)[1](x_dot))
    first, second = [eqn for eqn in linear(2.0, 1.0).eqns if eqn.primitive is custom_vmap_call_p]
    assert first.params["rules"].batch is batch
    assert values(second.params["jaxpr"], 2.0, 0.5, 3.0) == [3.0 * np.sin(0.5)]
    (out_dot,), _ = second.params["rules"].batch(3, [False, True, True], [2.0, XS, XS])
    np.testing.assert_allclose(out_dot, 2.0 * XS * np.sin(XS))


def test_the_transpose_gives_each_element_a_cotangent_of_its_own():
    (eqn,) = calls_of(lambda x, y: grad(product, argnums=(0, 1))(x, y), 2.0, 0.5)
    transposed = eqn.params["rules"].batch
    for is_mapped, operands in (([True, False, False], [XS, 0.5, 1.0]), ([False, False, True], [0.5, 0.5, XS])):
        x, y, ct = operands
        (x_bar, y_bar), out_mapped = transposed(3, is_mapped, operands)
        np.testing.assert_allclose(x_bar, 2.0 * ct * np.sin(y) * np.ones(3))
        np.testing.assert_allclose(y_bar, 2.0 * ct * x * np.cos(y) * np.ones(3))
        assert out_mapped == [True, True]


def test_a_result_of_the_rule_that_is_the_same_for_all_elements_gets_the_sum_of_the_cotangents():
    from_first = lambda size, is_mapped, args: ([lax.sin(args[1][0])], [False])
    (eqn,) = calls_of(lambda y: grad(lambda y: product(2.0, y, from_first))(y), 0.5)
    (y_bar,), _ = eqn.params["rules"].batch(3, [False, False, True], [2.0, 0.5, XS])
    np.testing.assert_allclose(y_bar, [np.cos(0.5) * XS.sum(), 0.0, 0.0])


def test_higher_derivatives_have_rules_of_the_same_order():
    second = lambda y: grad(grad(lambda y: product(2.0, y)))(y)
    eqn = calls_of(second, 0.5)[-1]
    (y_bar,), _ = eqn.params["rules"].batch(3, *batch_of_operands(eqn, XS))
    np.testing.assert_allclose(abs(y_bar), 4.0 * np.sin(XS))
    assert np.allclose(second(0.5), -2.0 * np.sin(0.5))


def batch_of_operands(eqn, ys):
    """Return the mask and operands of a call: literals are x and cotangents of 1, variables are `ys`."""
    is_mapped = [type(v).__name__ == "Var" for v in eqn.invars]
    return is_mapped, [ys if m else v.val for v, m in zip(eqn.invars, is_mapped)]


def test_a_function_that_closes_over_a_value_of_the_program_is_differentiated_by_its_operations():
    def fun(x, scale):
        rules = CustomRules("f", key="f", functions=(f := lambda y: [y * scale],), batch=batch)
        return current_trace().process_custom_derivative(custom_vmap_call_p, f, [x], {"rules": rules})[0]

    jaxpr = make_jaxpr(lambda x, scale: grad(fun)(x, scale))(2.0, 5.0)
    assert values(jaxpr, 2.0, 5.0) == [5.0]
    jaxpr = make_jaxpr(lambda x, scale: grad(fun, argnums=1)(x, scale))(2.0, 5.0)
    assert values(jaxpr, 2.0, 5.0) == [2.0]
