"""What plans compute is what the rules compute, in the same types: under each setting, and on device arrays.

Most settings change the types of operations: arrays count as arrays of 32 bits, or Python's scalars do, or a promotion
is refused.  The rules ask for them, and a plan has to follow.  On device arrays a plan runs operations of the device.
"""

from __future__ import annotations

import numpy as np
import pytest
from composites import COMPOSITES
from operations import OPERATIONS

import calque
import calque.numpy as cnp
from calque_core import config, lax, make_jaxpr, typeof
from calque_core.known import table
from calque_core.known.programs import run_again
from calque_pytree import tree_leaves
from calque_xla_backend import Array

SETTINGS = {
    "32 bits": lambda: config.enable_x64(False),
    "scalars of 32 bits": lambda: config.default_dtype_bits(32),
    "strict types": lambda: config.numpy_dtype_promotion("strict"),
    "equal ranks": lambda: config.numpy_rank_promotion("raise"),
}
PROGRAMS = [*(row for rows in OPERATIONS.values() for row in rows), *COMPOSITES]
CALLS = 6  # plans are made at the third meeting of an operation


def ways(program, place=lambda x: x):
    """Return calls of a program, of its two derivatives and of its batch, on arguments that `place` places."""
    example = program.example(program.widest)
    moving = example.floating
    placed = [place(x) for x in example.leaves]

    def of_moving(*values):
        leaves = list(placed)
        for place, value in zip(moving, values, strict=True):
            leaves[place] = value
        return [y for y in example(*leaves) if typeof(y).dtype.kind in "fc"]

    def backwards():
        outs, pull = calque.vjp(of_moving, *values)
        return outs, pull([np.ones(y.shape, y.dtype)[()] for y in map(typeof, outs)])

    values = [placed[i] for i in moving]
    runs = {"value": lambda: example(*placed)}
    if moving:
        runs["jvp"] = lambda: calque.jvp(of_moving, tuple(values), tuple(values))
        runs["vjp"] = backwards
        runs["vmap"] = lambda: calque.vmap(of_moving)(*[place(np.stack([x, x])) for x in values])
    return runs


def outcome(run):
    """Return the leaves of a result, or the error."""
    try:
        return tree_leaves(run())
    except Exception as error:  # noqa: BLE001  (whatever is refused is to be refused later as well)
        return error


