"""A backward pass that is staged again records the equations of its first call, and nothing else changes."""

import numpy as np
import pytest

from calque_autodiff import UndefinedPrimal, deftranspose, grad, jvp, linear_transpose, value_and_grad
from calque_core import MissingRuleError, Primitive, config, jaxpr_as_fun, lax, make_jaxpr, named_scope
from calque_core.frames.source import BackwardPosition
from calque_core.testing import check_jaxpr

X = np.linspace(0.5, 1.6, 6).reshape(2, 3)
COUNT = 5  # the third meeting of an operation copies its equations


def total(x):
    return lax.reduce_sum(x, tuple(range(x.ndim)))


def padded(x):
    return lax.pad(x, np.float64(0.0), ((1, 0, 0), (0, 1, 1)))


FUNCTIONS = {
    "products": lambda x: lax.mul(lax.mul(x, x), lax.sin(x)),
    "a sum with itself": lambda x: lax.add(lax.mul(x, x), lax.mul(x, x)),
    "a difference": lambda x: lax.sub(lax.neg(x), lax.mul(x, 3.0)),
    "numbers": lambda x: lax.add(lax.mul(x, 0.0), lax.mul(x, -0.0)),
    "a quotient": lambda x: lax.div(x, lax.exp(x)),
    "a matrix product": lambda x: lax.dot(lax.transpose(x, (1, 0)), lax.sin(x)),
    "a known matrix": lambda x: lax.dot(x, np.ones((3, 2))),
    "layouts": lambda x: lax.reshape(lax.broadcast_in_dim(lax.reduce_sum(x, (0,)), (4, 3), (1,)), (12,)),
    "parts": lambda x: lax.concatenate([lax.slice(x, (0, 1), (2, 3)), x], 1),
    "padding": padded,
    "a choice": lambda x: lax.select(lax.gt(x, 1.0), lax.sin(x), lax.neg(x)),
    "a running sum": lambda x: lax.cumsum(lax.sin(x), 1),
    "a maximum": lambda x: lax.reduce_max(lax.mul(x, x), (1,)),
    "a conversion": lambda x: lax.convert_element_type(lax.sin(lax.convert_element_type(x, "float32")), "float64"),
    "complex numbers": lambda x: lax.real(lax.mul(lax.complex(x, lax.sin(x)), 2.0j)),
    "a reversal": lambda x: lax.rev(lax.sin(x), (0,)),
}


def loss_of(f):
    return lambda x: total(lax.mul(f(x), 2.0))


def described(program):
    """Return a program's text, with the line, the scopes and the pass of each equation."""
    places = [(eqn.source_info, type(eqn.position) is BackwardPosition) for eqn in program.eqns]
    return str(program), places


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_every_backward_pass_records_the_same_equations_for_the_same_lines(f):
    loss = loss_of(f)
    first, *later = [described(make_jaxpr(grad(loss))(X)) for _ in range(COUNT)]
    assert any(is_backward for _, is_backward in first[1])
    assert later == [first] * (COUNT - 1)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_copied_gradient_is_that_of_differences(f):
    loss = loss_of(f)
    for _ in range(COUNT):
        program = make_jaxpr(grad(loss))(X)
    check_jaxpr(program)
    gradient = jaxpr_as_fun(program)(X)[0]
    tolerance = 1e-3 if "f32" in str(program) else 1e-7
    for index in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[index] = 1e-3
        difference = (loss(X + step) - loss(X - step)) / 2e-3
        np.testing.assert_allclose(gradient[index], difference, rtol=1e-5, atol=max(tolerance, 1e-5))


def counted(leaf=True):
    """Return a linear primitive whose implementation may be a leaf, and the list of the calls of its transpose rule."""
    twice_p, calls = Primitive("twice", linearity="linear"), []
    twice_p.def_impl(lambda x, **_: x + x, leaf=leaf)
    twice_p.def_abstract_eval(lambda x, **_: x)

    def twice_transpose(ct, x, **params):
        calls.append(params)
        return [lax.add(ct, ct)]

    deftranspose(twice_p, twice_transpose)
    return twice_p, calls


def backward(f, *args):
    for _ in range(COUNT):
        program = make_jaxpr(lambda ct: linear_transpose(f, *args)(ct))(args[0])
    return program


@pytest.mark.counts
def test_the_rule_of_a_leaf_runs_until_its_equations_are_copied():
    twice_p, calls = counted()
    assert [eqn.primitive.name for eqn in backward(twice_p.bind, X).eqns] == ["add"]
    assert len(calls) == 3


def test_the_rule_of_another_primitive_runs_at_each_call():
    twice_p, calls = counted(leaf=False)
    backward(twice_p.bind, X)
    assert len(calls) == COUNT


@pytest.mark.parametrize("settings", [config.known_operations(False), config.debug_nans()])
def test_the_rule_runs_at_each_call_under_settings_that_look_at_operations(settings):
    twice_p, calls = counted()
    with settings:
        backward(twice_p.bind, X)
    assert len(calls) == COUNT


@pytest.mark.counts
def test_other_settings_have_other_equations():
    twice_p, calls = counted()
    x = X.astype(np.float32)
    backward(twice_p.bind, x)
    assert len(calls) == 3
    for settings in (config.enable_x64(False), config.default_dtype_bits(32)):
        calls.clear()
        with settings:
            backward(twice_p.bind, x)
        assert len(calls) == 3


