"""What `ValueTrace` does for the author of a transformation, and what it says where the author said nothing."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import calque_core as core
from calque_core import CustomRules, Primitive, ShapedArray, ValueTrace, lax
from calque_core.testing import check_trace

F64 = ShapedArray((), np.float64)


class Tagged(NamedTuple):
    array: Any
    tag: int


class TagTrace(ValueTrace):
    """Counts, in each value, the additions that it went through."""

    verb = kind = "tag"

    def lift(self, x):
        return Tagged(x, 0)

    def to_arrays(self, x):
        return [x.array], x.tag

    def from_arrays(self, tag, arrays):
        return Tagged(*arrays, tag)

    def predicate(self, x):
        return x.array


lax.add_p.def_rule("tag", lambda x, y: Tagged(lax.add(x.array, y.array), x.tag + y.tag + 1))
for primitive in (lax.sin_p, lax.mul_p, lax.gt_p, lax.lt_p, lax.convert_element_type_p):
    primitive.def_rule(
        "tag",
        lambda *xs, primitive=primitive, **params: Tagged(
            primitive.bind(*[x.array for x in xs], **params), max(x.tag for x in xs)
        ),
    )


def tagged(f, *arrays, trace_class=TagTrace):
    with core.tracing(trace_class(core.current_trace())) as trace:
        return trace.unwrap(f(*[trace.wrap(Tagged(x, 0), core.typeof(x)) for x in arrays]))


# Values and rules


def test_a_rule_runs_under_the_parent_and_constants_are_lifted():
    seen = []

    class Watching(TagTrace):
        def lift(self, x):
            seen.append(core.current_trace())
            return super().lift(x)

        def apply(self, primitive, values, params):
            seen.append(core.current_trace())
            return super().apply(primitive, values, params)

    assert tagged(lambda x: x + 1.0, 2.0, trace_class=Watching) == (3.0, 1)
    assert seen == [core.evaluation, core.evaluation]


def test_an_operation_on_constants_goes_to_the_parent():
    assert tagged(lambda x: lax.tanh(0.5), 2.0) == (np.tanh(0.5), 0)


def test_a_trace_tells_its_own_tracers():
    with core.tracing(TagTrace(core.current_trace())) as outer:
        x = outer.wrap(Tagged(1.0, 0), F64)
        with core.tracing(TagTrace(outer)) as inner:
            y = inner.wrap(Tagged(x, 3), F64)
            assert inner.owns(y)
            assert not inner.owns(x)
            assert not inner.owns(1.0)
            assert inner.unwrap(x) == Tagged(x, 0)
            assert inner.unwrap(y).tag == 3


def test_a_tracer_of_a_trace_above_is_refused_by_the_trace_below():
    with core.tracing(TagTrace(core.current_trace())) as outer:
        with core.tracing(TagTrace(outer)) as inner:
            y = inner.wrap(Tagged(1.0, 0), F64)
        with pytest.raises(core.UnexpectedTracerError, match="its trace, tag, has ended"):
            outer.unwrap(y)
        with pytest.raises(TypeError, match=r"tag got \[1\.0\] of type list at .*\. Give arrays and scalars\."):
            outer.unwrap([1.0])


def test_a_weak_value_stays_weak_where_an_operator_keeps_it():
    with core.tracing(TagTrace(core.current_trace())) as trace:
        x = trace.wrap(Tagged(2.0, 0), core.typeof(2.0))
        assert repr(core.typeof(x + 1)) == "~float64[]"
        assert repr(core.typeof(np.sin(x))) == "float64[]"


def test_a_primitive_without_a_rule_is_decomposed_under_the_trace():
    twice_p = Primitive("twice")
    twice_p.def_abstract_eval(lambda x: x)
    twice_p.def_rule("decomposition", lambda x: lax.add(lax.add(x, x), 0.0))
    assert tagged(twice_p.bind, np.float64(3.0)) == (6.0, 2)


def test_a_missing_rule_names_the_primitive_the_kind_and_the_line():
    with pytest.raises(core.MissingRuleError, match="Rule 'tag' for 'tanh' not implemented") as caught:
        tagged(np.tanh, 1.0)
    assert 'tanh_p.def_rule("tag", fn)' in str(caught.value)
    assert not any("Nothing reads the kind 'tag'" in note for note in caught.value.__notes__)

    class Unsaid(TagTrace):
        kind = ""

        def apply(self, primitive, values, params):
            return NotImplemented

    with pytest.raises(core.MissingRuleError, match=r"Unsaid has no rule for 'sin' at .*\. Return its results from"):
        tagged(np.sin, 1.0, trace_class=Unsaid)


def test_a_class_that_gives_nothing_is_told_what_to_give():
    class Bare(ValueTrace):
        pass

    with core.tracing(Bare(core.current_trace())) as trace:
        x = trace.wrap("x", F64)
        with pytest.raises(
            NotImplementedError, match=r"Bare cannot lift a constant of type ~float64\[\] at .*Bare\.lift"
        ):
            x + 1.0
        with pytest.raises(NotImplementedError, match=r"Bare has no rule for 'sin' at .* Set Bare\.kind,"):
            np.sin(x)
        with pytest.raises(
            TypeError, match=r"a value of Bare is the predicate of a cond or a loop at .*Bare\.predicate"
        ):
            lax.cond_p.bind(x, branches=(), batched="select")


def test_a_rule_with_the_wrong_number_of_results_is_refused_by_name():
    pair_p = Primitive("pair", multiple_results=True)
    pair_p.def_abstract_eval(lambda x: [x, x])
    pair_p.def_rule("tag", lambda x: [x])
    with pytest.raises(
        TypeError, match=r"the rule of 'tag' for 'pair' at .* returned 1 values, but 'pair' has 2 results"
    ):
        tagged(pair_p.bind, 1.0)


def test_a_primitive_that_holds_a_program_needs_a_rule():
    holder_p = Primitive("holder")
    holder_p.def_abstract_eval(lambda x, *, jaxpr: x)
    with pytest.raises(core.MissingRuleError, match="Rule 'tag' for 'holder' not implemented"):
        tagged(lambda x: holder_p.bind(x, jaxpr=core.make_jaxpr(np.sin)(1.0)), 1.0)


def test_a_primitive_of_several_programs_runs_the_one_that_computes_or_is_refused():
    holder_p = Primitive("holder", multiple_results=True)
    holder_p.def_abstract_eval(lambda x, *, callee, other: [x])
    holder_p.def_rule("interpret", lambda run, x, *, callee, other: run(callee, x))
    callee = core.make_jaxpr(np.sin)(np.float64(1.0))
    f = lambda x: holder_p.bind(x, callee=callee, other=callee)[0]
    assert tagged(f, np.float64(1.0)) == (np.sin(1.0), 0)
    assert names(Dropping, f) == ["sin"]
    with pytest.raises(
        NotImplementedError, match=r"TagTrace has no rule for 'holder' at .*, but an outer transformation may"
    ):
        names(TagTrace, f)


def test_a_class_may_apply_itself_what_holds_programs():
    solver_p = Primitive("solver", multiple_results=True)
    solver_p.def_abstract_eval(lambda x, *, steps: [x])
    solver_p.def_impl(lambda x, *, steps: [np.sqrt(x)])
    solver_p.def_rule("interpret", lambda run, x, *, steps: run(steps, x))

    class Applying(TagTrace):
        def applies(self, primitive):
            return primitive is solver_p or super().applies(primitive)

        def apply(self, primitive, values, params):
            if primitive is not solver_p:
                return super().apply(primitive, values, params)
            return [Tagged(solver_p.bind(values[0].array, **params)[0], 7)]

    f = lambda x: np.sin(solver_p.bind(x, steps=core.make_jaxpr(np.sin)(np.float64(1.0)))[0])
    assert tagged(f, np.float64(4.0), trace_class=Applying) == (np.sin(2.0), 7)
    assert tagged(f, np.float64(4.0)) == (np.sin(np.sin(4.0)), 0)


def test_without_a_predicate_python_control_flow_asks_to_define_it():
    class Silent(ValueTrace):
        verb = "silent"

        def lift(self, x):
            return x

    words = (
        r"under silent.* make the argument that decides it static .*\. Define Silent\.predicate\(value\) if a value of"
    )
    with core.tracing(Silent(core.current_trace())) as trace:
        x = trace.wrap(1.0, F64)
        for use in (bool, int, [1, 2].__getitem__):
            with pytest.raises(core.ConcretizationTypeError, match=words):
                use(x)
    with pytest.raises(core.ConcretizationTypeError) as caught, core.tracing(TagTrace(core.current_trace())) as trace:
        float(trace.wrap(Tagged(1.0, 0), F64))
    assert ".predicate(" not in str(caught.value)


def test_python_control_flow_reads_the_predicate():
    assert tagged(lambda x: x + 1.0 if x > 1.0 else x, 2.0) == (3.0, 1)
    assert tagged(lambda x: (x + 1.0)[()] if [False, True][x > 1.0] else x, 0.5) == (0.5, 0)


# Programs inside


def test_a_jitted_program_is_bound_with_its_compiler_and_made_once():
    made = []

    class Counting(TagTrace):
        def apply(self, primitive, values, params):
            made.append(primitive.name)
            return super().apply(primitive, values, params)

    class Keyed(Counting):
        key = ()

    compiler = lambda jaxpr, args: core.eval_jaxpr(jaxpr, jaxpr.consts, *args)
    jaxpr = core.make_jaxpr(lambda x: np.sin(x) + 1.0)(np.float64(1.0))
    f = lambda x: lax.jit_p.bind(x, jaxpr=jaxpr, name="f", compiler=compiler)[0]
    staged = core.make_jaxpr(lambda x: tagged(f, x).array)(np.float64(1.0))
    assert [eqn.primitive.name for eqn in staged.eqns] == ["jit"]
    assert staged.eqns[0].params["compiler"] is compiler
    for trace_class, count in ((Counting, 8), (Keyed, 4)):
        made.clear()
        for _ in range(2):
            assert tagged(lambda x: f(f(x)), np.float64(1.0), trace_class=trace_class).tag == 2
        assert len(made) == count


def test_an_error_of_a_rule_in_a_jitted_program_names_the_line_of_the_operation():
    refused_p = Primitive("refused")
    refused_p.def_abstract_eval(lambda aval: aval)

    @refused_p.def_rule(TagTrace.kind)
    def refused_rule(x):
        raise ValueError("no")

    def inner(x):
        return refused_p.bind(x)

    program = core.make_jaxpr(inner)(1.0)
    with pytest.raises(ValueError, match="no") as caught:
        tagged(lambda x: lax.jit_p.bind(x, jaxpr=program, name="inner", compiler=None)[0], 1.0)
    line = inner.__code__.co_firstlineno + 1
    assert f"This happened in 'refused' at test_value_trace.py:{line} " in caught.value.__notes__[0]


def test_a_checkpointed_program_stays_one():
    jaxpr = core.make_jaxpr(np.sin)(np.float64(1.0))
    params = {"policy": None, "prevent_cse": True, "differentiated": False}
    f = lambda x: lax.remat_p.bind(x, jaxpr=jaxpr, **params)[0]
    staged = core.make_jaxpr(lambda x: tagged(f, x).array)(np.float64(1.0))
    assert [eqn.primitive.name for eqn in staged.eqns] == ["remat"]
    assert {name: staged.eqns[0].params[name] for name in params} == params


def test_a_program_that_holds_a_tracer_is_made_anew_in_the_next_run():
    jaxpr = core.make_jaxpr(np.sin)(np.float64(1.0))
    f = lambda x: lax.jit_p.bind(x, jaxpr=jaxpr, name="f", compiler=None)[0]
    factor = []

    class Scaling(TagTrace):
        key = ()

        def apply(self, primitive, values, params):
            return [Tagged(lax.mul(x.array, factor[-1]), x.tag) for x in super().apply(primitive, values, params)]

    def scaled(x):
        factor.append(x)
        return tagged(f, 0.5, trace_class=Scaling).array

    for _ in range(2):
        staged = core.make_jaxpr(scaled)(np.float64(3.0))
        assert core.eval_jaxpr(staged, staged.consts, 3.0) == [3.0 * np.sin(0.5)]


def test_a_counter_of_a_loop_stays_a_constant():
    staged = core.make_jaxpr(lambda x: tagged(lambda y: lax.fori_loop(0, 4, lambda i, c: c * y, y), x).array)(2.0)
    (scan,) = [eqn for eqn in staged.eqns if eqn.primitive.name == "scan"]
    assert [str(v.aval) for v in scan.outvars] == ["~int64[]", "float64[]"]


LOOPS = {
    "scan": lambda x, y: lax.scan(lambda c, _: ((c[0] * x, c[1] + 1.0), None), (x, y), None, length=2)[0],
    "while": lambda x, y: lax.while_loop(lambda c: c[1] < 2.0, lambda c: (c[0] * x, c[1] + 1.0), (x, y)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_constant_that_a_loop_carries_has_the_type_of_its_program(name):
    jaxpr = core.make_jaxpr(LOOPS[name])(np.float64(2.0), np.float64(0.5))
    carried = []

    def f(x):
        out, count = core.eval_jaxpr(jaxpr, jaxpr.consts, x, 0.5)
        carried.append(count)
        return out

    tagged(f, 2.0)
    (count,) = carried
    (expected,) = core.eval_jaxpr(jaxpr, jaxpr.consts, 2.0, 0.5)[1:]
    assert (type(count), count) == (type(expected), expected) == (np.float64, 2.5)


def test_a_carry_that_a_step_makes_a_value_is_lifted():
    assert tagged(lambda x: lax.scan(lambda c, _: (c * x, c), 1.0, None, length=3)[0], 2.0) == (8.0, 0)


def test_a_carry_whose_static_item_changes_is_refused_by_name():
    words = r"return values of TagTrace with different static items at .*: 0 and 1\. .*TagTrace\.join"
    with pytest.raises(TypeError, match=words):
        tagged(lambda x: lax.scan(lambda c, _: (c + 1.0, None), x, None, length=3)[0], 2.0)


def test_static_items_that_change_without_end_are_refused_by_name():
    class Endless(TagTrace):
        def join(self, first, second):
            return first + second

    with pytest.raises(TypeError, match=r"Endless\.join at .* returned a new static item 100 times"):
        tagged(lambda x: lax.scan(lambda c, _: (c + 1.0, None), x, None, length=3)[0], 2.0, trace_class=Endless)


def test_a_value_made_of_other_arrays_after_a_step_is_refused_by_name():
    class Growing(TagTrace):
        def to_arrays(self, x):
            return [x.array] * (1 + x.tag), 0

        def from_arrays(self, static, arrays):
            return Tagged(arrays[0], len(arrays) - 1)

    words = r"Growing\.to_arrays returned arrays of the types \(float64\[\]\) and \(float64\[\], float64\[\]\)"
    with pytest.raises(TypeError, match=words):
        tagged(lambda x: lax.scan(lambda c, _: (c + 1.0, None), x, None, length=3)[0], 2.0, trace_class=Growing)


def test_a_value_without_the_scanned_axis_in_front_is_refused_by_name():
    class Transposed(TagTrace):
        def to_arrays(self, x):
            return [x.array[None] if core.typeof(x.array).ndim else x.array], x.tag

    words = r"scan at .* of type float64\[3\], but Transposed\.to_arrays returned an array of type float64\[1,3\]\."
    with pytest.raises(TypeError, match=words):
        tagged(lambda x: lax.scan(lambda c, y: (c * y, None), 1.0, x)[0], np.ones(3), trace_class=Transposed)


def test_without_arrays_an_unknown_predicate_is_refused_by_name():
    class Opaque(TagTrace):
        to_arrays, from_arrays = ValueTrace.to_arrays, ValueTrace.from_arrays

    f = lambda x: lax.cond(x > 0.0, lambda: x, lambda: x * 2.0)
    assert tagged(f, -1.0, trace_class=Opaque) == (-2.0, 0)
    with pytest.raises(
        NotImplementedError, match=r"Opaque cannot split a value into arrays .* Define Opaque\.to_arrays"
    ):
        core.make_jaxpr(lambda x: tagged(f, x, trace_class=Opaque).array)(1.0)


def test_functions_by_platform_are_one_equation_on_arrays_or_the_function_of_the_cpu():
    class Opaque(TagTrace):
        to_arrays, from_arrays = ValueTrace.to_arrays, ValueTrace.from_arrays

    f = lambda x: lax.platform_dependent(x, cpu=lambda x: x + 1.0, default=lambda x: x + 2.0)
    assert tagged(f, 1.0) == tagged(f, 1.0, trace_class=Opaque) == (2.0, 1)
    *_, last = core.make_jaxpr(lambda x: tagged(f, x).array)(1.0).eqns
    assert last.primitive is lax.platform_dependent_p


def test_loops_without_arrays_run_step_by_step():
    class Opaque(TagTrace):
        to_arrays, from_arrays = ValueTrace.to_arrays, ValueTrace.from_arrays

    assert tagged(lambda x: lax.fori_loop(0, 3, lambda i, c: c + x, x), 2.0, trace_class=Opaque) == (8.0, 3)
    assert tagged(lambda x: lax.while_loop(lambda c: c < 5.0, lambda c: c + x, x), 2.0, trace_class=Opaque) == (6.0, 2)


# Functions with derivative rules of their own


def custom(fun, jvp):
    """Return a function with a jvp rule of its own, made with core alone."""
    rules = CustomRules(name=fun.__name__, key=fun, functions=(fun, jvp), jvp=jvp)

    def call(x):
        trace = core.current_trace()
        return core.hand_custom_down(trace, lax.custom_jvp_call_p, lambda y: [fun(y)], [x], {"rules": rules})[0]

    return call


steep = custom(np.sin, lambda primals, tangents: ([np.sin(primals[0])], [2.0 * tangents[0]]))


class Keeping(TagTrace):
    keeps_custom_derivatives = True


class Dropping(TagTrace):
    drops_custom_derivatives = True


def names(trace_class, f):
    jaxpr = core.make_jaxpr(lambda x: tagged(f, x, trace_class=trace_class).array)(np.float64(1.0))
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_rules_are_kept_dropped_or_refused_as_the_class_says():
    assert tagged(steep, 1.0) == (np.sin(1.0), 0)
    assert names(Keeping, steep) == ["custom_jvp_call"]
    assert names(Dropping, steep) == ["sin"]
    with pytest.raises(NotImplementedError, match=r"TagTrace has no method for the derivative rules of sin") as e:
        names(TagTrace, steep)
    assert "set keeps_custom_derivatives = True" in str(e.value)


def test_a_call_that_meets_no_value_goes_to_the_parent_with_its_rules():
    assert names(TagTrace, lambda x: steep(np.float64(2.0)) * x) == ["custom_jvp_call", "mul"]


def test_a_kept_rule_runs_on_values():
    jaxpr = core.make_jaxpr(lambda x: tagged(steep, x, trace_class=Keeping).array)(np.float64(1.0))
    rules = jaxpr.eqns[0].params["rules"]
    assert rules.jvp([1.0], [3.0]) == ([np.sin(1.0)], [6.0])


def test_a_custom_call_in_a_program_is_treated_as_one_in_the_function():
    jaxpr = core.make_jaxpr(steep)(np.float64(1.0))
    run = lambda x: core.eval_jaxpr(jaxpr, jaxpr.consts, x)[0]
    assert names(Keeping, run) == ["custom_jvp_call"]
    assert names(Dropping, run) == ["sin"]


# The kit, and what goes with it


def test_check_trace_checks_a_trace_that_knows_some_primitives_only():
    report = check_trace(TagTrace, operations={"sums": lambda x: lax.add(x, x), "products": lambda x: x * 2.0})
    laws = ["sums", "products", "nesting", "staging", "leaving", "ending", "programs"]
    assert [(f.law, f.outcome) for f in report.findings] == [(law, "holds") for law in laws]


def test_check_trace_catches_arrays_that_lose_a_part():
    class Forgetting(TagTrace):
        def from_arrays(self, tag, arrays):
            return Tagged(2.0 * arrays[0], tag)

    with pytest.raises(AssertionError, match=r"programs: fails: a program gives 4\.0 at \[0\] where 1\.0 is right"):
        check_trace(Forgetting, operations={"sums": lambda x: lax.add(x, x)})


def test_moveaxis_and_matchaxis_refuse_what_they_cannot_do():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(core.moveaxis(x, 0, -1), x.T)
    np.testing.assert_array_equal(core.matchaxis(x, 1, 0, 3), x.T)
    assert core.matchaxis(x, None, 2, 4).shape == (2, 3, 4)
    with pytest.raises(ValueError, match=r"moveaxis at .*: axis 2 is out of range for ndim 2"):
        core.moveaxis(x, 2, 0)
    with pytest.raises(ValueError, match="a mapped value cannot be returned without its batch axis"):
        core.matchaxis(x, 0, None, 2)
