import gc
import weakref

import numpy as np
import pytest

from calque_core import (
    MissingRuleError,
    Primitive,
    ShapedArray,
    Trace,
    config,
    current_trace,
    decompose,
    eval_jaxpr,
    evaluation,
    lax,
    make_jaxpr,
    rules,
    tracing,
)
from calque_core.primitives.rules import rule_epoch

LONG = ShapedArray((5, 7), np.float64)


def line_of(fun):
    return fun.__code__.co_firstlineno


def make_double():
    double_p = Primitive("double")
    double_p.def_impl(lambda x: np.add(x, x), leaf=True)
    double_p.def_abstract_eval(lambda aval: aval.strip_weak_type())
    return double_p


def make_both():
    """Return a primitive of two results: the sum and the difference."""
    both_p = Primitive("both", multiple_results=True)
    both_p.def_impl(lambda x, y: [np.add(x, y), np.subtract(x, y)])
    both_p.def_abstract_eval(lambda x, y: [x.strip_weak_type(), y.strip_weak_type()])
    return both_p


# Binding


def test_bind_gives_the_result_or_the_list_of_results():
    assert make_double().bind(2.0) == 4.0
    assert make_both().bind(3.0, 1.0) == [4.0, 2.0]


@pytest.mark.parametrize("x", [2.0, np.float32(2), np.arange(3.0)])
def test_what_is_staged_evaluates_to_what_is_evaluated(x):
    double_p, both_p = make_double(), make_both()

    def fun(x):
        return both_p.bind(double_p.bind(x), x)

    jaxpr = make_jaxpr(fun)(x)
    for got, want in zip(eval_jaxpr(jaxpr, jaxpr.consts, x), fun(x)):
        assert np.array_equal(got, want)
        assert got.dtype == want.dtype


def test_parameters_reach_the_rules_and_the_equation():
    scale_p = Primitive("scale")
    scale_p.def_impl(lambda x, *, by: x * by)
    scale_p.def_abstract_eval(lambda aval, *, by: aval.update(shape=(by,)))
    assert scale_p.bind(2.0, by=3) == 6.0
    (eqn,) = make_jaxpr(lambda x: scale_p.bind(x, by=3))(2.0).eqns
    assert eqn.params == {"by": 3}
    assert eqn.outvars[0].aval.shape == (3,)


def test_evaluation_is_the_same_whether_another_trace_is_active_or_not():
    double_p, both_p = make_double(), make_both()
    with tracing(Forward(evaluation)):
        assert double_p.bind(2.0) == 4.0
        assert both_p.bind(3.0, 1.0) == [4.0, 2.0]


class Forward(Trace):
    def process_primitive(self, primitive, args, params):
        return primitive.bind_with_trace(self.parent, args, params)


def test_bind_with_trace_gives_a_list_and_leaves_the_current_trace():
    assert make_double().bind_with_trace(evaluation, (2.0,), {}) == [4.0]
    assert make_both().bind_with_trace(evaluation, (3.0, 1.0), {}) == [4.0, 2.0]
    assert current_trace() is evaluation


def test_operands_are_narrowed_before_the_implementation_sees_them():
    seen = []
    peek_p = Primitive("peek")
    peek_p.def_impl(lambda *args: seen.extend(x.dtype for x in args) or args[0])
    with config.enable_x64(False):
        peek_p.bind(1.0, np.arange(3), np.float64(2), 1j)
    assert seen == [np.float32, np.int32, np.float32, np.complex64]


def test_an_implementation_that_binds_runs_under_evaluation():
    seen = []
    p = Primitive("binding")
    p.def_impl(lambda x: seen.append(current_trace()) or lax.sin(x))
    with tracing(Forward(evaluation)), tracing(Forward(current_trace())):
        assert p.bind(1.0) == np.sin(1.0)
    assert seen == [evaluation]


# Rules of its own


def test_rules_are_given_by_decorators_that_keep_the_function():
    p = Primitive("decorated")

    @p.def_impl
    def impl(x):
        return x

    @p.def_abstract_eval
    def abstract_eval(aval):
        return aval

    @p.def_pp
    def pp(params):
        return params

    assert p.rules == {"impl": impl, "abstract_eval": abstract_eval, "pp": pp}
    with pytest.raises(TypeError):
        p.rules["impl"] = None


