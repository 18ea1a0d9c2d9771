"""What needs `jet` and `autodiff` both: one through the other, and rules that autodiff's authors give."""

from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import (
    checkpoint,
    custom_jvp,
    custom_root,
    custom_vjp,
    defbilinear,
    defjvp,
    deflinear,
    grad,
    jvp,
    zero_derivative,
)
from calque_core import Primitive, UnexpectedTracerError, lax, make_jaxpr, rules
from calque_core.kits.matrix import standard_primitives
from calque_jet import jet
from calque_numpy.scipy import special


def composite(x):
    return lax.exp(lax.sin(x) * x) / (1.0 + x * x)


def slope(f):
    return lambda x: jvp(f, (x,), (lax.ones_like(x),))[1]


def derivatives(f, x, order):
    """Return f(x) and its derivatives by nested jvp."""
    towers = [f]
    for _ in range(order):
        towers.append(slope(towers[-1]))
    return [tower(np.float64(x)) for tower in towers]


def taylor(f, x, order):
    """Return f(x) and its derivatives by jet."""
    out, series = jet(f, (x,), ([lax.ones_like(x)] + [0] * (order - 1),))
    return [out, *series]


def check_taylor(f, x, order, rtol=1e-11):
    np.testing.assert_allclose(taylor(f, x, order), derivatives(f, x, order), rtol=rtol)


# One through the other


def test_order_1_is_jvp():
    x, v = np.array([0.3, -0.7, 1.2]), np.array([1.0, 0.5, -2.0])
    out, (out_dot,) = jet(composite, (x,), ([v],))
    want, want_dot = jvp(composite, (x,), (v,))
    np.testing.assert_array_equal(out, want)
    np.testing.assert_allclose(out_dot, want_dot, rtol=1e-14)


def test_grad_of_jet_is_a_derivative_of_higher_order():
    third = lambda x: taylor(composite, x, 3)[3]
    np.testing.assert_allclose(grad(third)(0.4), derivatives(composite, 0.4, 4)[4], rtol=1e-11)


def test_jet_of_grad_is_a_derivative_of_higher_order():
    np.testing.assert_allclose(taylor(grad(composite), 0.4, 3), derivatives(composite, 0.4, 4)[1:], rtol=1e-11)


# Primitives whose author knows autodiff alone


def bare(name, impl):
    primitive = Primitive(name)
    primitive.def_impl(impl)
    primitive.def_abstract_eval(lambda *avals: avals[0].strip_weak_type())
    return primitive


def test_a_linear_primitive_needs_no_more_than_deflinear():
    primitive = bare("mirror", np.flip)
    deflinear(primitive, lambda ct, x: [primitive.bind(ct)])
    x = np.arange(3.0)
    out, series = jet(lambda x: primitive.bind(x * x), (x,), ([np.ones(3), 0, 0],))
    np.testing.assert_array_equal([out, *series], [[4, 1, 0], [4, 2, 0], [2, 2, 2], [0, 0, 0]])
    names = [e.primitive.name for e in make_jaxpr(lambda x: jet(primitive.bind, (x,), ([x] * 8,)))(x).eqns]
    assert names.count("mirror") == 9


def test_a_bilinear_primitive_needs_no_more_than_defbilinear():
    primitive = bare("product", np.multiply)
    defbilinear(primitive, lambda ct, x, y: primitive.bind(ct, y), lambda ct, x, y: primitive.bind(x, ct))
    check_taylor(lambda x: primitive.bind(lax.sin(x), lax.exp(x)), 0.4, 5)


def test_a_constant_primitive_needs_no_more_than_zero_derivative():
    primitive = bare("step", np.sign)
    zero_derivative(primitive, reason="it is piecewise constant")
    assert [float(d) for d in taylor(lambda x: primitive.bind(x) * x, 0.4, 2)] == [0.4, 1.0, 0.0]


