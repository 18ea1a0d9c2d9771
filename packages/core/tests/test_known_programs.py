"""A program that ran often runs as code, and gives what the interpreter gives."""

import warnings

import numpy as np
import pytest

from calque_core import (
    Primitive,
    ShapedArray,
    ShapeDtypeStruct,
    Trace,
    config,
    debug,
    evaluation,
    lax,
    make_jaxpr,
    pure_callback,
    tracing,
)
from calque_core.jaxprs.interpret import run_jaxpr
from calque_core.known import programs as known_code
from calque_core.known.programs import code_of, key_of, run_again

X = np.linspace(0.1, 0.9, 3)
RUNS = known_code._SOME_RUNS


@pytest.fixture
def equations(monkeypatch):
    """Count the equations that are interpreted."""
    bound = []
    bind = Primitive.bind

    def counted(self, *args, **params):
        bound.append(self)
        return bind(self, *args, **params)

    monkeypatch.setattr(Primitive, "bind", counted)
    return bound


def ran_often(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    for _ in range(RUNS):
        run_again(jaxpr, *args)
    return jaxpr


def test_a_program_is_interpreted_some_times_and_then_runs_as_code(equations):
    jaxpr = make_jaxpr(lambda x: lax.sin(x) * X)(X)
    equations.clear()
    for _ in range(RUNS):
        (first,) = run_again(jaxpr, X)
    assert len(equations) == 2 * RUNS
    equations.clear()
    (later,) = run_again(jaxpr, X)
    assert equations == []
    assert later.tolist() == first.tolist()


def test_the_step_of_a_loop_is_interpreted_some_times(equations):
    def loop(x):
        return lax.scan(lambda c, a: (lax.sin(c) * a, c), x, np.ones((100, 3)))

    carry, stacked = loop(X)
    assert len(equations) < 4 * RUNS
    with config.enable_checks():
        want_carry, want_stacked = loop(X)
    np.testing.assert_array_equal(carry, want_carry)
    np.testing.assert_array_equal(stacked, want_stacked)


def test_arguments_of_other_types_are_interpreted():
    jaxpr = ran_often(lambda x: lax.sin(x) * 2.0, X)
    assert run_again(jaxpr, X[:2])[0].shape == (2,)
    assert run_again(jaxpr, X.astype(np.float32))[0].dtype == np.float32
    assert run_again(jaxpr, X)[0].dtype == np.float64


def test_an_equal_program_finds_the_code_of_the_first_one(equations):
    constant = np.full(3, 2.0)
    ran_often(lambda x: lax.sin(x) * X, X)
    jaxpr = make_jaxpr(lambda x: lax.sin(x) * constant)(X)
    run_again(jaxpr, X)
    equations.clear()
    np.testing.assert_array_equal(run_again(jaxpr, X)[0], np.sin(X) * 2.0)
    assert equations == []


def test_programs_with_other_code_have_other_keys():
    programs = [
        lambda x: x * 2.0, lambda x: x * np.float64(2.0), lambda x: x * 3.0, lambda x: 2.0 - x, lambda x: x - 2.0,
        lambda x: x * 0.0, lambda x: x * -0.0, lambda x: lax.reduce_sum(x, (0,)), lambda x: lax.reduce_max(x, (0,)),
        lambda x: [x * 2.0, x], lambda x: [x, x * 2.0], lambda x: (x * 2.0) * (x * 3.0),
        lambda x: (x * 3.0) * (x * 2.0),
    ]  # fmt: skip
    keys = [key_of(make_jaxpr(fun)(x)) for fun in programs for x in (X, X.astype(np.float32), np.ones(2))]
    assert len(set(keys)) == len(keys) == 3 * len(programs)
    assert key_of(make_jaxpr(lambda x: x * 2.0)(X)) == keys[0]


def test_a_trace_sees_each_equation(equations):
    jaxpr = ran_often(lambda x: lax.sin(x) * 2.0, X)
    equations.clear()
    with tracing(Trace(evaluation)):
        pass
    make_jaxpr(lambda x: run_again(jaxpr, x))(X)
    assert len(equations) == 2


@pytest.mark.parametrize("setting", [config.enable_checks, config.debug_nans, config.debug_infs])
def test_settings_that_look_at_each_operation_interpret(setting, equations):
    jaxpr = ran_often(lambda x: lax.log(x) * 2.0, X)
    equations.clear()
    with setting():
        run_again(jaxpr, X)
    assert len(equations) == 2


def test_each_setting_has_its_own_code():
    jaxpr = ran_often(lambda x: lax.sin(x) * 2.0, X)
    with config.enable_x64(False):
        assert [run_again(jaxpr, X)[0].dtype for _ in range(3)] == [np.float32] * 3
    assert run_again(jaxpr, X)[0].dtype == np.float64


def test_a_program_of_64_bits_under_a_setting_of_32_is_interpreted():
    def fun(x):
        wide = lax.convert_element_type(x, np.float64)
        return (wide + 1e-10) - wide

    x = X.astype(np.float32)
    jaxpr = make_jaxpr(fun)(x)
    with config.enable_x64(False):
        outs = [run_again(jaxpr, x)[0].tolist() for _ in range(RUNS + 3)]
    assert outs == [[0.0, 0.0, 0.0]] * len(outs)
    assert np.all(run_again(jaxpr, x)[0] > 0.0)


def test_an_error_of_code_is_the_error_of_the_interpreter():
    def fails(jaxpr):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero") as caught:
            run_again(jaxpr, np.zeros(3))
        return (
            str(caught.value),
            getattr(caught.value, "__notes__", []),
            [frame.name for frame in caught.traceback[-2:]],
        )

    fun = lambda x: lax.log(x) * 2.0
    assert fails(ran_often(fun, X)) == fails(make_jaxpr(fun)(X))


def test_an_error_in_a_loop_names_the_step():
    with np.errstate(all="raise"), pytest.raises(FloatingPointError) as caught:
        lax.fori_loop(0, 100, lambda i, c: c - 1.0 + 0.0 / c, np.array([40.0, 60.0]))
    operation, step = caught.value.__notes__[:2]
    assert operation.startswith("This happened in 'div' at test_known_programs.py:")
    assert step.startswith("This happened in step 40 of a scan at test_known_programs.py:")


def test_a_warning_of_numpys_is_given_once_per_run():
    jaxpr = ran_often(lambda x: lax.log(x) * 2.0, X)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        run_again(jaxpr, np.zeros(3))
    assert [w.category for w in given] == [RuntimeWarning]


def test_results_are_new_arrays_and_arguments_stay_as_they_are():
    jaxpr = ran_often(lambda x: lax.sin(x * 2.0) + 1.0, X)
    before = X.copy()
    first, second = run_again(jaxpr, X)[0], run_again(jaxpr, X)[0]
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, X)
    np.testing.assert_array_equal(X, before)


