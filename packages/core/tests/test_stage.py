import gc
import re
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from calque_core import (
    Jaxpr,
    Literal,
    Primitive,
    ShapedArray,
    UnexpectedTracerError,
    check_jaxpr,
    config,
    current_trace,
    eval_jaxpr,
    evaluation,
    hoist_tracers,
    is_tracer,
    jaxpr_equal,
    lax,
    make_jaxpr,
    stage,
    trace_state_clean,
    tracing,
    typeof,
)
from calque_core.memory.captures import is_held
from calque_core.staging.stage import JaxprTrace

F64 = ShapedArray((), np.float64)
HERE = "test_stage.py"

ARRAY = np.arange(6.0).reshape(2, 3).copy()  # without an owner that could write it
ARRAY.flags.writeable = False

PROGRAMS = {
    "identity": (lambda x: [x], (1.0,)),
    "nothing": (lambda x: [], (1.0,)),
    "a literal": (lambda x: [2.0], (1.0,)),
    "a constant": (lambda x: [ARRAY], (1.0,)),
    "the same twice": (lambda x: [x, x], (1.0,)),
    "arithmetic": (lambda x, y: [lax.sin(x) * y + 2.0, x - y], (0.5, 2.0)),
    "broadcasting": (lambda x: [x + ARRAY, ARRAY * x * ARRAY], (np.arange(3.0),)),
    "mixed dtypes": (lambda x, y: [x + y, y * 2], (np.float32(1), np.arange(3, dtype=np.int8))),
    "no arguments": (lambda: [lax.sin(ARRAY)], ()),
    "a branch": (lambda x: [lax.cond(x > 0, lambda: x * ARRAY, lambda: -ARRAY)], (1.0,)),
    "bools": (lambda x: [x > 0, lax.bitwise_not(x > 0)], (np.arange(3) - 1,)),
    "empty arrays": (lambda x: [x + x, x.sum()], (np.zeros((0, 3)),)),
}