def test_a_primitive_with_a_slope_needs_no_more_than_defjvp():
    primitive = bare("sine", np.sin)
    defjvp(primitive, lambda x_dot, out, x: x_dot * lax.cos(x))
    check_taylor(lambda x: primitive.bind(x * x), 0.4, 5)


def test_autodiff_gives_no_taylor_rules():
    modules = {p._rules["jet"].module for p in standard_primitives() if p in rules("jet")}
    assert "calque_autodiff" not in {module.split(".")[0] for module in modules}


@pytest.mark.parametrize("primitive", [p for p in standard_primitives() if p.linearity == "linear"], ids=str)
def test_what_core_declares_linear_has_a_transpose(primitive):
    assert primitive in rules("transpose")


# Functions with derivative rules of their own


def test_a_jvp_rule_of_the_user_is_followed_to_all_orders():
    doubled = custom_jvp(lambda x: lax.sin(x))
    doubled.defjvps(lambda x_dot, out, x: x_dot * 2.0 * lax.cos(x) * out)
    check_taylor(lambda x: doubled(x * x), 0.6, 5)


def test_a_jvp_rule_of_the_user_is_followed_in_a_program():
    doubled = custom_jvp(lambda x: lax.sin(x))
    doubled.defjvps(lambda x_dot, out, x: x_dot * 2.0 * out)
    check_taylor(lambda x: lax.scan(lambda c, _: (doubled(c), None), x, None, length=2)[0], 0.6, 4)


def test_a_function_with_only_a_vjp_rule_is_refused():
    f = custom_vjp(lambda x: lax.sin(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * lax.cos(x),))
    with pytest.raises(TypeError, match="this function has only a vjp rule"):
        taylor(f, 0.5, 2)


def test_a_closed_over_series_in_a_function_with_rules_is_refused():
    def f(x):
        inner = custom_jvp(lambda y: y * x)
        inner.defjvps(lambda y_dot, out, y: y_dot)
        return inner(x)

    with pytest.raises(UnexpectedTracerError, match="closes over a value that is being differentiated"):
        taylor(f, 0.5, 2)


# Programs inside


def test_a_checkpointed_function_stays_one():
    f = checkpoint(lambda x: lax.sin(lax.exp(x)))
    check_taylor(f, 0.3, 5)
    jaxpr = make_jaxpr(lambda x: jet(f, (x,), ([1.0, 0],)))(1.0)
    assert [e.primitive.name for e in jaxpr.eqns].count("remat") == 1


def root_of(a):
    newton = lambda f, x: lax.fori_loop(0, 7, lambda _, x: 0.5 * (x + lax.stop_gradient(a) / x), x)
    return custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))


def test_roots():
    check_taylor(root_of, 1.7, 4)
    np.testing.assert_allclose(jet(root_of, (1.7,), ([1.0, 0, 0],))[1], jet(lax.sqrt, (1.7,), ([1.0, 0, 0],))[1])


def test_auxiliary_results_have_no_series():
    f = lambda a: custom_root(lambda x: x - a, 1.0, lambda f, x: (a * 1.0, a), lambda g, y: y, has_aux=True)
    _, (series, aux_series) = jet(f, (2.0,), ([1.0, 3.0],))
    assert ([float(d) for d in series], [float(d) for d in aux_series]) == ([1.0, 3.0], [0.0, 0.0])


@pytest.mark.parametrize("f", [special.i0, special.i1], ids=["i0", "i1"])
def test_modified_bessel_functions_have_right_series_at_0_and_near_it(f):
    for x in (0.0, 1e-300, 1e-9, -1e-4, 0.01, 0.24, -0.26, 3.0):
        value, series = jet(f, (x,), ([1.0, 0, 0, 0],))
        want, derivative = [], f
        for _ in range(5):
            want.append(derivative(x))
            derivative = grad(derivative)
        np.testing.assert_allclose([value, *series], want, rtol=1e-9, atol=1e-12, err_msg=str(x))