def doubled_three_times(x):
    return lax.fori_loop(0, 3, lambda i, c: lax.cond(lax.lt(i, 3), lambda c: c * 2.0, lambda c: c, c), x)


def test_loops_and_branches_are_calls_in_code(equations):
    jaxpr = ran_often(lambda x: doubled_three_times(lax.sin(x)) + x, X)
    equations.clear()
    np.testing.assert_array_equal(run_again(jaxpr, X)[0], 8.0 * np.sin(X) + X)
    assert {primitive.name for primitive in equations} <= {"while", "cond"}


def test_a_result_of_a_branch_is_not_written_to_while_its_operand_is_needed():
    def f(x):
        y = x * 2.0
        kept = lax.cond(lax.reduce_sum(x) > 0.0, lambda y: y, lambda y: -y, y)
        return kept + 1.0, y * kept

    jaxpr = ran_often(f, X)
    assert code_of(jaxpr) is not None
    for out, want in zip(run_again(jaxpr, X), [2.0 * X + 1.0, 4.0 * X * X], strict=True):
        np.testing.assert_allclose(out, want)


def test_programs_of_python_floats_calls_and_effects_have_no_code():
    assert code_of(make_jaxpr(lambda x: x * 2.0)(1.0)) is None
    call = lambda x: pure_callback(np.sin, ShapedArray((3,), np.float64), x)
    assert code_of(make_jaxpr(call)(X)) is None
    assert code_of(make_jaxpr(lambda x: lax.cond(x[0] > 0.0, call, lambda x: x, x))(X)) is None
    assert code_of(make_jaxpr(lambda x: x)(X)) is None
    assert code_of(make_jaxpr(lambda x: x * 2.0)(X)) is not None


