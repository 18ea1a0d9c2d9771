import numpy as np
import pytest

from calque_core import (
    MissingRuleError,
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    check_jaxpr,
    evaluation,
    interpret,
    lax,
    make_jaxpr,
)


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high


def add_intervals(x, y):
    (a, b), (c, d) = ((v.low, v.high) if isinstance(v, Interval) else (v, v) for v in (x, y))
    return Interval(a + c, b + d)


def call(fun, *args):
    return lax.jit_p.bind(*args, jaxpr=make_jaxpr(fun)(*args), name="f", compiler=None)[0]


SWAP = {lax.sin_p: lax.cos, lax.cos_p: lax.sin}


def test_without_rules_it_evaluates():
    jaxpr = make_jaxpr(lambda x: lax.sin(x) * np.arange(3.0))(1.0)
    assert interpret(jaxpr, {}, 2.0)[0].tolist() == (np.sin(2.0) * np.arange(3.0)).tolist()


def test_rules_replace_what_primitives_mean():
    assert interpret(make_jaxpr(lambda x: lax.sin(x) * 2.0)(1.0), SWAP, 1.0) == [np.cos(1.0) * 2.0]


def test_values_may_be_of_any_kind():
    (out,) = interpret(make_jaxpr(lambda x, y: x + y + 1.0)(1.0, 2.0), {lax.add_p: add_intervals}, Interval(0, 1), 5)
    assert (out.low, out.high) == (6, 7)


def test_the_default_sees_primitives_without_a_rule():
    jaxpr = make_jaxpr(lambda x: lax.reduce_sum(lax.sin(x), (0,)))(np.ones(3))
    rules = {lax.sin_p: lambda x: f"sin({x})"}
    out = interpret(jaxpr, rules, "x", default=lambda p, *args, **params: f"{p}({args[0]}) {params}")
    assert out == ["reduce_sum(sin(x)) {'axes': (0,)}"]


def test_rules_get_parameters_and_lists_are_for_several_results():
    pair_p = Primitive("pair", multiple_results=True)
    pair_p.def_abstract_eval(lambda aval, scale: [aval.strip_weak_type()] * 2)
    jaxpr = make_jaxpr(lambda x: pair_p.bind(x, scale=3))(1.0)
    assert interpret(jaxpr, {pair_p: lambda x, scale: [x, x * scale]}, 2.0) == [2.0, 6.0]


def test_calls_are_interpreted_inside():
    jaxpr = make_jaxpr(lambda x: call(lambda y: call(lax.sin, y), x))(1.0)
    assert interpret(jaxpr, SWAP, 1.0) == [np.cos(1.0)]


@pytest.mark.parametrize("pred", [True, False])
def test_the_branch_that_is_taken_is_interpreted(pred):
    jaxpr = make_jaxpr(lambda p, x: lax.cond(p, lax.sin, lax.cos, x))(True, 1.0)
    assert interpret(jaxpr, SWAP, pred, 1.0) == [np.cos(1.0) if pred else np.sin(1.0)]


def test_all_branches_are_interpreted_while_the_index_is_traced():
    jaxpr = make_jaxpr(lambda p, x: lax.cond(p, lax.sin, lambda y: y * np.float64(3), x))(True, np.float64(1))
    scale = np.full((), 5.0)
    rules = {lax.sin_p: lambda x: lax.cos(x) * scale}
    traced = make_jaxpr(lambda p, x: interpret(jaxpr, rules, p, x))(True, np.float64(1))
    check_jaxpr(traced)
    assert "sin" not in str(traced)
    assert interpret(traced, {}, True, 1.0) == [np.cos(1.0) * 5.0]
    assert interpret(traced, {}, False, 1.0) == [3.0]


class Known(Tracer):
    aval = ShapedArray((), "int32")
    known_value = 1


