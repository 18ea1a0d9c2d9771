"""Functions with rules of their own as equations, and before the traces of others."""

from collections import Counter

import numpy as np
import pytest

from calque_core import (
    CustomRules,
    ShapedArray,
    Trace,
    check_jaxpr,
    count_eqns,
    current_trace,
    dce_jaxpr,
    ensure_compile_time_eval,
    eval_jaxpr,
    hand_custom_down,
    hand_down,
    interpret,
    lax,
    make_jaxpr,
    map_jaxpr,
    rewrite,
    stage,
    trace_state_clean,
    tracing,
)
from calque_core.lax import (
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vjp_fwd_p,
    custom_vjp_linear_p,
    custom_vmap_call_p,
)
from calque_core.ops.calls.custom import Pullback
from calque_core.traces.trace import only_evaluates

F64 = ShapedArray((), "float64")


def twice_as_steep(primals, tangents):
    return [lax.sin(primals[0])], [2.0 * lax.cos(primals[0]) * tangents[0]]


RULES = CustomRules("wave (waves.py:3)", key="wave", functions=(lax.sin,), jvp=twice_as_steep)


def wave(x, primitive=custom_jvp_call_p, rules=RULES):
    """Return sin x, as a function with rules of its own: the packages above call one like this."""
    return current_trace().process_custom_derivative(primitive, lambda y: [lax.sin(y)], [x], {"rules": rules})[0]


def split(x):
    """Return sin x and cos x, from one function with rules."""
    rules = CustomRules("split", key="split", functions=(lax.sin,), jvp=twice_as_steep)
    fun = lambda y: [lax.sin(y), lax.cos(y)]
    return current_trace().process_custom_derivative(custom_jvp_call_p, fun, [x], {"rules": rules})


# Equations


def test_evaluation_runs_the_function():
    assert wave(0.5) == np.sin(0.5)


def test_a_call_is_one_equation_that_holds_the_program_and_the_rules():
    jaxpr = make_jaxpr(wave)(0.5)
    check_jaxpr(jaxpr)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is custom_jvp_call_p
    assert eqn.params["rules"] is RULES
    assert [inner.primitive for inner in eqn.params["jaxpr"].eqns] == [lax.sin_p]
    assert eval_jaxpr(jaxpr, jaxpr.consts, 0.5) == [np.sin(0.5)]


WAVE = """\
{ lambda ; a:f64[]. let
    b:f64[] = custom_jvp_call[
      name=wave
      jaxpr={ lambda ; c:f64[]. let d:f64[] = sin c in (d,) }
      rules=jvp
    ] a
  in (b,) }"""


def test_a_call_prints_its_name_its_program_and_which_rules_it_has():
    assert str(make_jaxpr(lambda x: wave(x))(np.float64(0.5))) == WAVE
    every = CustomRules("wave", 0, (), jvp=max, fwd=max, batch=max, transpose=max)
    assert "rules=jvp,fwd,transpose,batch\n" in str(make_jaxpr(lambda x: wave(x, custom_vjp_call_p, every))(0.5))


@pytest.mark.parametrize("primitive", [custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p])
def test_results_are_as_weak_in_evaluation_and_in_staging_as_those_of_the_equations(primitive):
    jaxpr = make_jaxpr(lambda x: (x, lax.sin(x)))(1.0)
    outs = primitive.bind(1.0, jaxpr=jaxpr, rules=RULES)
    assert [type(x) for x in outs] == [float, np.float64]
    staged = make_jaxpr(lambda x: primitive.bind(x, jaxpr=jaxpr, rules=RULES))(1.0)
    assert [aval.weak_type for aval in staged.out_avals] == [True, False]


def test_operands_of_other_types_than_the_program_was_traced_for_are_refused():
    jaxpr = make_jaxpr(lax.sin)(1.0)
    message = (
        r"the function wave \(waves\.py:3\) got operands of types \(float64\[3\]\), but its program takes "
        r"\(~float64\[\]\)"
    )
    with pytest.raises(TypeError, match=message):
        make_jaxpr(lambda x: custom_jvp_call_p.bind(x, jaxpr=jaxpr, rules=RULES))(np.ones(3))


