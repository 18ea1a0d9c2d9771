"""Rules of one function: what they close over, and where the arguments are that they speak of."""

import numpy as np
import pytest

from calque_core import (
    CustomRules,
    ShapedArray,
    UndefinedPrimal,
    UnexpectedTracerError,
    Zero,
    check_jaxpr,
    current_trace,
    eval_jaxpr,
    float0,
    lax,
    make_jaxpr,
    typeof,
)
from calque_core.lax import custom_jvp_call_p
from calque_core.ops.calls.custom_closures import after_consts, check_unperturbed, close_rules

F64 = ShapedArray((), "float64")
HIDDEN = {}


def call(fun, *args, functions=(), **rules):
    """Call `fun` as a function with rules on lists, which the packages above make of their users' rules."""
    held = (fun, *functions, *(rule for rule in rules.values()))
    given = CustomRules(name="f (f.py:1)", key=tuple(map(id, held)), functions=held, **rules)
    outs = current_trace().process_custom_derivative(custom_jvp_call_p, lambda *xs: [fun(*xs)], args, {"rules": given})
    return outs[0]


def zero(x):
    return Zero(typeof(x).to_tangent_aval())


def the_equation(jaxpr):
    check_jaxpr(jaxpr)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is custom_jvp_call_p]
    return eqn


def scaled(x, a, seen=None):
    """Return a x, with the rule that its tangent is 2 a times that of x."""

    def fun(y):
        return y * a

    def jvp(primals, tangents):
        if seen is not None:
            seen.append(tangents)
        return [call(fun, *primals, jvp=jvp)], [2.0 * a * tangents[0]]

    return call(fun, x, jvp=jvp)


def test_rules_say_whether_there_is_a_derivative_and_print_as_the_function():
    rules = CustomRules("f (f.py:1)", key=0, functions=(), batch=len)
    assert not rules.has_derivative
    assert repr(rules) == "<rules of f (f.py:1)>"
    assert CustomRules("f", key=0, functions=(), jvp=max).has_derivative
    assert CustomRules("f", key=0, functions=(), fwd=max).has_derivative


# On demand


def test_rules_that_close_over_nothing_traced_are_left_to_be_run_on_demand():
    runs = []
    rules = CustomRules("f", key=0, functions=(lambda x: x,), jvp=lambda primals, tangents: runs.append(0))
    assert close_rules(rules, [F64]) == (rules, [])
    make_jaxpr(lambda x: call(lax.sin, x, jvp=rules.jvp))(1.0)
    assert runs == []


def test_a_rule_that_calls_its_own_function_does_not_make_tracing_endless():
    def jvp(primals, tangents):
        return [call(lax.sin, *primals, jvp=jvp)], [lax.cos(primals[0]) * tangents[0]]

    eqn = the_equation(make_jaxpr(lambda x: call(lax.sin, x, jvp=jvp))(1.0))
    outs, (out_dot,) = eqn.params["rules"].jvp([0.0], [3.0])
    assert (outs, out_dot) == ([0.0], 3.0)


# Traced values in closures


def test_what_function_and_rules_close_over_becomes_operands():
    jaxpr = make_jaxpr(scaled)(3.0, 5.0)
    eqn = the_equation(jaxpr)
    x, a = jaxpr.invars
    assert eqn.invars[-1] is x
    assert set(eqn.invars) == {x, a}
    assert eval_jaxpr(jaxpr, jaxpr.consts, 3.0, 5.0) == [15.0]


def test_a_closed_rule_runs_after_its_trace_has_ended():
    eqn = the_equation(make_jaxpr(scaled)(3.0, 5.0))
    *held, x = (3.0 if v is eqn.invars[-1] else 7.0 for v in eqn.invars)
    outs, out_dots = eqn.params["rules"].jvp([*held, x], [*map(zero, held), 1.0])
    assert (outs, out_dots) == ([21.0], [14.0])


def test_a_closed_rule_that_calls_its_own_function_is_traced_once():
    seen = []
    make_jaxpr(lambda x, a: scaled(x, a, seen))(3.0, 5.0)
    assert len(seen) == 1


