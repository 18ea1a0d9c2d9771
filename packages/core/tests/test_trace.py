import copy
import operator
import pickle
import re
import threading
import traceback
from collections import Counter

import numpy as np
import pytest

import calque_core as core
from calque_core import (
    ConcretizationTypeError,
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
    config,
    current_trace,
    ensure_compile_time_eval,
    eval_context,
    evaluation,
    hand_down,
    is_tracer,
    lax,
    make_jaxpr,
    register_aval,
    register_evaluator,
    trace_state_clean,
    tracing,
)
from calque_core.context import here

HERE = "test_trace.py"


def line_of(fun):
    return fun.__code__.co_firstlineno


# A transformation of one's own, as the documentation prints it


class CountTrace(Trace):
    def __init__(self, parent):
        super().__init__(parent)
        self.counts = Counter()

    def process_primitive(self, primitive, args, params):
        self.counts[primitive.name] += 1
        return self.parent.process_primitive(primitive, args, params)


def count(f):
    def counted(*args):
        with core.tracing(CountTrace(core.current_trace())) as trace:
            return f(*args), trace.counts

    return counted


def fun(x):
    return lax.add(lax.mul(lax.sin(x), 2.0), lax.sin(1.0))


def test_a_counting_trace_counts_and_gives_the_functions_result():
    out, counts = count(fun)(3.0)
    assert out == fun(3.0)
    assert counts == {"sin": 2, "mul": 1, "add": 1}


def test_a_counting_trace_inside_another_counts_for_both():
    def outer(x):
        out, inner_counts = count(lax.sin)(x)
        return lax.mul(out, 2.0), inner_counts

    (out, inner_counts), counts = count(outer)(3.0)
    assert out == np.sin(3.0) * 2.0
    assert inner_counts == {"sin": 1}
    assert counts == {"sin": 1, "mul": 1}


def test_a_counting_trace_counts_while_staging_and_stages_what_it_counts():
    seen = []
    jaxpr = make_jaxpr(lambda x: seen.append(count(lax.sin)(x)) or seen[0][0])(1.0)
    assert str(jaxpr) == "{ lambda ; a:f64[]. let b:f64[] = sin a in (b,) }"
    assert seen[0][1] == {"sin": 1}


def test_staging_inside_a_counting_trace_lifts_nothing_and_counts_nothing():
    jaxpr, counts = count(lambda: make_jaxpr(lax.sin)(1.0))()
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin"]
    assert counts == {}


# A trace with tracers of its own


class PairTracer(Tracer):
    """A value and the number of operations that it went through."""

    def __init__(self, trace, value, depth):
        super().__init__(trace)
        self.value, self.depth = value, depth

    @property
    def aval(self):
        return core.typeof(self.value)


class PairTrace(Trace):
    verb = "depth"

    def process_primitive(self, primitive, args, params):
        is_mine = [isinstance(x, PairTracer) and x._trace is self for x in args]
        values = [x.value if mine else x for x, mine in zip(args, is_mine)]
        outs = hand_down(self.parent, primitive, values, params)
        depth = 1 + max((x.depth for x, mine in zip(args, is_mine) if mine), default=0)
        return [PairTracer(self, out, depth) for out in outs]


def depth_of(f, x):
    with tracing(PairTrace(current_trace())) as trace:
        out = f(PairTracer(trace, x, 0))
        return out.value, out.depth


def test_a_trace_with_tracers_follows_values_through_operators_and_numpys_functions():
    assert depth_of(lambda x: np.exp(x * 2.0) + 1.0, 0.0) == (2.0, 3)


def test_a_trace_nests_in_itself_and_each_sees_its_own_tracers():
    assert depth_of(lambda x: lax.sin(x) + depth_of(lambda y: lax.sin(y) * x, 1.0)[1], 0.0)[1] == 2


def test_tracers_are_lifted_into_a_staged_program_as_its_constants():
    def body(x):
        jaxpr = make_jaxpr(lambda y: x * y)(1.0)
        assert jaxpr.consts[0] is x
        return core.eval_jaxpr(jaxpr, jaxpr.consts, 3.0)[0]

    assert depth_of(body, 2.0) == (6.0, 1)


def test_a_cond_over_tracers_of_ones_own_takes_them_as_operands():
    out, depth = depth_of(lambda x: lax.cond(True, lambda: x * 2.0, lambda: 0.0), 3.0)
    assert (out, depth) == (6.0, 2)  # this trace makes a tracer of everything, the converted predicate included


def test_a_trace_that_gives_no_process_primitive_is_told_so():
    class Empty(Trace):
        pass

    message = r"Empty does not define process_primitive\. Every trace must define this method\."
    with tracing(Empty(evaluation)), pytest.raises(NotImplementedError, match=message):
        lax.sin(1.0)