def test_a_replaced_implementation_is_used_at_once():
    p = make_double()
    p.def_rule("impl", lambda x: x * 3.0, override=True)
    assert p.bind(2.0) == 6.0
    assert not p.is_leaf
    p.def_rule("abstract_eval", lambda aval: ShapedArray((7,), aval.dtype), override=True)
    assert make_jaxpr(p.bind)(2.0).out_avals[0].shape == (7,)


def test_a_cached_type_rule_runs_once_per_types_and_parameters():
    calls = []
    p = Primitive("cached")
    p.def_abstract_eval(lambda aval, *, k: calls.append((aval, k)) or aval, cached=True)
    make_jaxpr(lambda x: [p.bind(x, k=1), p.bind(x, k=1), p.bind(x, k=2)])(1.0)
    make_jaxpr(lambda x: p.bind(x, k=1))(1.0)
    make_jaxpr(lambda x: p.bind(x, k=1))(np.float32(1))
    assert [(repr(aval), k) for aval, k in calls] == [("~float64[]", 1), ("~float64[]", 2), ("float32[]", 1)]


def test_a_primitive_prints_as_its_name_and_equals_itself_only():
    assert repr(Primitive("sin")) == "sin"
    assert Primitive("sin") != lax.sin_p
    assert {lax.sin_p: 1}[lax.sin_p] == 1


def test_effects_are_usually_none():
    assert Primitive("pure").effects == frozenset()
    assert Primitive("printing", effects=frozenset({"print"})).effects == {"print"}


def test_a_primitive_that_nobody_holds_is_collected():
    p = make_double()
    reference = weakref.ref(p)
    assert p in rules("impl")
    del p
    gc.collect()
    assert reference() is None


# Missing rules


def test_binding_before_any_rule_is_refused_with_the_place():
    p = Primitive("empty")

    def fun(x):
        return p.bind(x)

    with pytest.raises(MissingRuleError, match=r"^Evaluation rule for 'empty' not implemented") as evaluated:
        fun(1.0)
    with pytest.raises(MissingRuleError, match=r"^Abstract evaluation for 'empty' not implemented") as staged:
        make_jaxpr(fun)(1.0)
    for caught in (evaluated, staged):
        place = f"test_primitive.py:{line_of(fun) + 1} ({fun.__qualname__})"
        assert f"'empty' was bound at {place}." in caught.value.__notes__
        assert "Rules that 'empty' has: none." in caught.value.__notes__


def test_a_type_rule_that_fails_is_noted_with_the_users_line():
    p = Primitive("strict")

    @p.def_abstract_eval
    def strict_abstract_eval(aval):
        raise TypeError("no such type")

    def fun(x):
        return p.bind(x)

    with pytest.raises(TypeError, match="no such type") as caught:
        make_jaxpr(fun)(1.0)
    assert caught.value.__notes__[:-1] == [f"'strict' was bound at {__file__}:{line_of(fun) + 1} ({fun.__qualname__})."]


# Decompositions


def make_hypot():
    hypot_p = Primitive("hypot")
    hypot_p.def_rule("decomposition", lambda x, y: lax.sqrt(lax.add(lax.mul(x, x), lax.mul(y, y))))
    return hypot_p


def test_a_primitive_with_a_decomposition_alone_evaluates():
    assert make_hypot().bind(3.0, 4.0) == 5.0
    with config.enable_x64(False):
        assert make_hypot().bind(3.0, 4.0).dtype == np.float32


def test_a_primitive_with_a_decomposition_alone_is_staged_as_what_it_is_made_of():
    jaxpr = make_jaxpr(lambda x: make_hypot().bind(x, 4.0))(np.float64(3.0))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul", "mul", "add", "sqrt"]
    assert eval_jaxpr(jaxpr, jaxpr.consts, 3.0) == [5.0]


def test_a_decomposition_of_many_results_stages_and_evaluates():
    p = Primitive("polar", multiple_results=True)
    p.def_rule("decomposition", lambda x: (lax.sin(x), lax.cos(x)))
    assert p.bind(1.0) == [np.sin(1.0), np.cos(1.0)]
    jaxpr = make_jaxpr(lambda x: p.bind(x))(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "cos"]