def test_a_rule_that_is_replaced_is_used():
    double_p = Primitive("double")
    double_p.def_impl(lambda x: 2.0 * x, leaf=True)
    double_p.def_abstract_eval(lambda x: x)
    jaxpr = ran_often(double_p.bind, X)
    assert run_again(jaxpr, X)[0].tolist() == (2.0 * X).tolist()
    double_p.def_rule("impl", lambda x: 3.0 * x, override=True)
    np.testing.assert_array_equal(run_again(jaxpr, X)[0], 3.0 * X)


def with_calls(x):
    y = lax.sin(x) * 2.0
    debug.callback(seen.append, y)
    z = lax.cos(y) + y
    w = pure_callback(lambda z: np.asarray(z) * 3.0, ShapeDtypeStruct((2,), np.float64), z)
    debug.callback(seen.append, w)
    return w * y - x, z


seen = []


def test_the_operations_beside_a_call_of_the_user_are_code():
    x = np.array([0.5, 1.5])
    program = make_jaxpr(with_calls)(x)
    seen.clear()
    want = run_jaxpr(program, program.consts, x)
    first = list(seen)
    seen.clear()
    for _ in range(60):
        for got, value in zip(run_again(program, x), want):
            np.testing.assert_array_equal(got, value)
    assert len(seen) == 120
    np.testing.assert_array_equal(seen[:2] + seen[-2:], first * 2)
    parts = known_code._parts_of(program)
    assert [len(part.program.eqns) for part in parts] == [2, 1, 2, 2, 2]
    made = [history_of(part.program).codes for part in program.memo("parts", tuple)]
    assert [any(codes.values()) for codes in made] == [True, False, True, False, True]


def history_of(program):
    return program.memo("history", known_code._History)


def test_an_error_beside_a_call_of_the_user_repeats_no_call():
    def program(n):
        debug.callback(seen.append, n)
        m = lax.div(lax.mul(n, 6), n)
        debug.callback(seen.append, m)
        return lax.add(m, n) * 2

    jaxpr = make_jaxpr(program)(np.array([1, 2]))
    seen.clear()
    for _ in range(60):
        run_again(jaxpr, np.array([1, 2]))
    assert len(seen) == 120
    with pytest.raises(ZeroDivisionError) as first:
        run_jaxpr(jaxpr, jaxpr.consts, np.array([1, 0]))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError) as caught:
            run_again(jaxpr, np.array([1, 0]))
        assert str(caught.value) == str(first.value)
        assert getattr(caught.value, "__notes__", []) == getattr(first.value, "__notes__", [])
    assert len(seen) == 124


def test_a_loop_with_a_call_of_the_user_calls_in_order():
    calls = []

    def step(carry):
        i, x = carry
        debug.callback(lambda i: calls.append(int(i)), i)
        return i + 1, lax.sin(x) * 0.5 + lax.cos(x)

    for _ in range(2):
        _, x = lax.while_loop(lambda carry: carry[0] < 100, step, (0, 1.0))
    want = 1.0
    for _ in range(100):
        want = np.sin(want) * 0.5 + np.cos(want)
    np.testing.assert_allclose(x, want, rtol=1e-14)
    assert calls == [*range(100)] * 2