@pytest.mark.counts
def test_other_types_and_parameters_have_other_equations():
    twice_p, calls = counted()
    backward(twice_p.bind, X)
    backward(twice_p.bind, X[0])
    backward(lambda x: twice_p.bind(x, axis=1), X)
    backward(lambda x: twice_p.bind(x, axis=[1]), X)  # has no hash
    assert len(calls) == 9 + COUNT


def test_a_cotangent_that_is_an_operand_has_its_own_equations():
    product_p = Primitive("product")
    product_p.def_impl(np.multiply, leaf=True)
    product_p.def_abstract_eval(lambda x, y: x)

    def product_transpose(ct, x, y):
        assert type(x) is UndefinedPrimal
        return [lax.square(ct) if ct is y else lax.mul(ct, y), None]

    deftranspose(product_p, product_transpose)

    def names(same):
        def f(ct, y):
            y = ct if same else y
            return linear_transpose(lambda x: product_p.bind(x, y), X)(ct)

        return [eqn.primitive.name for eqn in make_jaxpr(f)(X, X).eqns]

    for _ in range(COUNT):
        assert (names(same=True), names(same=False)) == (["square"], ["mul"])


def test_zeros_of_both_signs_are_different_numbers():
    def f(x):
        return total(lax.add(lax.mul(x, 0.0), lax.mul(x, -0.0)))

    for _ in range(COUNT):
        program = make_jaxpr(grad(f))(X)
    numbers = [
        str(x.val) for eqn in program.eqns if eqn.primitive is lax.mul_p for x in eqn.invars if hasattr(x, "val")
    ]
    assert sorted(numbers) == ["-0.0", "-0.0", "0.0", "0.0"]


def test_an_equation_knows_the_line_and_the_scopes_of_its_own_call():
    def f(x):
        for _ in range(COUNT):
            x = lax.mul(lax.sin(x), 3.0)
        with named_scope("inside"):
            x = lax.mul(lax.sin(x), 3.0)
        return lax.reduce_sum(x, (0, 1))

    program = make_jaxpr(value_and_grad(f))(X)
    start = f.__code__.co_firstlineno
    backward_eqns = [eqn for eqn in program.eqns if type(eqn.position) is BackwardPosition]
    places = {(eqn.source_info.line, eqn.source_info.name_stack) for eqn in backward_eqns if eqn.primitive is lax.mul_p}
    assert places == {(start + 2, "transpose"), (start + 4, "transpose(inside)")}


def test_a_rule_that_is_replaced_drops_the_equations():
    twice_p, _ = counted()
    assert [eqn.primitive.name for eqn in backward(twice_p.bind, X).eqns] == ["add"]
    twice_p.def_rule("transpose", lambda ct, x: [lax.mul(ct, 2.0)], override=True)
    assert [eqn.primitive.name for eqn in backward(twice_p.bind, X).eqns] == ["mul"]


def test_a_rule_that_fails_raises_its_own_error_at_each_call():
    twice_p, _ = counted()
    twice_p.def_rule("transpose", lambda ct, x: lax.add(ct, np.ones(7)), override=True)
    for _ in range(COUNT):
        with pytest.raises(ValueError, match=r"float64\[7\]"):
            make_jaxpr(lambda ct: linear_transpose(twice_p.bind, X)(ct))(X)


def test_a_rule_of_a_wrong_length_is_refused_at_each_call():
    twice_p, _ = counted()
    twice_p.def_rule("transpose", lambda ct, x: [ct, ct], override=True)
    for _ in range(COUNT):
        with pytest.raises(TypeError, match="'twice'"):
            make_jaxpr(lambda ct: linear_transpose(twice_p.bind, X)(ct))(X)


def test_a_primitive_without_a_rule_is_named_at_each_call():
    p = Primitive("without_transpose")
    p.def_impl(np.negative, leaf=True)
    p.def_abstract_eval(lambda x: x)
    for _ in range(COUNT):
        with pytest.raises(MissingRuleError, match="without_transpose"):
            make_jaxpr(lambda ct: linear_transpose(p.bind, X)(ct))(X)


def test_rules_that_capture_an_array_run_at_each_call():
    twice_p, calls = counted()
    weights = np.full((2, 3), 2.0)

    def weighted(ct, x):
        calls.append(1)
        return [lax.mul(ct, weights)]

    twice_p.def_rule("transpose", weighted, override=True)
    program = backward(twice_p.bind, X)
    assert len(calls) >= COUNT
    np.testing.assert_array_equal(jaxpr_as_fun(program)(X)[0], 2.0 * X)


def test_the_rule_runs_at_each_call_under_other_traces():
    twice_p, calls = counted()
    pull = linear_transpose(twice_p.bind, X)
    for _ in range(COUNT):
        program = make_jaxpr(lambda ct: jvp(lambda ct: pull(ct)[0], (ct,), (ct,)))(X)
    assert [eqn.primitive.name for eqn in program.eqns] == ["add", "add_any"]
    assert len(calls) == COUNT
    for _ in range(COUNT):
        np.testing.assert_array_equal(pull(X)[0], 2.0 * X)
    assert len(calls) == 2 * COUNT
