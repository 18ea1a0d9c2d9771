"""Primitives of others: what follows from their declarations, their derivative rules and their decompositions."""

import numpy as np
import pytest
from differences import laplacian_by_differences

from calque_core import CustomRules, MissingRuleError, Primitive, current_trace, hand_custom_down, lax, typeof
from calque_core.extend import defjvp, defjvp_all
from calque_laplacian import Triple, defelementwise, deflinear, forward_laplacian, laplacian

X = np.array([0.3, -0.5, 1.2])


def primitive(name, impl, **options):
    made = Primitive(name, **options)
    made.def_impl(impl)
    made.def_abstract_eval(lambda *avals: avals[0])
    return made


def check(fun):
    """Compare a Laplacian, also where the operation is inside of others, with differences."""
    around = lambda x: lax.reduce_sum(lax.exp(fun(lax.mul(x, lax.rev(x, (0,))))))
    for f in (fun, around):
        for weights in (None, 1.0):
            actual = laplacian(f, weights=weights)(X)
            np.testing.assert_allclose(actual, laplacian_by_differences(f, X), rtol=1e-6, atol=1e-6)


def test_a_derivative_rule_serves_where_it_uses_the_operation_itself():
    exponential_p = primitive("exponential", np.exp)
    defjvp(exponential_p, lambda x_dot, out, x: lax.mul(x_dot, exponential_p.bind(x)))
    check(exponential_p.bind)


def test_a_derivative_rule_of_each_element_is_applied_to_all_directions_at_once():
    runs = []
    cube_p = primitive("cube", lambda x: x * x * x)
    cube_p.is_elementwise = True
    defjvp(cube_p, lambda x_dot, out, x: runs.append(1) or lax.mul(x_dot, lax.mul(3.0, lax.mul(x, x))))
    check(cube_p.bind)
    runs.clear()
    laplacian(cube_p.bind)(np.ones(100))
    assert len(runs) <= 2


def test_a_derivative_rule_of_two_operands_and_of_a_constant():
    product_p = primitive("product", lambda x, y: x * y * y)
    defjvp(
        product_p,
        lambda x_dot, out, x, y: product_p.bind(x_dot, y),
        lambda y_dot, out, x, y: lax.mul(lax.mul(2.0, lax.mul(x, y)), y_dot),
    )
    check(lambda x: product_p.bind(lax.sin(x), x))
    check(lambda x: product_p.bind(np.array([1.0, 2.0, 3.0]), x))
    check(lambda x: product_p.bind(x, np.array([1.0, 2.0, 3.0])))


def test_a_derivative_rule_with_several_results_of_which_one_has_no_derivative():
    split_p = Primitive("parts", multiple_results=True)
    split_p.def_impl(lambda x: [np.floor(x).astype(np.int64), x * x])
    split_p.def_abstract_eval(lambda aval: [typeof(np.zeros(aval.shape, np.int64)), aval])

    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        whole, square = split_p.bind(x)
        return [whole, square], [lax.stop_gradient(lax.zeros_like(x)), lax.mul(2.0, lax.mul(x, x_dot))]

    defjvp_all(split_p, rule)
    check(lambda x: lax.add(split_p.bind(x)[1], lax.convert_element_type(split_p.bind(x)[0], np.float64)))


def test_a_linear_primitive_needs_its_declaration_alone():
    turned_p = primitive("turned", lambda x: np.roll(x, 1), linearity="linear")
    check(turned_p.bind)
    told_p = primitive("told", lambda x: np.roll(x, 1, -1), linearity="linear")
    deflinear(told_p)
    check(told_p.bind)


def test_a_bilinear_primitive_needs_its_declaration_alone():
    folded_p = primitive("folded", lambda x, y: np.convolve(x, y, "same"), linearity="bilinear")
    check(lambda x: folded_p.bind(x, lax.sin(x)))
    check(lambda x: folded_p.bind(np.array([1.0, 2.0, 4.0]), x))
    check(lambda x: folded_p.bind(x, np.array([1.0, 2.0, 4.0])))


def test_a_primitive_with_a_decomposition_is_decomposed():
    both_p = primitive("both", lambda x: np.sin(x) * x)
    both_p.def_rule("decomposition", lambda x: lax.mul(lax.sin(x), x))
    check(both_p.bind)


def test_a_rule_of_kind_laplacian_comes_first():
    cube_p = primitive("own_cube", lambda x: x**3)
    defelementwise(cube_p, lambda x, out: (lax.mul(3.0, lax.square(x)), lax.mul(6.0, x)))
    defjvp(cube_p, None)
    check(cube_p.bind)
    line_p = primitive("line", lambda x: 2.0 * x)
    defelementwise(line_p, lambda x, out: (2.0, None))
    check(line_p.bind)
    norm_p = primitive("norms", np.square)
    norm_p.def_rule(
        "laplacian",
        lambda inner, x: Triple(
            norm_p.bind(x.value),
            lax.mul(lax.mul(2.0, x.value), x.jacobian),
            lax.mul(2.0, lax.add(lax.mul(x.value, x.laplacian), inner(x.jacobian, x.jacobian))),
        ),
    )
    check(norm_p.bind)


def test_a_primitive_without_any_rule_is_refused_by_name_and_told_the_ways_out():
    lost_p = primitive("lost", np.sin)
    with pytest.raises(MissingRuleError, match=r"Rule 'laplacian' for 'lost'.*\n.*lost_p.def_rule") as caught:
        laplacian(lost_p.bind)(X)
    assert any("Import calque_autodiff" in note for note in caught.value.__notes__)


# Functions with derivative rules of their own


def custom(fun, rule, args, **rules):
    """Call `fun` as one with a derivative rule: with core alone there is no decorator."""
    jaxpr_rules = CustomRules("steep", object(), (), jvp=rule, **rules)
    function = lambda *xs: [fun(*xs)]
    return hand_custom_down(current_trace(), lax.custom_jvp_call_p, function, args, {"rules": jaxpr_rules})[0]


def steep(x):
    """Return sin(x), whose rule says that the derivative is 2 cos(x)."""
    return custom(lax.sin, lambda xs, x_dots: ([steep(*xs)], [lax.mul(2.0, lax.mul(lax.cos(*xs), *x_dots))]), (x,))


def test_a_function_is_differentiated_by_its_own_rule():
    result = forward_laplacian(steep)(X)
    np.testing.assert_allclose(result.value, np.sin(X))
    np.testing.assert_allclose(result.gradient, np.diag(2.0 * np.cos(X)))
    np.testing.assert_allclose(result.laplacian, -2.0 * np.sin(X))


def test_a_rule_for_reverse_mode_alone_is_refused_with_a_hint():
    function = lambda x: custom(lax.sin, None, (x,), fwd=lambda *args: None)
    with pytest.raises(NotImplementedError, match=r"reverse mode only.*Give the function a custom_jvp rule"):
        laplacian(function)(X)