class BindingTrace(Trace):
    def process_primitive(self, primitive, args, params):
        return [primitive.bind(*args, **params)]


class DoublingTrace(Trace):
    def process_primitive(self, primitive, args, params):
        if primitive.name == "sin":
            return [lax.mul(2.0, lax.sin(args[0]))]
        return hand_down(self.parent, primitive, args, params)


def sin_under(trace_class, x):
    with tracing(trace_class(current_trace())):
        return lax.sin(x)


@pytest.mark.parametrize(("trace_class", "offset"), [(BindingTrace, 1), (DoublingTrace, 2)])
def test_a_trace_that_binds_for_itself_is_told_the_operation_the_line_and_the_parent(trace_class, offset):
    name, line = trace_class.__name__, line_of(trace_class.process_primitive) + offset
    words = (
        rf"^{name}\.process_primitive binds sin at {HERE}:{line} \({name}\.process_primitive\) while its own trace is "
        r"current, so it calls itself without end\."
    )
    for start, parent in (
        (sin_under, "evaluation"),
        (make_jaxpr(sin_under, static_argnums=0), "make_jaxpr of sin_under"),
    ):
        with pytest.raises(RecursionError, match=words) as caught:
            start(trace_class, 1.0)
        assert str(caught.value).splitlines()[1].startswith(f"Bind for the parent, {parent}")
        assert str(caught.value).endswith("`with calque_core.tracing(self.parent): ...`.")
        assert len(traceback.format_exception(caught.value)) < 20


def test_binding_under_the_parent_as_the_error_advises_works_in_every_trace():
    class Advised(Trace):
        def process_primitive(self, primitive, args, params):
            with core.tracing(self.parent):
                return [primitive.bind(*args, **params)]

    assert sin_under(Advised, 0.5) == np.sin(0.5)
    jaxpr = make_jaxpr(lambda x: sin_under(Advised, x))(0.5)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin"]
    assert evaluation.position is None


def test_a_recursion_of_the_users_own_is_left_alone():
    def forever(x):
        return forever(lax.sin(x))

    with tracing(CountTrace(current_trace())), pytest.raises(RecursionError, match="maximum recursion depth"):
        forever(1.0)
    with pytest.raises(RecursionError, match="maximum recursion depth"):
        count(forever)(1.0)


# Entering and leaving


def test_tracing_opens_a_trace_and_closes_it():
    trace = CountTrace(evaluation)
    assert not trace.is_open
    with tracing(trace):
        assert trace.is_open
        assert current_trace() is trace
        assert not trace_state_clean()
        with tracing(trace):
            pass
        assert trace.is_open
    assert trace.is_closed
    assert not trace.is_open
    assert trace_state_clean()


def test_a_tracer_of_ones_own_is_refused_with_the_class_and_the_place_where_its_trace_began():
    def start():
        with tracing(Nameless(current_trace())) as trace:
            return PairTracer(trace, 1.0, 0)

    class Nameless(PairTrace):
        verb = ""

    place = rf"{re.escape(__file__)}:{line_of(start) + 1} \(.*start\)"
    message = rf"its trace, Nameless, has ended\. It was made at {place}\. Return values"
    with pytest.raises(UnexpectedTracerError, match=message):
        lax.sin(start())


def test_an_ended_trace_cannot_be_entered_again():
    trace = PairTrace(evaluation)
    block = tracing(trace)
    with block:
        pass
    for again in (block, tracing(trace)):
        with pytest.raises(UnexpectedTracerError, match=r"depth has ended\. Make a new trace for each run\."):
            again.__enter__()


def test_handing_down_makes_the_other_trace_current_for_the_duration():
    seen = []
    peek_p = Primitive("peek")
    peek_p.def_impl(lambda x: seen.append(current_trace()) or x)
    outer = CountTrace(evaluation)
    with tracing(outer), tracing(CountTrace(outer)) as inner:
        hand_down(outer, peek_p, (1.0,), {})
        assert current_trace() is inner
        peek_p.bind_with_trace(evaluation, (1.0,), {})
    assert seen == [evaluation, evaluation]
    assert outer.counts == {"peek": 1}


def test_an_implementation_may_bind_and_is_evaluated_under_any_trace():
    twice_p = Primitive("twice")
    twice_p.def_impl(lambda x: lax.sin(lax.sin(x)))
    out, counts = count(twice_p.bind)(1.0)
    assert out == np.sin(np.sin(1.0))
    assert counts == {"twice": 1}


# Evaluation at compile time