def test_a_call_whose_results_nobody_uses_goes():
    jaxpr = make_jaxpr(lambda x, y: [wave(x), wave(y)])(1.0, 2.0)
    cut, used = dce_jaxpr(jaxpr, [False, True])
    assert (len(cut.eqns), used) == (1, [False, True])


def test_a_call_of_which_one_result_is_used_stays_whole():
    jaxpr = make_jaxpr(split)(1.0)
    cut, used = dce_jaxpr(jaxpr, [False, True])
    assert used == [True]
    (eqn,) = cut.eqns
    assert len(eqn.outvars) == len(eqn.params["jaxpr"].outvars) == 2


def test_the_program_is_interpreted_counted_and_rewritten_with_the_rest():
    jaxpr = make_jaxpr(lambda x: wave(x) + 1.0)(0.5)
    assert count_eqns(jaxpr) == 3
    assert interpret(jaxpr, {lax.sin_p: lax.cos}, 0.5) == [np.cos(0.5) + 1.0]
    to_cos = rewrite(jaxpr, lambda eqn, *args: lax.cos(*args) if eqn.primitive is lax.sin_p else None)
    assert eval_jaxpr(to_cos, to_cos.consts, 0.5) == [np.cos(0.5) + 1.0]
    assert map_jaxpr(lambda eqn: eqn, jaxpr) is jaxpr


# The derivative of a call with a vjp rule


def pulled_back(fun):
    pullback = Pullback("wave (waves.py:3)", fun, transpose=max, out_avals=(F64,))
    return lambda *operands: custom_vjp_linear_p.bind(*operands, pullback=pullback)


def test_a_pullback_gives_tangents_and_prints_as_its_function():
    jaxpr = make_jaxpr(pulled_back(max))(0.5, 1.0)
    assert [v.aval for v in jaxpr.eqns[0].outvars] == [F64]
    assert "custom_vjp_linear[name=wave]" in str(jaxpr)


def test_a_pullback_runs_forwards_by_its_function():
    assert pulled_back(lambda x, x_dot: [5.0 * x * x_dot])(0.5, 2.0) == [5.0]


def test_an_unused_pullback_is_dropped():
    jaxpr = make_jaxpr(lambda x: [x, *pulled_back(max)(x)])(1.0)
    assert dce_jaxpr(jaxpr, [True, False])[0].eqns == ()
    assert len(dce_jaxpr(jaxpr, [False, True])[0].eqns) == 1


# Under a trace of one's own


class Plain(Trace):
    """Hands everything down, and says nothing of derivative rules."""

    def process_primitive(self, primitive, args, params):
        return hand_down(self.parent, primitive, args, params)


class Dropping(Plain):
    drops_custom_derivatives = True


class Keeping(Plain):
    """Counts the operations of functions with rules of their own too, and keeps the rules."""

    def __init__(self, parent, counts=None):
        super().__init__(parent)
        self.counts = Counter() if counts is None else counts

    def process_primitive(self, primitive, args, params):
        self.counts[primitive.name] += 1
        return hand_down(self.parent, primitive, args, params)

    def process_custom_derivative(self, primitive, fun, args, params):
        def counted(*xs):
            with tracing(Keeping(current_trace(), self.counts)):
                return fun(*xs)

        return hand_custom_down(self.parent, primitive, counted, args, params)


def under(trace_class, f=wave):
    def run(*args):
        with tracing(trace_class(current_trace())):
            return f(*args)

    return run


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_a_trace_over_evaluation_runs_the_function_by_its_operations():
    with tracing(Plain(current_trace())) as trace:
        assert only_evaluates(trace.parent)
        assert wave(0.5) == np.sin(0.5)


def test_a_trace_that_says_nothing_of_rules_is_refused_where_they_may_be_asked_for():
    message = (
        r"Plain has no method for the derivative rules of wave \(waves\.py:3\) at test_ops_custom\.py:\d+ "
        r"\(.*\), but an outer transformation may need them\. Define Plain\.process_custom_derivative; or set "
        r"drops_custom_derivatives = True, so that the function's operations are differentiated instead\."
    )
    with pytest.raises(NotImplementedError, match=message):
        make_jaxpr(under(Plain))(0.5)
    assert trace_state_clean()