def test_a_traced_index_with_a_known_value_chooses_its_branch():
    jaxpr = make_jaxpr(lambda p, x: lax.cond(p, lax.sin, lax.cos, x))(True, 1.0)
    rules = SWAP | {lax.convert_element_type_p: lambda x, **_: x}
    assert interpret(jaxpr, rules, Known(Trace(evaluation)), 1.0) == [np.cos(1.0)]


def test_a_rule_for_the_holder_wins():
    jaxpr = make_jaxpr(lambda x: call(lax.sin, x))(1.0)
    assert interpret(jaxpr, {lax.jit_p: lambda x, jaxpr, name, compiler: [name]}, 1.0) == ["f"]


def test_an_author_says_how_a_holder_is_interpreted():
    twice_p = Primitive("twice", multiple_results=True)
    twice_p.def_abstract_eval(lambda aval, jaxpr: jaxpr.out_avals)
    sine = make_jaxpr(lax.sin)(np.float64(1))
    jaxpr = make_jaxpr(lambda x: twice_p.bind(x, jaxpr=sine))(np.float64(1))
    with pytest.raises(MissingRuleError, match="Rule 'interpret' for 'twice' not implemented"):
        interpret(jaxpr, SWAP, 1.0)
    twice_p.def_rule("interpret", lambda run, x, jaxpr: run(jaxpr, *run(jaxpr, x)))
    assert interpret(jaxpr, SWAP, 1.0) == [np.cos(np.cos(1.0))]


def test_an_index_that_chooses_no_branch_is_refused():
    jaxpr = make_jaxpr(lambda p, x: lax.cond(p, lax.sin, lax.cos, x))(True, 1.0)
    message = (
        "interpret met 'cond' with an index of class Interval, which does not select a branch. Give a rule for cond_p."
    )
    with pytest.raises(TypeError, match=message):
        interpret(jaxpr, {lax.convert_element_type_p: lambda x, **_: x}, Interval(0, 1), 1.0)


def test_a_wrong_number_of_arguments_is_refused():
    with pytest.raises(
        TypeError, match=r"interpret got 2 arguments, but the jaxpr has 1 inputs. Pass one argument for each input."
    ):
        interpret(make_jaxpr(lax.sin)(1.0), {}, 1.0, 2.0)


def test_what_is_bound_keeps_the_users_line():
    jaxpr = make_jaxpr(lambda x: call(lax.sin, x))(np.float64(1))
    inner = jaxpr.eqns[0].params["jaxpr"].eqns[0]
    traced = make_jaxpr(lambda x: interpret(jaxpr, SWAP, x))(np.float64(1))
    assert [eqn.source_info for eqn in traced.eqns] == [inner.source_info]


def test_a_hook_is_told_of_every_equation_with_its_values_also_of_programs_inside():
    seen = []
    jaxpr = make_jaxpr(lambda x: lax.cond(x > 0.0, np.sin, np.cos, x) * 2.0)(1.0)
    interpret(
        jaxpr, {lax.sin_p: np.exp}, 1.0, on_eqn=lambda eqn, args, outs: seen.append((str(eqn.primitive), args, outs))
    )
    e = np.exp(1.0)
    names = ["gt", "convert_element_type", "sin", "cond", "mul"]
    assert [name for name, _, _ in seen] == names
    assert seen[2] == ("sin", [1.0], [e])
    assert seen[3] == ("cond", [1, 1.0], [e])
    assert seen[4] == ("mul", [e, 2.0], [2.0 * e])


def test_a_hook_sees_each_step_of_a_loop_on_values_and_one_for_all_while_it_is_traced():
    counts = []
    jaxpr = make_jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, x))(1.0)
    run = lambda x: interpret(jaxpr, {}, x, on_eqn=lambda eqn, args, outs: counts.append(eqn.primitive.name))
    run(2.0)
    assert counts.count("mul") == 3
    counts.clear()
    make_jaxpr(run)(2.0)
    assert counts.count("mul") == 1