@pytest.mark.parametrize("place", [0, 1])
def test_a_derivative_with_respect_to_a_closed_over_value_is_refused(place):
    eqn = the_equation(make_jaxpr(scaled)(3.0, 5.0))
    primals = [3.0] * len(eqn.invars)
    tangents = [1.0 if i == place else zero(x) for i, x in enumerate(primals)]
    message = (
        r"f \(f\.py:1\) at test_custom_closures\.py:\d+ \(.*\) closes over a value that is being differentiated, or "
        r"takes one as a static argument, .* Pass the value as an argument that is not static, or through stop_gradient"
    )
    with pytest.raises(UnexpectedTracerError, match=message):
        eqn.params["rules"].jvp(primals, tangents)


def test_check_unperturbed_is_silent_where_nothing_is_perturbed():
    rules = CustomRules("f", key=0, functions=(), jvp=max)
    check_unperturbed(rules, [False, False])
    with pytest.raises(UnexpectedTracerError, match=r"f at .* closes over"):
        check_unperturbed(rules, [False, True])


def with_vjp(x, a):
    """Return a x, with the rule that its cotangent is 3 a times that of the result."""

    def fwd(primals, nonzeros):
        (y,) = primals
        return [y * a], [y], lambda residuals, cts: [3.0 * a * cts[0]]

    return call(lambda y: y * a, x, fwd=fwd)


def test_a_closed_vjp_rule_keeps_what_its_backward_half_needs():
    eqn = the_equation(make_jaxpr(with_vjp)(3.0, 5.0))
    primals = [3.0 if v is eqn.invars[-1] else 7.0 for v in eqn.invars]
    outs, residuals, bwd = eqn.params["rules"].fwd(primals, [v is eqn.invars[-1] for v in eqn.invars])
    assert outs == [21.0]
    assert not any(isinstance(x, (list, tuple)) for x in residuals)
    assert bwd(residuals, [1.0]) == [*[None] * (len(primals) - 1), 21.0]


def test_a_closed_vjp_rule_refuses_a_derivative_with_respect_to_what_it_closes_over():
    eqn = the_equation(make_jaxpr(with_vjp)(3.0, 5.0))
    with pytest.raises(UnexpectedTracerError, match="closes over a value that is being differentiated"):
        eqn.params["rules"].fwd([1.0] * len(eqn.invars), [True] * len(eqn.invars))


def test_a_closed_vjp_rule_gives_none_where_the_rule_does():
    def f(x, y, n, a):
        def fwd(primals, nonzeros):
            return [primals[0] * a], [], lambda residuals, cts: [None, cts[0] * a, Zero(F64)]

        return call(lambda x, y, n: x * a, x, y, n, fwd=fwd)

    eqn = the_equation(make_jaxpr(f)(3.0, 4.0, 2, 5.0))
    *held, _, _, _ = eqn.invars
    primals = [5.0 for _ in held] + [3.0, 4.0, 2]
    _, residuals, bwd = eqn.params["rules"].fwd(primals, [*(False for _ in held), True, True, False])
    assert bwd(residuals, [1.0]) == [*(None for _ in held), None, 5.0, None]


def needing(a, half):
    """Return a vjp rule of 2 y, of which one half uses `a`."""
    used = {"fwd": lambda x: x + 0.0 * a, "bwd": lambda ct: ct * a}
    forwards, backwards = (used[half] if half == name else lambda x: x for name in ("fwd", "bwd"))
    return lambda primals, nonzeros: ([forwards(2.0 * primals[0])], [], lambda residuals, cts: [backwards(cts[0])])


@pytest.mark.parametrize("half", ["fwd", "bwd"])
def test_a_closed_vjp_rule_refuses_a_derivative_with_respect_to_what_one_half_uses(half):
    eqn = the_equation(make_jaxpr(lambda x, a: call(lambda y: 2.0 * y, x, fwd=needing(a, half)))(3.0, 5.0))
    assert len(eqn.invars) == 2
    outs, residuals, bwd = eqn.params["rules"].fwd([5.0, 3.0], [False, True])
    assert (outs, bwd(residuals, [1.0])[1]) == ([6.0], {"fwd": 1.0, "bwd": 5.0}[half])
    with pytest.raises(UnexpectedTracerError, match="closes over a value that is being differentiated"):
        eqn.params["rules"].fwd([5.0, 3.0], [True, True])


