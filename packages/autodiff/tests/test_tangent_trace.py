from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import TangentTrace, grad, linearize
from calque_autodiff.traces.tangent_trace import record
from calque_core import MissingRuleError, Primitive, current_trace, lax, make_jaxpr, tracing, typeof
from calque_core.extend import JaxprTrace


def test_what_touches_no_tangent_is_computed_and_what_does_is_recorded():
    trace = TangentTrace(current_trace())
    with tracing(trace):
        t = trace.new_arg(typeof(1.0))
        assert lax.sin(0.0) == 0.0
        out = lax.mul(t, lax.cos(0.0))
        jaxpr = trace.finish([out])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]
    assert jaxpr.eqns[0].invars[1].val == 1.0


def test_a_program_with_a_tangent_inside_is_never_recorded_whole_in_silence():
    holder_p = Primitive("holder")
    holder_p.def_impl(lambda x, *, jaxpr: x)
    holder_p.def_abstract_eval(lambda x, *, jaxpr: x)
    holder_p.def_rule("jvp", lambda primals, tangents, *, jaxpr: (primals[0], holder_p.bind(tangents[0], jaxpr=jaxpr)))
    jaxpr = make_jaxpr(lax.sin)(1.0)
    with pytest.raises(MissingRuleError, match="Partial evaluation rule for 'holder' not implemented"):
        linearize(lambda x: holder_p.bind(x, jaxpr=jaxpr), 1.0)


def test_a_partial_eval_rule_that_binds_its_own_primitive_is_told_to_record():
    twice_p = Primitive("twice", linearity="linear")
    twice_p.def_impl(lambda x, *, jaxpr: 2.0 * x)
    twice_p.def_abstract_eval(lambda x, *, jaxpr: x)
    twice_p.def_rule(
        "jvp", lambda primals, tangents, **params: [twice_p.bind(*x, **params) for x in (primals, tangents)]
    )
    twice_p.def_rule("transpose", lambda ct, x, **params: [twice_p.bind(ct, **params)])
    twice_p.def_rule("partial_eval", lambda known, x, **params: twice_p.bind(x, **params))
    params = {"jaxpr": make_jaxpr(lambda x: 2.0 * x)(1.0)}
    with pytest.raises(RecursionError) as caught:
        grad(lambda x: twice_p.bind(x, **params))(1.0)
    told = [line for line in str(caught.value).splitlines() if "calls itself without end" in line]
    assert len(told) == 1
    assert "JaxprTrace.process_primitive(current_trace(), twice_p, operands, params)" in told[0]

    def as_told(known, *operands, **params):
        return JaxprTrace.process_primitive(current_trace(), twice_p, operands, params)[0]

    twice_p.def_rule("partial_eval", as_told, override=True)
    assert grad(lambda x: twice_p.bind(x, **params))(1.0) == 2.0


def test_recording_is_for_a_tangent_trace_that_is_current():
    with pytest.raises(AssertionError):
        record(lax.sin_p, [1.0], {})


def test_arrays_a_derivative_needs_are_constants_of_its_program_once():
    c = np.arange(3.0)
    trace = TangentTrace(current_trace())
    with tracing(trace):
        t = trace.new_arg(typeof(c))
        jaxpr = trace.finish([lax.mul(lax.mul(t, c), c)])
    assert len(jaxpr.consts) == 1