def test_with_a_type_rule_the_primitive_itself_is_staged():
    p = make_hypot()
    p.def_abstract_eval(lambda x, y: x.strip_weak_type())
    jaxpr = make_jaxpr(lambda x: p.bind(x, 4.0))(3.0)
    assert [eqn.primitive for eqn in jaxpr.eqns] == [p]
    assert eval_jaxpr(jaxpr, jaxpr.consts, 3.0) == [5.0]


def test_an_implementation_is_preferred_in_evaluation_and_is_no_decomposition():
    p = make_hypot()
    p.def_impl(lambda x, y: -1.0)
    assert p.bind(3.0, 4.0) == -1.0
    q = Primitive("opaque")
    q.def_impl(lambda x: x)
    with pytest.raises(MissingRuleError, match="Abstract evaluation for 'opaque'"):
        make_jaxpr(q.bind)(1.0)


def test_a_trace_runs_a_decomposition_under_itself_and_leaves_its_caller_current():
    seen = []

    class Watch(Forward):
        def process_primitive(self, primitive, args, params):
            if primitive.name == "hypot":
                assert current_trace() is self
                with tracing(Forward(evaluation)) as other:
                    outs = decompose(self, primitive, args, params, "watch")
                    assert current_trace() is other
                return outs
            seen.append(primitive.name)
            return super().process_primitive(primitive, args, params)

    hypot_p = make_hypot()
    with tracing(Watch(evaluation)):
        assert hypot_p.bind(3.0, 4.0) == 5.0
    assert seen == ["mul", "mul", "add", "sqrt"]


def test_without_decomposition_the_asking_kind_is_missing():
    with pytest.raises(MissingRuleError, match="Batching rule for 'double' not implemented"):
        decompose(evaluation, make_double(), (1.0,), {}, "batch")


def test_a_decomposition_that_fails_leaves_the_trace_as_it_was():
    p = Primitive("failing")
    p.def_rule("decomposition", lambda x: 1 // 0)
    with tracing(Forward(evaluation)) as trace:
        with pytest.raises(ZeroDivisionError):
            decompose(evaluation, p, (1.0,), {}, "batch")
        assert current_trace() is trace


def test_a_remembered_type_rule_does_not_see_the_settings_that_it_was_first_asked_under():
    half_p = Primitive("half")

    @half_p.def_abstract_eval(cached=True)
    def half_abstract_eval(x_aval):
        return ShapedArray(x_aval.shape, x_aval.dtype)

    with config.enable_x64(False):
        assert half_p.abstract(LONG) == [LONG]
    assert half_p.abstract(LONG) == [LONG]


def test_an_operation_in_a_block_of_32_bits_does_not_change_the_types_of_those_after_it():
    def narrow(x):
        with config.enable_x64(False):
            return lax.rsqrt(x)

    make_jaxpr(narrow)(LONG)
    assert make_jaxpr(lax.rsqrt)(LONG).out_avals == [LONG]


# What a primitive is


def test_a_primitive_is_declared_linear_bilinear_or_constant_once():
    p = Primitive("declared", linearity="linear")
    p.def_linearity("linear")
    assert p.linearity == "linear"
    with pytest.raises(
        ValueError, match=r"'declared' is already declared linear, so it cannot be declared constant\. Keep one"
    ):
        p.def_linearity("constant")
    p.linearity = None
    p.def_linearity("constant")
    assert p.linearity == "constant"


def test_a_linearity_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"the linearity of 'bent' is 'cubic'. Use one of \('linear', 'bilinear'"):
        Primitive("bent").def_linearity("cubic")


def test_a_declaration_drops_traced_programs_only_if_they_may_depend_on_it():
    p = Primitive("late")
    p.def_impl(lambda x: x)
    before = rule_epoch()
    p.def_linearity("linear")
    assert rule_epoch() == before
    q = Primitive("later")
    q.def_rule("decomposition", lambda x: x)
    q.def_linearity("linear")
    assert rule_epoch() == before + 1


def test_operations_of_integers_and_with_results_that_are_no_floats_are_constant():
    assert {p.linearity for p in (lax.eq_p, lax.is_finite_p, lax.and_p, lax.shift_left_p, lax.argmax_p)} == {"constant"}
    assert [p.linearity for p in (lax.add_p, lax.sin_p, lax.neg_p, lax.mul_p)] == [None, None, "linear", "bilinear"]
