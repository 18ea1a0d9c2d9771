"""Lowering of functions with rules of their own: a compiled program has their operations, and nothing of the rules."""

import numpy as np
import pytest

from calque_core import CustomRules, ShapedArray, current_trace, eval_jaxpr, lax, make_jaxpr, stage, trace_state_clean
from calque_core.lax import (
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vjp_fwd_p,
    custom_vjp_linear_p,
    custom_vmap_call_p,
)
from calque_core.ops.calls.custom import Pullback
from calque_xla_backend import jit

pytestmark = pytest.mark.sampled(keep=0.1)

PRIMITIVES = [custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p]
F64 = ShapedArray((), "float64")


def unused(*_):
    raise AssertionError("a rule ran, and nobody asked for a derivative")


def call(fun, *args, primitive=custom_jvp_call_p, **rules):
    """Call `fun`, which gives a list, as a function with rules, as the package of derivatives does."""
    custom_rules = CustomRules("f (f.py:1)", key=id(fun), functions=(fun,), **(rules or {"jvp": unused}))
    return current_trace().process_custom_derivative(primitive, fun, args, {"rules": custom_rules})


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_a_function_with_rules_compiles_to_what_it_evaluates_to(primitive, regime, dtypes_of, check_compiled):
    program = lambda x, y: call(lambda x, y: [lax.mul(x, y), lax.add(x, y)], x, y, primitive=primitive)
    check_compiled(program, [(np.arange(3).astype(d), np.full(3, 2, d)) for d in dtypes_of("iufc")])


def test_its_operations_stand_in_the_program_without_a_function_around_them():
    with_rules = jit(lambda x: call(lambda y: [lax.sin(y) * y], x)[0]).lower(1.0).as_text()
    without = jit(lambda x: lax.sin(x) * x).lower(1.0).as_text()
    body = lambda text: [line.split("loc(")[0].strip() for line in text.splitlines() if "stablehlo" in line]
    assert body(with_rules) == body(without)


def test_it_compiles_inside_loops_and_branches(check_compiled):
    square = lambda x: call(lambda y: [y * y], x)[0]

    def program(p, x):
        looped = lax.scan(lambda c, _: (square(c), c), x, None, length=3)
        bounded = lax.while_loop(lambda c: c < 10.0, lambda c: square(c) + 1.0, x)
        return looped, bounded, lax.cond(p, square, lambda x: -x, x)

    check_compiled(program, [(p, 1.1) for p in (np.True_, np.False_)], ulps=8)


def test_a_captured_value_is_an_operand_or_a_constant(check_compiled):
    table = np.arange(3.0)
    program = lambda x, a: call(lambda y: [y * a + table], x, jvp=lambda p, t: ([p[0] * a], [t[0] * a]))
    check_compiled(program, [(np.ones(3), 2.0), (np.ones(3), 3.0)])


def test_the_function_is_traced_once_for_all_calls_of_the_compiled_program():
    runs = []
    f = jit(lambda x: call(lambda y: [runs.append(y) or lax.sin(y)], x)[0])
    for x in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(f(x), np.sin(x), 1e-15)
    assert len(runs) == 1


def test_a_compiled_function_recorded_in_a_program_keeps_the_rules():
    f = jit(lambda x: call(lambda y: [lax.sin(y)], x)[0])
    np.testing.assert_allclose(f(1.0), np.sin(1.0), 1e-15)
    jaxpr = make_jaxpr(f)(1.0)
    assert "rules=jvp" in str(jaxpr)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, 1.0)[0], np.sin(1.0), 1e-15)


def pulled_back(fun):
    """Return the derivative of a function at 0.5 as differentiation by a vjp rule leaves it."""
    pullback = Pullback("f (f.py:1)", fun, transpose=unused, out_avals=(F64,))
    return lambda t: custom_vjp_linear_p.bind(0.5, t, pullback=pullback)[0]


def test_the_equation_of_a_vjp_rule_compiles_by_its_function():
    f_lin = pulled_back(lambda x, t: [5.0 * lax.cos(x) * t])
    np.testing.assert_allclose(jit(f_lin)(2.0), 10.0 * np.cos(0.5), 1e-15)


def test_without_a_jvp_rule_compiling_it_raises_the_error_of_the_function():
    def refuse(*operands):
        raise TypeError("there is no jvp rule")

    with pytest.raises(TypeError, match="there is no jvp rule"):
        jit(pulled_back(refuse))(2.0)
    assert trace_state_clean()


def test_a_forward_half_compiles_to_its_program():
    fwd = stage(lambda x: [lax.sin(x), lax.exp(x)], [F64])
    f = jit(lambda x: custom_vjp_fwd_p.bind(x, fwd=fwd, fun=stage(lambda x: [lax.sin(x)], [F64]), name="f"))
    np.testing.assert_allclose(f(0.5), [np.sin(0.5), np.exp(0.5)], 1e-15)
    on_device = custom_vjp_fwd_p.bind(jit(lax.add)(0.25, 0.25), fwd=fwd, fun=fwd, name="f")
    np.testing.assert_allclose(on_device, [np.sin(0.5), np.exp(0.5)], 1e-15)