def test_zeros_of_a_closed_rule_stay_zeros_and_whole_numbers_have_no_tangent():
    def f(x, n, a):
        def jvp(primals, tangents):
            assert type(tangents[1]) is Zero
            return [primals[0] * a], [zero(primals[0])]

        return call(lambda y, m: y * a, x, n, jvp=jvp)

    eqn = the_equation(make_jaxpr(f)(3.0, 2, 5.0))
    primals = [typeof_value(v) for v in eqn.invars]
    _, (out_dot,) = eqn.params["rules"].jvp(primals, [*map(zero, primals[:-2]), 1.0, np.zeros((), float0)])
    assert type(out_dot) is Zero
    assert out_dot.aval.dtype == np.float64


def typeof_value(v):
    return v.aval.dtype.type(2)


def test_a_rule_that_reaches_a_traced_value_out_of_sight_is_refused():
    def f(x, a):
        HIDDEN["a"] = a
        return call(lambda y: y * x, x, jvp=lambda p, t: ([p[0] * x], [HIDDEN["a"] * t[0]]))

    message = (
        r"the derivative rule of f \(f\.py:1\) at .* uses a traced value of type .*float64\[\] that is not in its "
        r"closure\. Pass it as an argument, or use it through a variable of the enclosing function\."
    )
    with pytest.raises(UnexpectedTracerError, match=message):
        make_jaxpr(f)(1.0, 2.0)


def test_a_transpose_rule_that_closes_over_a_traced_value_is_refused():
    def f(x, a):
        return call(lambda y: y * a, x, jvp=lambda p, t: (p, t), transpose=lambda operands, cts: [a * cts[0]])

    message = r"f \(f\.py:1\) at .* has a transpose rule and closes over a traced value\. Pass the value as an argument"
    with pytest.raises(TypeError, match=message):
        make_jaxpr(f)(1.0, 2.0)


# Leading constants


def test_rules_after_constants_speak_of_the_arguments_only():
    rules = CustomRules(
        "f",
        key="k",
        functions=(),
        jvp=lambda primals, tangents: (primals, tangents),
        fwd=lambda primals, nonzeros: (primals, [], lambda residuals, cts: cts),
        transpose=lambda operands, cts: [ct * 2.0 for ct in cts],
        batch=lambda size, is_mapped, args: (args, is_mapped),
    )
    behind = after_consts(rules, 2)
    primals, nothing = [8.0, 9.0, 1.0], [zero(1.0)] * 2
    assert behind.jvp(primals, [*nothing, 5.0]) == ([1.0], [5.0])
    outs, residuals, bwd = behind.fwd(primals, [False, False, True])
    assert (outs, residuals, bwd(residuals, [4.0])) == ([1.0], [], [None, None, 4.0])
    assert behind.transpose([8.0, 9.0, UndefinedPrimal(F64)], [3.0]) == [None, None, 6.0]
    assert behind.batch is None
    assert behind.key != rules.key


def test_rules_after_no_constants_are_the_same():
    rules = CustomRules("f", key=0, functions=(), jvp=max)
    assert after_consts(rules, 0) is rules
    absent = after_consts(rules, 1)
    assert (absent.fwd, absent.transpose) == (None, None)


def test_rules_after_constants_refuse_a_tangent_of_one():
    rules = CustomRules("f", key=0, functions=(), jvp=max, fwd=max)
    with pytest.raises(UnexpectedTracerError, match="closes over a value that is being differentiated"):
        after_consts(rules, 1).jvp([1.0, 2.0], [1.0, zero(2.0)])
    with pytest.raises(UnexpectedTracerError, match="closes over a value that is being differentiated"):
        after_consts(rules, 1).fwd([1.0, 2.0], [True, False])