def test_a_trace_may_say_that_the_operations_of_the_function_will_do():
    assert names(make_jaxpr(under(Dropping))(0.5)) == ["sin"]


def test_what_drops_rules_asks_for_none_on_behalf_of_the_traces_above_it():
    assert under(Dropping, under(Plain))(0.5) == np.sin(0.5)
    with pytest.raises(NotImplementedError, match=r"Plain\.process_custom_derivative"):
        make_jaxpr(under(Dropping, under(Plain)))(0.5)


def test_a_trace_may_see_the_operations_and_hand_on_the_rules():
    def counted(x):
        with tracing(Keeping(current_trace())) as trace:
            out = wave(x)
        seen.append(dict(trace.counts))
        return out

    seen = []
    jaxpr = make_jaxpr(counted)(0.5)
    check_jaxpr(jaxpr)
    assert seen == [{"sin": 1}]
    assert names(jaxpr) == ["custom_jvp_call"]
    assert jaxpr.eqns[0].params["rules"] is RULES
    assert counted(0.5) == np.sin(0.5)


def test_known_values_are_computed_at_compile_time_and_others_keep_their_rules():
    def f(x):
        with ensure_compile_time_eval():
            return wave(0.5), wave(x)

    jaxpr = make_jaxpr(f)(1.0)
    assert names(jaxpr) == ["custom_jvp_call"]
    assert jaxpr.outvars[0].val == np.sin(0.5)


def test_a_function_traced_by_staging_alone_keeps_its_rules_in_programs_inside_programs():
    inner = stage(lambda x: [wave(x)], [F64])
    jaxpr = make_jaxpr(
        lambda x: lax.cond(x > 0.0, lambda y: lax.jit_p.bind(y, jaxpr=inner, name="g", compiler=None)[0], lax.neg, x)
    )(1.0)
    check_jaxpr(jaxpr)
    assert "rules=jvp" in str(jaxpr)
    assert eval_jaxpr(jaxpr, jaxpr.consts, 0.5) == [np.sin(0.5)]


# The forward half of a vjp rule


FWD = stage(lambda x, y: [lax.sin(x) * y, lax.exp(x)], [F64, F64])
FUN = stage(lambda x, y: [lax.sin(x) * y], [F64, F64])


def forward_half(x, y, fwd=FWD):
    return custom_vjp_fwd_p.bind(x, y, fwd=fwd, fun=FUN, name="wave")


@pytest.mark.parametrize(
    ("used", "operations"),
    [((True, False), ["jit"]), ((True, True), ["custom_vjp_fwd"]), ((False, True), ["custom_vjp_fwd"])],
    ids=["function", "both", "residual"],
)
def test_dead_code_elimination_chooses_the_function_or_its_forward_half(used, operations):
    jaxpr = make_jaxpr(forward_half)(0.5, 2.0)
    smaller, used_inputs = dce_jaxpr(jaxpr, used)
    check_jaxpr(smaller)
    assert names(smaller) == operations
    assert used_inputs == [True, used[0]]
    args = [x for x, is_used in zip((0.5, 2.0), used_inputs) if is_used]
    outs = eval_jaxpr(smaller, smaller.consts, *args)
    assert outs == [x for x, is_used in zip((np.sin(0.5) * 2.0, np.exp(0.5)), used) if is_used]


def test_a_forward_half_means_its_program():
    assert forward_half(0.5, 2.0) == [np.sin(0.5) * 2.0, np.exp(0.5)]
    jaxpr = make_jaxpr(forward_half)(0.5, 2.0)
    assert interpret(jaxpr, {lax.exp_p: lax.neg}, 0.5, 2.0) == [np.sin(0.5) * 2.0, -0.5]


def test_a_forward_half_of_operands_of_other_types_is_refused():
    wide = np.zeros(3)
    with pytest.raises(TypeError, match="the fwd rule of wave got operands of types"):
        make_jaxpr(forward_half)(wide, wide)
    other = stage(lambda x, y: [x, y], [F64.update(shape=(3,))] * 2)
    with pytest.raises(TypeError, match="the function wave got operands of types"):
        make_jaxpr(lambda x: forward_half(x, x, fwd=other))(wide)