def assert_same(first, last):
    if isinstance(first, Exception):
        assert (type(last), str(last)) == (type(first), str(first))
        return
    assert [type(y) for y in last] == [type(x) for x in first]
    assert [typeof(y) for y in last] == [typeof(x) for x in first]
    for x, y in zip(first, last, strict=True):
        assert getattr(x, "dtype", None) == getattr(y, "dtype", None)
        kind = complex if typeof(x).dtype.kind == "c" else float
        tolerance = 0.05 if typeof(x).dtype.itemsize <= 2 else 1e-5
        np.testing.assert_allclose(np.asarray(y, kind), np.asarray(x, kind), tolerance, 1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sampled(keep=0.05)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@pytest.mark.parametrize("around", SETTINGS)
def test_later_calls_give_what_the_rules_give(around, program):
    with np.errstate(all="ignore"):
        for run in ways(program).values():
            with SETTINGS[around]():
                table.forget_known_operations()
                outcomes = [outcome(run) for _ in range(CALLS)]
            assert_same(outcomes[0], outcomes[-1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sampled(keep=0.02)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_later_calls_on_device_arrays_give_what_the_rules_give(program):
    place = lambda x: calque.device_put(x) if isinstance(x, (np.ndarray, np.generic)) else x
    with np.errstate(all="ignore"):
        for run in ways(program, place).values():
            table.forget_known_operations()
            outcomes = [outcome(run) for _ in range(CALLS)]
            assert_same(outcomes[0], outcomes[-1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_that_ran_often_gives_what_the_interpreter_gives(program):
    example = program.example(program.widest)
    with np.errstate(all="ignore"):
        jaxpr = outcome(lambda: [make_jaxpr(example)(*example.leaves)])
        if isinstance(jaxpr, Exception):
            return
        outcomes = [outcome(lambda: run_again(jaxpr[0], *example.leaves)) for _ in range(18)]
    assert_same(outcomes[0], outcomes[-1])


# Counts: a slow way under a setting is no error that a comparison shows


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.fixture
def rules(monkeypatch):
    """Count how often a plan is asked for and there is none, in this test."""
    met = []
    meet = table.KnownOperations._meet
    monkeypatch.setattr(table.KnownOperations, "_meet", lambda *args: met.append(args[1]) or meet(*args))
    return met


@pytest.mark.counts
@pytest.mark.parametrize("way", [calque.grad, calque.vmap, lambda f: lambda x: calque.jvp(f, (x,), (x,))])
@pytest.mark.parametrize("around", [name for name in SETTINGS if name != "strict types"])
def test_settings_have_plans_of_their_own(around, way, rules):
    x = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape((4, 3) if way is calque.vmap else 12)
    table.forget_known_operations()
    results = {}
    for enter in (SETTINGS[around], config.enable_x64):
        with enter():
            fun = way(rosenbrock)
            for _ in range(
                2 * CALLS
            ):  # a plan may place a batch axis elsewhere, so that a later operation is a new one
                fun(x)
            assert rules != []
            rules.clear()
            results[enter] = fun(x)
            assert rules == []
    first, second = map(tree_leaves, results.values())
    np.testing.assert_allclose(first, second, rtol=1e-5)


@pytest.mark.parametrize("around", [lambda: config.known_operations(False), config.debug_nans, config.debug_infs])
def test_settings_that_ask_to_see_each_operation_have_no_plans(around, rules):
    with around():
        for _ in range(CALLS):
            calque.grad(rosenbrock)(np.ones(3))
    assert rules == []


def test_a_warning_of_each_call_is_given_at_each_call():
    with config.numpy_rank_promotion("warn"):
        for _ in range(CALLS):
            with pytest.warns(UserWarning, match="rank"):
                calque.grad(lambda x: np.sum(x * np.ones((2, 3))))(np.ones(3))


def test_a_backward_pass_under_other_settings_has_the_types_of_the_forward_pass():
    for _ in range(CALLS):
        with config.enable_x64(False):
            out, pull = calque.vjp(lambda x: lax.sin(x) * 2.0, np.ones(3, np.float32))
        (inside,) = pull(out)
        with config.enable_x64(False):
            (outside,) = pull(out)
        assert inside.dtype == outside.dtype == np.float32
        np.testing.assert_allclose(inside, 2.0 * np.cos(1.0) * out, rtol=1e-6)


def test_a_python_float_counts_anew_where_a_setting_is_changed_inside_a_function():
    def fun(x):
        y = cnp.sin(x)
        with config.default_dtype_bits(32):
            return y * x

    for way in (lambda: calque.jvp(fun, (0.3,), (1.0,)), lambda: calque.value_and_grad(fun)(0.3)):
        table.forget_known_operations()
        outs = [way()[0] for _ in range(CALLS)]
        assert set(outs) == {np.sin(0.3) * np.float64(np.float32(0.3))}


@pytest.mark.parametrize("around", SETTINGS)
def test_numbers_that_a_condition_chooses_have_the_bits_of_the_setting(around):
    """The rule of `2.0**x` chooses between two numbers, and takes the logarithm."""
    for way in (calque.grad, calque.vmap, lambda f: lambda v: calque.jvp(f, (v,), (v,))):
        for power in (lambda x: 2.0**x, lambda x: x**2.5, lambda x: np.power(3.0, x) * x):
            fun = way(lambda x, f=power: np.sum(f(x)))
            x = np.linspace(0.5, 1.5, 6, dtype=np.float32).reshape((2, 3) if way is calque.vmap else 6)
            with SETTINGS[around]():
                table.forget_known_operations()
                outcomes = [outcome(lambda fun=fun, x=x: fun(x)) for _ in range(CALLS)]
            assert_same(outcomes[0], outcomes[-1])


def test_an_array_of_64_bits_counts_as_one_of_32_beside_known_code():
    wide = np.linspace(0.0, 1.0, 3)
    with config.enable_x64(False):
        for _ in range(CALLS):
            assert calque.grad(lambda x: np.sum(np.sin(x * wide)))(wide).dtype == np.float32
            assert calque.vmap(lambda x: x * wide)(np.stack([wide, wide])).dtype == np.float32
            assert np.asarray(cnp.mean(wide)).dtype == np.float32
            assert calque.grad(lambda x: lax.sin(x) * np.float64(2.0))(np.float32(1.0)).dtype == np.float32


def test_functions_of_arrays_of_numpys_run_as_code_under_a_setting_and_give_what_they_gave(rules):
    wide, narrow = np.linspace(-1.0, 1.0, 6).reshape(2, 3), np.ones((2, 3), np.float32)
    calls = [
        lambda x: cnp.sin(x), lambda x: cnp.mean(x, axis=1), lambda x: cnp.sum(x, keepdims=True), lambda x: x,
        lambda x: cnp.add(x, 2.5), lambda x: cnp.std(x), lambda x: cnp.maximum(x, x), lambda x: cnp.dot(x, x.T),
    ]  # fmt: skip
    for around in SETTINGS.values():
        with around():
            for x in (wide, narrow):
                outcomes = [[outcome(lambda f=f, x=x: f(x)) for f in calls] for _ in range(CALLS)]
                for first, last in zip(outcomes[0], outcomes[-1], strict=True):
                    assert_same(first, last)
            rules.clear()
            assert cnp.mean(narrow, axis=1).dtype == np.float32
            assert rules == []


def test_a_function_that_looks_at_integers_looks_at_each_call():
    with config.enable_x64(False):
        for _ in range(CALLS):
            with pytest.raises(ValueError, match="negative power"):
                cnp.power(np.array([2]), np.array([-1]))
            with pytest.raises(IndexError):
                cnp.take(np.ones(3), np.array([5]), mode="raise")


# Device arrays


@pytest.mark.counts
@pytest.mark.parametrize("way", [calque.grad, lambda f: lambda x: calque.jvp(f, (x,), (x,))])
@pytest.mark.parametrize("place", [calque.device_put, np.asarray])
def test_a_derivative_beside_device_arrays_runs_no_rule_again(way, place, rules):
    data, aims = calque.device_put(np.ones((5, 3))), calque.device_put(np.zeros(5))
    table.forget_known_operations()
    fun = way(lambda w: np.mean((np.tanh(data @ w) - aims) ** 2))
    x = place(np.arange(3.0))
    first = tree_leaves(fun(x))
    for _ in range(CALLS):
        fun(x)
    assert rules != []
    rules.clear()
    last = tree_leaves(fun(x))
    assert rules == []
    assert {type(y) for y in (*first, *last)} == {Array}
    np.testing.assert_allclose(last, first, rtol=1e-12)


def test_a_pullback_on_device_arrays_takes_a_cotangent_of_numpys():
    x = calque.device_put(np.linspace(0.0, 1.0, 3))
    for _ in range(CALLS):
        _, pull = calque.vjp(lambda x: np.sin(x) * x, x)
        (ct,) = pull(np.ones(3))
        assert type(ct) is Array
        np.testing.assert_allclose(ct, np.sin(x) + x * np.cos(x), rtol=1e-12)


def test_operations_on_device_arrays_follow_settings_that_change_between_calls():
    x = calque.device_put(np.linspace(0.0, 1.0, 3))
    for _ in range(3):
        assert (x + x).dtype == np.sin(x).dtype == (2.0 * x).dtype == np.float64
        with config.enable_x64(False):
            assert (x + x).dtype == np.sin(x).dtype == (2.0 * x).dtype == np.float32
            y = x + 1.0
            assert (y + y).dtype == np.sin(y).dtype == (2.0 * y).dtype == np.float32
            np.testing.assert_allclose(np.asarray(y + y), 2.0 * np.asarray(x) + 2.0, rtol=1e-6)
        with config.default_dtype_bits(32):
            assert (x + x).dtype == np.float64


def test_an_integer_too_large_for_a_setting_is_refused_after_it_was_sent_under_another():
    x = calque.device_put(np.ones(2, np.float32))
    for _ in range(3):
        assert (x * 2**40).dtype == np.float32
        with config.enable_x64(False), pytest.raises(OverflowError, match="does not fit int32"):
            x * 2**40


def test_a_check_sees_each_operation_on_device_arrays():
    x = calque.device_put(np.zeros(2))
    for _ in range(3):
        np.log(x)
        with config.debug_infs(), pytest.raises(FloatingPointError, match="log"):
            np.log(x)


@pytest.mark.parametrize("around", ["32 bits", "scalars of 32 bits"])
def test_a_known_operation_on_device_arrays_goes_straight_to_its_program(around, monkeypatch):
    from calque_xla_backend import evaluate  # noqa: PLC0415

    asked = []
    place = evaluate.common_place
    monkeypatch.setattr(evaluate, "common_place", lambda *args: asked.append(args) or place(*args))
    x = calque.device_put(np.ones(3, np.float32))
    with SETTINGS[around]():
        for _ in range(3):
            outs = [x + x, lax.sin(x), x * 2.0]
        assert asked != []
        asked.clear()
        again = [x + x, lax.sin(x), x * 2.0]
        assert asked == []
    for first, second in zip(outs, again, strict=True):
        np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