def test_compile_time_evaluation_computes_what_involves_no_tracer():
    def body(x):
        with ensure_compile_time_eval():
            n = lax.add(2.0, 3.0)
            assert n == 5.0
            assert not is_tracer(n)
            y = x * n
            assert is_tracer(y)
            assert lax.cond(n > 4.0, lambda: 1, lambda: 2) == 1
        return y

    assert str(make_jaxpr(body)(1.0)) == "{ lambda ; a:f64[]. let b:f64[] = mul a 5.0 in (b,) }"


def test_compile_time_evaluation_at_rest_is_evaluation():
    with ensure_compile_time_eval():
        assert lax.add(2.0, 3.0) == 5.0


def test_staging_at_compile_time_takes_outer_tracers_as_constants():
    def body(x):
        with ensure_compile_time_eval():
            jaxpr = make_jaxpr(lambda y: y + x)(1.0)
        assert jaxpr.consts[0] is x
        return x

    make_jaxpr(body)(1.0)


def test_the_evaluation_context_evaluates_inside_a_trace_and_refuses_its_tracers():
    def body(x):
        with eval_context():
            assert trace_state_clean()
            assert lax.add(2.0, 3.0) == 5.0
            x * 2.0

    with pytest.raises(UnexpectedTracerError) as caught:
        make_jaxpr(body)(1.0)
    start, caller = line_of(body), body.__qualname__.split(".")[0]
    assert str(caught.value) == (
        f"an escaped tracer of type ~float64[] was used at {HERE}:{start + 4} ({body.__qualname__}): it belongs to "
        f"make_jaxpr of body ({HERE}:{start}), and evaluation runs outside of it. It was made at "
        f"{__file__}:{start + 7} ({caller}). Return values from a transformed function instead of storing them in a "
        "global, an attribute, a cache or a closure."
    )


# Escaped tracers


def escaped_tracer():
    kept = []
    make_jaxpr(lambda x: kept.append(lax.sin(x)))(1.0)
    return kept[0]


USES = {
    "an operator": lambda x: x + 1.0,
    "an operation": lambda x: lax.sin(x),
    "a method": lambda x: x.astype("float32"),
    "numpy": lambda x: np.sin(x),
    "a program": lambda x: make_jaxpr(lambda y: y * x)(1.0),
    "a result": lambda x: make_jaxpr(lambda: x)(),
    "a branch": lambda x: lax.cond(True, lambda: x, lambda: 1.0),
    "an operand of cond": lambda x: lax.cond(True, lambda y: y, lambda y: y, x),
    "a custom trace": lambda x: count(lax.sin)(x),
    "a trace with tracers": lambda x: depth_of(lambda y: y * x, 1.0),
    "compile time": lambda x: ensure_and(lambda: lax.sin(x)),
}


def ensure_and(f):
    with ensure_compile_time_eval():
        return f()


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_tracer_of_an_ended_trace_is_refused_everywhere_with_its_origin(use):
    message = (
        rf"an escaped tracer of type float64\[\] was used at {HERE}:\d+ .*: its trace, make_jaxpr of <lambda> "
        rf"\({HERE}:{line_of(escaped_tracer) + 2}\), has ended\. It was made at .*{HERE}:{line_of(escaped_tracer) + 2} "
        r"\(escaped_tracer\.<locals>\.<lambda>\)\. Return values from a transformed function instead of storing them"
    )
    with pytest.raises(UnexpectedTracerError, match=message):
        use(escaped_tracer())


def in_thread(f):
    results = []

    def run():
        try:
            results.append(f())
        except UnexpectedTracerError as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.parametrize(
    "use", [USES["an operation"], USES["a program"], USES["a result"], USES["a trace with tracers"]]
)
def test_a_tracer_is_refused_by_another_thread(use):
    errors = []
    make_jaxpr(lambda x: errors.append(in_thread(lambda: use(x))))(1.0)
    (error,) = errors
    assert isinstance(error, UnexpectedTracerError)
    assert re.search(r"it belongs to make_jaxpr of <lambda> \(test_trace\.py:\d+\) in another thread\.", str(error))


def test_a_tracer_of_an_open_trace_beside_the_current_one_is_refused():
    def body(x):
        with eval_context():
            make_jaxpr(lambda y: x * y)(1.0)

    message = (
        r"it belongs to make_jaxpr of body \(test_trace\.py:\d+\), and make_jaxpr of <lambda> .* runs outside of it"
    )
    with pytest.raises(UnexpectedTracerError, match=message):
        make_jaxpr(body)(1.0)


