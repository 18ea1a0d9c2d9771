"""Functions with derivative rules under `interpret`; tests/laws has the derivatives."""

import numpy as np
import pytest

from calque_core import interpret, lax, make_jaxpr
from calque_core.ops.calls.custom import custom_jvp_call_p, custom_vmap_call_p
from calque_core.ops.calls.custom_closures import CustomRules

SWAP = {lax.sin_p: lax.cos}


def jvp(primals, tangents):
    return [lax.sin(primals[0])], [lax.mul(tangents[0], 7.0)]


def program(primitive):
    rules = CustomRules("sine", "sine", (), jvp=jvp)
    jaxpr = make_jaxpr(lax.sin)(1.0)
    return make_jaxpr(lambda x: primitive.bind(x, jaxpr=jaxpr, rules=rules)[0])(1.0)


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high


INTERVALS = {lax.sin_p: lambda x: Interval(np.sin(x.low), np.sin(x.high))}


def test_in_evaluation_the_function_is_interpreted():
    assert interpret(program(custom_jvp_call_p), SWAP, 1.0) == [np.cos(1.0)]
    (out,) = interpret(program(custom_jvp_call_p), INTERVALS, Interval(0.0, 1.0))
    assert (out.low, out.high) == (0.0, np.sin(1.0))


def test_under_a_trace_the_call_stays_a_call_with_interpreted_rules():
    jaxpr = make_jaxpr(lambda x: interpret(program(custom_jvp_call_p), SWAP, x)[0])(1.0)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is custom_jvp_call_p
    assert "cos" in str(eqn.params["jaxpr"])
    outs, dots = eqn.params["rules"].jvp([1.0], [2.0])
    assert (outs, dots) == ([np.cos(1.0)], [14.0])


def test_a_call_with_a_rule_for_batches_alone_is_its_program():
    jaxpr = make_jaxpr(lambda x: interpret(program(custom_vmap_call_p), SWAP, x)[0])(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["cos"]


def test_values_that_are_no_arrays_are_refused_where_a_derivative_may_be_asked_for():
    def ends(x):
        (out,) = interpret(program(custom_jvp_call_p), table, Interval(x, x))
        return out.low

    table = {lax.sin_p: lambda x: Interval(lax.sin(x.low), lax.sin(x.high))}
    with pytest.raises(
        NotImplementedError,
        match=r"a call of sine at test_table_interpreter_custom\.py.* Give the table a rule for custom_jvp",
    ):
        make_jaxpr(ends)(1.0)
    table[custom_jvp_call_p] = lambda *xs, jaxpr, rules: interpret(jaxpr, table, *xs)
    assert [eqn.primitive.name for eqn in make_jaxpr(ends)(1.0).eqns] == ["sin", "sin"]
