from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import JVPTrace, JVPTracer, TangentTrace, grad, jvp, linearize
from calque_core import Primitive, current_trace, eval_jaxpr, lax, make_jaxpr, tracing, typeof


def test_a_value_without_tangent_is_no_tracer():
    kinds = []
    jvp(
        lambda x: kinds.extend([type(x), type(x + 1.0), type(lax.floor(x)), type(lax.stop_gradient(x))]) or x,
        (1.5,),
        (1.0,),
    )
    assert [issubclass(kind, JVPTracer) for kind in kinds] == [True, True, False, False]


def test_tracers_print_their_primal_and_what_there_is_of_the_tangent():
    texts = []
    jvp(lambda x: texts.append(repr(x)) or x, (1.5,), (2.0,))
    linearize(lambda x: texts.append(repr(x)) or x, 1.5)
    assert texts[0] == "JVPTracer(primal=1.5, tangent=np.float64(2.0))"
    assert texts[1] == "JVPTracer(primal=1.5, typeof(tangent)=float64[])"


def test_rules_run_over_the_tangents_trace_and_their_known_part_on_the_parent():
    traces = []
    probe_p = Primitive("probe")
    probe_p.def_impl(lambda x: x)

    def probe_jvp(primals, tangents):
        traces.append(current_trace())
        return probe_p.bind(*primals), lax.mul(tangents[0], lax.exp(primals[0]))

    probe_p.def_rule("jvp", probe_jvp)
    linearize(probe_p.bind, 0.0)
    assert type(traces[0]) is TangentTrace
    assert traces[0].parent is current_trace()


def test_the_trace_is_one_class_for_both_modes():
    parent = current_trace()
    forward, tangents = JVPTrace(parent, parent), TangentTrace(parent)
    linearizing = JVPTrace(parent, tangents)
    with tracing(forward):
        x = JVPTracer(forward, 3.0, 2.0)
        assert forward.split([lax.square(x)]) == ([9.0], [12.0])
    with tracing(linearizing):
        y = lax.square(JVPTracer(linearizing, 3.0, tangents.new_arg(typeof(3.0))))
        assert y.primal == 9.0
        assert [eqn.primitive.name for eqn in tangents.eqns] == ["mul"]
    assert linearizing.is_closed
    assert tangents.is_closed


def test_one_jvp_rule_serves_forward_mode_and_linearize():
    used = []
    twice_p = Primitive("twice")
    twice_p.def_impl(lambda x: 2.0 * x)
    twice_p.def_rule("jvp", lambda primals, tangents: used.append("jvp") or (2.0 * primals[0], 2.0 * tangents[0]))
    assert jvp(twice_p.bind, (3.0,), (1.0,)) == (6.0, 2.0)
    y, f_lin = linearize(twice_p.bind, 3.0)
    assert (y, f_lin(5.0)) == (6.0, 10.0)
    assert used == ["jvp", "jvp"]


def test_a_rule_of_the_kind_linearize_is_read_by_nobody():
    p = Primitive("absent")
    p.def_rule("linearize", lambda nonzeros, x: x)
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'absent'") as caught:
        linearize(p.bind, 3.0)
    assert "Nothing reads the kind 'linearize'." in caught.value.__notes__


def test_known_values_are_seen_through_nested_traces():
    seen = []
    f = lambda x: seen.append((bool(x > 1.0), int(x))) or x * x
    assert jvp(lambda x: jvp(f, (x,), (1.0,))[1], (2.0,), (1.0,)) == (4.0, 2.0)
    assert seen == [(True, 2)]


@pytest.mark.parametrize("convert", [float, complex, lambda x: x.item(), lambda x: x.tolist()])
def test_numbers_that_would_lose_the_derivative_are_refused(convert):
    with pytest.raises(
        TypeError, match="A Python number would leave the transformation, and its derivative would be lost"
    ):
        jvp(lambda x: convert(x) * x, (2.0,), (1.0,))


def test_an_operand_that_is_the_primal_of_the_other_has_the_derivative_of_any_other():
    x, ones = np.array([1.0, 2.0, 3.0]), np.ones(3)

    def slope(at, c):
        return grad(lambda v: np.sum(np.multiply(v, at if c is None else c)))(at)

    for _ in range(4):  # the equations of a function are kept after some calls
        shared = make_jaxpr(lambda at: slope(at, None))(x)
        apart = make_jaxpr(slope)(x, ones)
        assert eval_jaxpr(shared, shared.consts, x)[0].tolist() == x.tolist()
        assert eval_jaxpr(apart, apart.consts, x, ones)[0].tolist() == ones.tolist()