@pytest.mark.parametrize("x64", [True, False], ids=["64 bits", "32 bits"])
@pytest.mark.parametrize(("fun", "args"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_staged_program_is_well_typed_and_gives_what_the_function_gives(fun, args, x64):
    with config.enable_x64(x64):
        jaxpr = make_jaxpr(fun)(*args)
        check_jaxpr(jaxpr)
        got, want = eval_jaxpr(jaxpr, jaxpr.consts, *args), fun(*args)
        assert len(got) == len(want)
        for x, y, aval in zip(got, want, jaxpr.out_avals):
            assert np.array_equal(x, y)
            assert not jaxpr.eqns or typeof(x) == aval


def test_stage_takes_avals_and_a_function_on_flat_lists():
    jaxpr = stage(lambda x, y: [lax.mul(x, y)], [F64, ShapedArray((3,), np.float64)])
    assert str(jaxpr) == "{ lambda ; a:f64[] b:f64[3]. let c:f64[3] = mul a b in (c,) }"


def test_everything_that_runs_is_recorded_constants_included():
    assert str(stage(lambda: [lax.mul(2.0, 2.0)], [])) == "{ lambda ; . let a:f64[] = mul 2.0 2.0 in (a,) }"


# Constants


def test_scalars_are_literals_and_arrays_are_constants():
    scalars = [2.0, 3, True, 1j, np.float32(4), np.int8(5), np.array(6.0)]
    jaxpr = stage(lambda: [*scalars, np.ones(2)], [])
    assert [x.val for x in jaxpr.outvars[:-1]] == scalars
    assert all(type(x) is Literal for x in jaxpr.outvars[:-1])
    assert [x.aval.weak_type for x in jaxpr.outvars] == [True] * 4 + [False] * 4
    assert [c.tolist() for c in jaxpr.consts] == [[1.0, 1.0]]


def test_literals_and_constants_are_narrowed_with_the_regime():
    with config.enable_x64(False):
        jaxpr = stage(lambda: [lax.sin(2.0), np.float64(3), np.ones(2)], [])
    assert [a.dtype for a in jaxpr.out_avals] == [np.float32] * 3
    assert jaxpr.consts[0].dtype == np.float32
    assert jaxpr.eqns[0].invars[0].val.dtype == np.float32


def test_an_array_used_many_times_is_one_constant():
    x = np.ones(3)
    jaxpr = stage(lambda: [lax.add(x, x), lax.mul(x, np.ones(3))], [])
    assert len(jaxpr.consts) == 2


def test_subclasses_are_kept_as_plain_arrays():
    class MyArray(np.ndarray):
        pass

    x = np.ones(3).view(MyArray)
    jaxpr = stage(lambda: [lax.sin(x)], [])
    assert type(jaxpr.consts[0]) is np.ndarray
    x[0] = 7.0
    assert jaxpr.consts[0][0] == 1.0


def test_what_a_user_writes_later_changes_no_program():
    x, view = np.ones(3), np.ones(6)[::2]
    jaxpr = stage(lambda: [lax.add(x, view)], [])
    x[:], view[:] = 7.0, 7.0
    assert eval_jaxpr(jaxpr, jaxpr.consts)[0].tolist() == [2.0, 2.0, 2.0]
    assert not any(c.flags.writeable for c in jaxpr.consts)


def test_a_read_only_array_is_not_copied():
    assert np.shares_memory(stage(lambda: [lax.sin(ARRAY)], []).consts[0], ARRAY)
    view_of_writable = np.zeros(3)[:]
    view_of_writable.flags.writeable = False
    assert stage(lambda: [lax.sin(view_of_writable)], []).consts[0] is not view_of_writable


@pytest.mark.parametrize(("size", "writable"), [(3, True), (100, False)])
def test_a_constant_in_a_loop_is_stored_once(size, writable):
    x = np.ones((size, size))
    writable_inside = []

    def fun(v):
        for _ in range(100):
            v = lax.dot(x, v)
            writable_inside.append(x.flags.writeable)
        return [v]

    jaxpr = stage(fun, [ShapedArray((size,), np.float64)])
    assert set(writable_inside) == {writable}
    assert len(jaxpr.consts) == 1
    assert x.flags.writeable


def test_a_buffer_that_is_filled_anew_in_each_step_is_stored_as_it_was():
    buffer = np.zeros(3)

    def fun(x):
        for step in range(4):
            buffer[:] = step // 2
            x = x + buffer
        return [x]

    jaxpr = stage(fun, [ShapedArray((3,), np.float64)])
    assert sorted(c[0] for c in jaxpr.consts) == [0.0, 1.0]
    assert eval_jaxpr(jaxpr, jaxpr.consts, np.zeros(3))[0].tolist() == [2.0, 2.0, 2.0]


def test_writing_to_a_large_captured_array_is_refused_with_the_reason():
    buffer = np.zeros(10_000)

    def fun(x):
        y = x + buffer
        buffer[0] = 1.0
        return y

    with pytest.raises(ValueError, match="read-only") as caught:
        make_jaxpr(fun)(1.0)
    note = str(caught.value).splitlines()[1]
    place = rf"make_jaxpr of fun \({HERE}:{fun.__code__.co_firstlineno}\)"
    assert re.match(
        rf"{place} captured large NumPy arrays and makes them read-only until it ends: .*\. Copy the array", note
    )
    buffer[0] = 2.0


def test_an_error_gives_captured_arrays_back():
    x = np.zeros(10_000)

    def fun():
        lax.sin(x)
        assert not x.flags.writeable
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stage(fun, [])
    assert x.flags.writeable


# Tracers of the traces below


def test_outer_tracers_are_constants_that_can_be_hoisted():
    def fun(x, y):
        inner = stage(lambda v: [v * x + y + ARRAY], [F64])
        assert [is_tracer(c) for c in inner.consts] == [True, True, False]
        assert not inner.is_closed
        closed, values = hoist_tracers(inner)
        assert closed.is_closed
        assert [v is w for v, w in zip(values, (x, y))] == [True, True]
        assert len(closed.invars) == 3
        assert hoist_tracers(closed) == (closed, [])
        assert np.shares_memory(closed.consts[0], ARRAY)
        return eval_jaxpr(closed, closed.consts, x, y, 5.0)

    jaxpr = make_jaxpr(fun)(2.0, 3.0)
    assert np.array_equal(eval_jaxpr(jaxpr, jaxpr.consts, 2.0, 3.0)[0], 13.0 + ARRAY)


def test_a_program_over_tracers_remembers_nothing():
    def fun(x):
        inner = stage(lambda: [lax.sin(x)], [])
        made = [inner.memo("key", object) for _ in range(2)]
        assert made[0] is not made[1]
        return x

    make_jaxpr(fun)(1.0)
    closed = stage(lambda x: [x], [F64])
    assert closed.memo("key", object) is closed.memo("key", object)


def test_stages_nest_to_any_depth():
    def nested(depth, x):
        if depth == 0:
            return [lax.sin(x)]
        inner = stage(lambda: nested(depth - 1, x), [])
        return eval_jaxpr(inner, inner.consts)

    assert str(stage(lambda x: nested(30, x), [F64])) == "{ lambda ; a:f64[]. let b:f64[] = sin a in (b,) }"


# Tracing


def test_the_trace_is_current_for_the_duration_and_closed_afterwards():
    traces = []
    stage(lambda: traces.append(current_trace()) or [], [])
    assert isinstance(traces[0], JaxprTrace)
    assert traces[0].is_closed
    assert trace_state_clean()


def test_what_a_trace_remembers_dies_with_it():
    class Remembered:
        pass

    def fun():
        thing = Remembered()
        current_trace().memo["key"] = thing
        kept.append((current_trace(), weakref.ref(thing)))
        return []

    kept = []
    stage(fun, [])
    ((trace, gone),) = kept
    assert trace.memo == {}
    assert gone() is None


def test_a_program_refers_neither_to_its_trace_nor_to_its_function():
    class Fun:
        def __call__(self, x):
            traces.append(weakref.ref(current_trace()))
            return [lax.sin(x) * np.ones(3)]

    traces, fun = [], Fun()
    gone = weakref.ref(fun)
    jaxpr = stage(fun, [F64])
    del fun
    gc.collect()
    assert gone() is None
    assert traces[0]() is None
    assert isinstance(jaxpr, Jaxpr)


def test_tracing_makes_no_reference_cycles():
    stage(lambda x: [lax.sin(x)], [F64])
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            jaxpr = stage(lambda x: [lax.sin(x) * np.ones(3) + 2.0], [F64])
            del jaxpr
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_eight_threads_stage_the_same_function_at_once():
    barrier, shared = threading.Barrier(8), np.ones((3, 3))

    def fun(x):
        for _ in range(20):
            x = lax.sin(lax.dot(shared, x)) + shared[0]
        return [x]

    def work(_):
        barrier.wait()
        return [stage(fun, [ShapedArray((3,), np.float64)]) for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        programs = [jaxpr for jaxprs in pool.map(work, range(8)) for jaxpr in jaxprs]
    assert all(jaxpr_equal(jaxpr, programs[0]) for jaxpr in programs)
    assert shared.flags.writeable


def test_a_result_that_is_no_array_is_refused_with_the_function():
    def fun(x):
        return {"a": x, "b": "text"}

    place = rf"make_jaxpr of fun \({HERE}:{fun.__code__.co_firstlineno}\)"
    with pytest.raises(TypeError, match=rf"{place} returned 'text' of type str\. Return arrays and scalars\."):
        make_jaxpr(fun)(1.0)


def test_a_tracer_of_an_ended_trace_cannot_be_returned():
    kept = []
    make_jaxpr(lambda x: kept.append(x))(1.0)
    with pytest.raises(UnexpectedTracerError, match="has ended"):
        stage(lambda: kept, [])


def test_the_name_of_the_function_is_kept_for_printing():
    def loss(x):
        return [x]

    assert stage(loss, [F64]).debug_name == "loss"
    assert stage(lambda x: [x], [F64], user_fun=loss).debug_name == "loss"


def test_parameters_that_are_empty_are_shared():
    jaxpr = stage(lambda x: [lax.sin(lax.cos(x))], [F64])
    assert jaxpr.eqns[0].params is jaxpr.eqns[1].params == {}


def test_the_error_for_a_condition_names_only_the_arguments_that_decide_it():
    def fun(x, y, z):
        w = lax.sin(x) + y
        lax.cos(z)
        return 1 if w > 0 else 2

    with pytest.raises(TypeError, match=r"it depends on the value of the arguments x and y\. The value is not"):
        make_jaxpr(fun)(1.0, 2.0, 3.0)


def test_a_condition_on_constants_names_no_argument():
    def fun(x):
        return 1 if lax.gt(2.0, 1.0) else 2

    with pytest.raises(TypeError, match=r"under make_jaxpr of fun \(test_stage\.py:\d+\)\. The value is not known"):
        make_jaxpr(fun)(1.0)


def test_an_equation_is_recorded_in_its_final_form():
    two_p = Primitive("two", multiple_results=True)
    two_p.def_abstract_eval(lambda aval: [aval, aval.update(shape=(2,))])
    (eqn,) = stage(lambda x: two_p.bind(x), [F64]).eqns
    assert eqn.primitive is two_p
    assert [v.aval.shape for v in eqn.outvars] == [(), (2,)]
    assert eqn.source_info.file_name == __file__


def test_holding_is_undone_by_closing_however_the_trace_is_used():
    x = np.zeros(10_000)
    trace = JaxprTrace(evaluation)
    with tracing(trace):
        lax.sin(x)
        assert not x.flags.writeable
    assert x.flags.writeable
    assert trace.constants == {}
    assert not is_held(x)
