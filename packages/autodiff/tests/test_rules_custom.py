"""The derivative of a call with a vjp rule: one equation, which runs backwards by the vjp rule and forwards by jvp."""

import numpy as np
import pytest

from calque_autodiff import custom_vjp, linearize
from calque_core import UndefinedPrimal, Zero, float0, lax, make_jaxpr, typeof

F64 = typeof(1.0).to_tangent_aval()


def wave(jvp=None):
    """Return a function of x and an integer n, whose results are n sin x and n, with rules that are off by 2 and 3."""
    f = custom_vjp(lambda x, n: (n * lax.sin(x), n))
    f.defvjp(lambda x, n: (f.fun(x, n), n * lax.cos(x)), lambda slope, cts: (2.0 * slope * cts[0], None), jvp=jvp)
    return f


def three_times(primals, tangents):
    (x, n), (x_dot, n_dot) = primals, tangents
    assert n_dot.dtype == float0
    return (n * lax.sin(x), n), (3.0 * n * lax.cos(x) * x_dot, n_dot)


def pullback_of(f):
    """Return the operands and the pullback in the only equation of the linear program at x = 0, n = 5."""
    jaxpr = make_jaxpr(lambda x, x_dot: linearize(lambda x: f(x, 5)[0], x)[1](x_dot))(0.0, 1.0)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is lax.custom_vjp_linear_p]
    return eqn


def test_without_a_jvp_rule_the_operands_are_residuals_and_tangents():
    eqn = pullback_of(wave())
    assert [v.aval for v in eqn.outvars] == list(eqn.params["pullback"].out_avals) == [F64]
    residual_bars = eqn.params["pullback"].transpose([4.0, UndefinedPrimal(F64)], [10.0])
    assert residual_bars == [None, 80.0]


def test_without_a_jvp_rule_running_forwards_says_how_to_give_one():
    message = (
        r"can't apply forward-mode autodiff \(jvp\) to <lambda> \(test_rules_custom\.py:\d+\) at "
        r"test_rules_custom\.py:\d+ .*: this function has only a vjp rule\. Give it a jvp rule too, "
        r"defvjp\(fwd, bwd, jvp=rule\), or let its fwd be differentiated, "
        r'defvjp\(fwd, bwd, jvp="fwd"\); or use reverse mode\.'
    )
    with pytest.raises(TypeError, match=message):
        pullback_of(wave()).params["pullback"].fun(4.0, 1.0)


def test_with_a_jvp_rule_the_primals_are_operands_too():
    eqn = pullback_of(wave(three_times))
    assert len(eqn.invars) == 4
    pullback = eqn.params["pullback"]
    assert pullback.fun(4.0, 0.0, 5, 2.0) == [30.0]
    assert pullback.transpose([4.0, 0.0, 5, UndefinedPrimal(F64)], [10.0]) == [None, None, None, 80.0]


def test_a_tangent_that_is_zero_is_an_array_of_zeros():
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct,), jvp=lambda primals, tangents: (primals[0], Zero(F64)))
    assert linearize(f, 2.0)[1](1.0) == np.float64(0.0)