def test_what_the_refused_function_did_is_undone():
    kept = escaped_tracer()
    with pytest.raises(UnexpectedTracerError):
        make_jaxpr(lambda x: x + kept)(1.0)
    assert trace_state_clean()
    assert str(make_jaxpr(lax.sin)(1.0)) == "{ lambda ; a:f64[]. let b:f64[] = sin a in (b,) }"


# Concrete values of tracers

CONVERSIONS = {
    "float": (float, ConcretizationTypeError, "float()"),
    "complex": (complex, ConcretizationTypeError, "complex()"),
    "item": (lambda x: x.item(), ConcretizationTypeError, "a Python number (.item())"),
    "tolist": (lambda x: x.tolist(), ConcretizationTypeError, "a list of Python numbers (.tolist())"),
    "asarray": (np.asarray, TracerArrayConversionError, "a NumPy array"),
}


@pytest.mark.parametrize(("use", "error", "wanted"), CONVERSIONS.values(), ids=CONVERSIONS)
@pytest.mark.parametrize("run", [lambda f: make_jaxpr(f)(1.0), lambda f: depth_of(f, 1.0)], ids=["staged", "known"])
def test_what_would_lose_the_derivative_is_refused_whether_the_value_is_known_or_not(run, use, error, wanted):
    message = rf"{re.escape(wanted)} was asked of a traced value of type ?~float64\[\] at {HERE}:\d+ .*would leave the"
    with pytest.raises(error, match=message):
        run(use)


def test_a_traced_value_cannot_be_written_into_an_array():
    with pytest.raises(ValueError, match="setting an array element") as caught:
        make_jaxpr(lambda x: operator.setitem(np.zeros(3), 0, x))(1.0)
    assert isinstance(caught.value.__cause__, ConcretizationTypeError)


UNKNOWN = {
    "bool": (bool, TracerBoolConversionError, "bool()"),
    "if": (lambda x: 1 if x > 0 else 2, TracerBoolConversionError, "bool()"),
    "int": (int, TracerIntegerConversionError, "int()"),
    "index": (lambda x: [1, 2][x], TracerIntegerConversionError, "an integer"),
    "range": (range, TracerIntegerConversionError, "an integer"),
}


@pytest.mark.parametrize(("use", "error", "wanted"), UNKNOWN.values(), ids=UNKNOWN)
def test_a_staged_value_is_not_known_and_the_error_names_the_argument_that_decides_it(use, error, wanted):
    def body(params, scale):
        return use(params["n"][0] + 1)

    with pytest.raises(error) as caught:
        make_jaxpr(body)({"n": [1]}, 2.0)
    text = str(caught.value)
    assert text.startswith(f"{wanted} was asked of a traced value of type ")
    assert (
        f"under make_jaxpr of body ({HERE}:{line_of(body)}); it depends on the value of the argument params['n'][0]. "
        in text
    )
    assert "The value is not known here" in text
    assert (
        "Use numpy.where, lax.cond or lax.while_loop, or make the argument that decides it static (static_argnums)."
        in text
    )


class KnownTracer(PairTracer):
    known_value = property(lambda self: self.value)


def known(f, value):
    with tracing(PairTrace(current_trace())) as trace:
        return f(KnownTracer(trace, value, 0))


def test_a_known_value_decides_python_control_flow():
    assert known(bool, 0.0) is False
    assert known(int, np.float64(2.7)) == 2
    assert known(lambda i: [10, 20][i], np.int64(1)) == 20
    assert known(operator.index, np.array(3)) == 3


@pytest.mark.parametrize("value", [1.0, np.float64(1.0), np.ones(3)])
def test_a_known_value_that_is_no_integer_is_no_index(value):
    with pytest.raises(TypeError, match=r"integer|index"):
        known(operator.index, value)


def test_a_tracer_cannot_leave_by_pickle():
    def body(x):
        pickle.dumps(x)

    message = r"a traced value of type ~float64\[\] cannot be pickled: it exists only inside make_jaxpr of body"
    with pytest.raises(UnexpectedTracerError, match=message):
        make_jaxpr(body)(1.0)


def test_a_copy_of_a_tracer_has_its_trace_and_its_type():
    def body(x):
        for again in (copy.copy(x), copy.deepcopy({"a": [x]})["a"][0]):
            assert (again._trace, again.aval) == (x._trace, x.aval)
        return x

    make_jaxpr(body)(1.0)


def test_tracers_are_told_apart_from_values():
    seen = []
    make_jaxpr(lambda x: seen.append((is_tracer(x), repr(x))))(1.0)
    assert seen == [(True, "JitTracer(~float64[])")]
    assert not is_tracer(1.0)
    assert not is_tracer(np.ones(3))
    assert depth_of(lambda x: PairTracer(x._trace, repr(x), 0), 1.0)[0] == "PairTracer(~float64[])"


# Foreign array classes


class Box:
    """A foreign array class that evaluates itself."""

    def __init__(self, value):
        self.value = value


class Other(Box):
    pass


class NoType(Box):
    pass


seen_traces = []


def evaluate_box(primitive, args, params):
    seen_traces.append(current_trace())
    values = [x.value if isinstance(x, Box) else x for x in args]
    return [Box(out) for out in evaluation.process_primitive(primitive, values, params)]


def evaluate_other(primitive, args, params):
    return [lax.sin(1.0)]


for cls, evaluator in ((Box, evaluate_box), (Other, evaluate_other)):
    register_aval(cls, lambda x: ShapedArray(np.shape(x.value), np.float64))
    register_evaluator(cls, evaluator)


def test_a_foreign_class_is_computed_by_its_evaluator():
    out = lax.sin(Box(np.ones(3)))
    assert isinstance(out, Box)
    assert np.array_equal(out.value, np.sin(np.ones(3)))
    assert lax.add_p.bind(Box(1.0), 2.0).value == 3.0
    assert lax.add_p.bind(2.0, Box(1.0)).value == 3.0


def test_an_evaluator_runs_with_evaluation_current_whoever_asks():
    seen_traces.clear()
    out, counts = count(lambda: lax.sin(Box(1.0)))()
    assert out.value == np.sin(1.0)
    assert counts == {"sin": 1}
    make_jaxpr(lambda: ensure_and(lambda: lax.sin(Box(1.0))).value)()
    depth_of(lambda x: lax.sin(Box(1.0)), 1.0)
    assert seen_traces == [evaluation] * 3
    with tracing(CountTrace(evaluation)) as trace:
        assert hand_down(evaluation, lax.sin_p, (Other(1.0),), {}) == [np.sin(1.0)]
    assert trace.counts == {}


def test_an_evaluator_is_found_in_32_bits_too():
    with config.enable_x64(False):
        assert lax.sin(Box(np.float32(1))).value.dtype == np.float32


def test_two_foreign_classes_do_not_mix():
    message = (
        r"add at test_trace\.py:\d+ .* got operands of the classes Box and Other\. Convert them to one of the two\."
    )
    with pytest.raises(TypeError, match=message):
        lax.add_p.bind(Box(1.0), Other(1.0))


@pytest.mark.parametrize("cls", [Box, np.ndarray, float, np.float32])
def test_a_class_has_one_evaluator(cls):
    message = rf"{cls.__name__} already has an evaluator\. Register a class of your own instead\."
    with pytest.raises(ValueError, match=message):
        register_evaluator(cls, evaluate_box)


def test_an_unknown_class_is_refused_by_evaluation_with_the_place():
    with pytest.raises(TypeError, match=rf"sin at {HERE}:\d+ .*of type NoType is not an array or a scalar\."):
        lax.sin_p.bind(NoType(1.0))


def test_a_foreign_constant_is_kept_as_it_is():
    box = Box(np.ones(3))
    jaxpr = make_jaxpr(lambda x: lax.mul_p.bind(x, box))(1.0)
    assert jaxpr.consts == (box,)
    assert np.array_equal(core.eval_jaxpr(jaxpr, jaxpr.consts, 2.0)[0].value, 2 * np.ones(3))


def test_subclasses_of_numpys_arrays_are_computed_as_plain_arrays():
    class MyArray(np.ndarray):
        pass

    out = lax.sin(np.ones(3).view(MyArray))
    assert type(out) is np.ndarray


# Weak types


@pytest.mark.parametrize("value", [True, 2, 2.0, 2j])
def test_python_scalars_are_weak_and_results_are_strong(value):
    def body(x):
        assert x.aval.weak_type
        y = lax.stop_gradient(x)
        assert not y.aval.weak_type
        return y

    jaxpr = make_jaxpr(body)(value)
    assert jaxpr.in_avals[0].weak_type
    assert not jaxpr.out_avals[0].weak_type
    assert isinstance(lax.stop_gradient(value), np.generic)


@pytest.mark.parametrize("bits", [64, 32])
def test_a_weak_operand_takes_the_dtype_of_the_other_in_both_regimes(bits):
    with config.enable_x64(bits == 64):
        for x in (np.float32(1), np.ones(2, np.float32)):
            assert lax.add(x, 2.0).dtype == np.float32
            assert make_jaxpr(lambda y, x=x: x + y)(2.0).out_avals[0].dtype == np.float32


def test_the_source_of_an_equation_is_none_of_a_traces_business():
    assert here().source is None
