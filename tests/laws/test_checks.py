"""Checks fail with their message, values and index under every transformation, and cost nothing while they are off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checked_devices import CLAIMS
from many_devices import outcomes_of
from test_effects import VERBS

import calque
from calque import (
    CheckError,
    P,
    check,
    checkpoint,
    config,
    custom_jvp,
    custom_vjp,
    grad,
    jet,
    jvp,
    lax,
    linearize,
    make_jaxpr,
    vjp,
    vmap,
)
from calque_core.engine import nested_jaxprs

COMPILED = pytest.mark.parametrize("compiled", [False, True], ids=["evaluated", "compiled"])


def square(x):
    check(x > 0, "x is {}, not positive", x)
    return x * x


def small(x):
    check(x > 100.0, "x is {}, not large", x)
    return x * x


def failure(fun, *args):
    with pytest.raises(CheckError) as caught:
        fun(*args)
    return caught.value


def maybe_compiled(fun, compiled):
    return calque.jit(fun) if compiled else fun


def checks_in(fun, *args):
    return sum(eqn.primitive is lax.check_p for inner in nested_jaxprs(make_jaxpr(fun)(*args)) for eqn in inner.eqns)


@COMPILED
@pytest.mark.parametrize("verb", VERBS)
def test_a_check_fails_under_each_verb_at_the_first_value(verb, compiled):
    transformed, seen = VERBS[verb]
    run = maybe_compiled(lambda x: transformed(small, x), compiled)
    if not seen:
        run(2.0)  # the other branch
        return
    error = failure(run, 2.0)
    assert "(small) failed: x is 2.0, not large" in str(error)
    assert (error.index, error.values) == ((), (2.0,))


@pytest.mark.parametrize("verb", VERBS)
def test_a_derivative_repeats_no_check(verb):
    transformed, _ = VERBS[verb]
    assert checks_in(lambda x: transformed(square, x), 2.0) == (2 if verb == "jacobians" else 1)


def with_jvp(f):
    rule = custom_jvp(f)
    rule.defjvp(lambda xs, x_dots: (f(*xs), 2 * xs[0] * x_dots[0]))
    return rule


def with_vjp(f):
    rule = custom_vjp(f)
    rule.defvjp(lambda x: (f(x), x), lambda x, ct: (2 * x * ct,))
    return rule


def over_a_mesh(f):
    mesh = calque.make_mesh((1,), "i")
    whole = calque.shard_map(lambda x: f(x[0])[None], mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    return lambda x: whole(x * np.ones(1))[0]


def one_of_two(f):
    return lambda x: np.sum(vmap(f)(x + np.array([10.0, 0.0])))


# From a function of a number to another one; of two elements, the second fails.
TRANSFORMATIONS = {
    "jit": calque.jit,
    "grad": grad,
    "vjp": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: linearize(f, x)[1](1.0),
    "checkpoint": checkpoint,
    "custom_jvp": with_jvp,
    "cond": lambda f: lambda x: lax.cond(x < 5.0, f, lambda x: 4.0 * x, x),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
    "while": lambda f: lambda x: lax.while_loop(lambda c: c < 100.0, f, x),
    "vmap": one_of_two,
    "shard_map": over_a_mesh,
}
TRANSFORMATIONS["jvp"] = lambda f: lambda x: jvp(f, (x,), (1.0,))[1]
INNER = TRANSFORMATIONS | {"custom_vjp": with_vjp}
FORWARD = ("jvp", "linearize")
OUTER = {"custom_vjp": FORWARD, "shard_map": ("shard_map",)}  # refused around
PAIRS = [(o, i) for o in TRANSFORMATIONS for i in INNER if o not in OUTER.get(i, ())]


@COMPILED
@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_a_check_fails_under_each_pair_of_transformations(outer, inner, compiled):
    run = maybe_compiled(TRANSFORMATIONS[outer](INNER[inner](square)), compiled)
    error = failure(run, -2.0)
    assert "x is -2.0, not positive" in str(error)
    assert error.index == (1,) * [outer, inner].count("vmap")
    run(2.0)  # the call after an error


@COMPILED
def test_taylor_coefficients_are_not_checked(compiled):
    run = maybe_compiled(lambda x: jet(square, (x,), ([1.0],))[1][0], compiled)
    assert failure(run, -2.0).values == (-2.0,)
    assert run(2.0) == 4.0


@COMPILED
def test_the_index_of_nested_batches_comes_first(compiled):
    def rows(x):
        check(x > 0, "{} of {}", x, 2.0 * x)
        return x

    x = np.ones((2, 3, 4))
    x[1, 2, 3] = -1.0
    error = failure(maybe_compiled(vmap(vmap(rows)), compiled), x)
    assert "rows) failed for element [1, 2] of vmap at index [3]: -1.0 of -2.0" in str(error)
    assert error.index == (1, 2, 3)
    assert failure(maybe_compiled(vmap(vmap(rows, in_axes=1), in_axes=1), compiled), x).index == (2, 3, 1)


@COMPILED
def test_values_that_are_not_mapped_are_shown_whole(compiled):
    def below(x, high, table):
        check(np.all(x < high), "{} is not below {}, {}", x, high, table)
        return x

    run = maybe_compiled(vmap(below, in_axes=(0, None, None)), compiled)
    error = failure(run, np.array([[0.0, 1.0], [2.0, 3.0]]), 2.5, np.arange(3))
    assert str(error).endswith("for element [1] of vmap: [2. 3.] is not below 2.5, [0 1 2]")


@COMPILED
def test_a_predicate_that_is_not_mapped_fails_for_the_first_element(compiled):
    run = maybe_compiled(vmap(lambda x, good: check(good, "{}", x), in_axes=(0, None)), compiled)
    assert failure(run, np.array([3.0, 4.0]), False).values == (3.0,)
    run(np.zeros(0), False)
    run(np.zeros(2), True)


@COMPILED
@pytest.mark.parametrize("batched", ["select", "skip"])
def test_a_branch_checks_the_elements_that_take_it(batched, compiled):
    branches = lambda x, f: lax.cond(x > 0, f, lambda x: -x, x, batched=batched)
    x = np.array([1.0, -2.0, 3.0])
    run = maybe_compiled(vmap(lambda x: branches(x, square)), compiled)
    np.testing.assert_array_equal(run(x), [1.0, 2.0, 9.0])
    slopes = maybe_compiled(vmap(grad(lambda x: branches(x, square))), compiled)
    np.testing.assert_array_equal(slopes(x), [2.0, -1.0, 6.0])
    assert failure(maybe_compiled(vmap(lambda x: branches(x, small)), compiled), x).index == (0,)


@COMPILED
@pytest.mark.parametrize("inner", ["jit", "scan", "cond", "custom_jvp", "checkpoint"])
def test_a_check_inside_a_branch_is_left_out_with_the_branch(inner, compiled):
    choose = lambda x: lax.cond(x > 0, TRANSFORMATIONS[inner](square), lambda x: x, x)
    maybe_compiled(vmap(choose), compiled)(np.array([1.0, -2.0]))
    maybe_compiled(vmap(grad(choose)), compiled)(np.array([1.0, -2.0]))


def counted(n, *, in_condition):
    """Count to n, and check in the body or in the condition that the count is right for the element."""

    def condition(state):
        if in_condition:
            check(state[0] <= n, "{} is above {}", state[0], n)
        return state[0] < n

    def body(state):
        if not in_condition:
            check(state[0] < np.minimum(n, 4), "{} is not below {}", state[0], np.minimum(n, 4))
        return state[0] + 1, state[1] * 2.0

    return lax.while_loop(condition, body, (0, 1.0))


@COMPILED
@pytest.mark.parametrize("in_condition", [False, True], ids=["body", "condition"])
def test_a_loop_checks_the_elements_that_run(in_condition, compiled):
    run = maybe_compiled(vmap(lambda n: counted(n, in_condition=in_condition)), compiled)
    counts, powers = run(np.array([1, 4, 0, 3]))
    assert (np.asarray(counts).tolist(), np.asarray(powers).tolist()) == ([1, 4, 0, 3], [2.0, 16.0, 1.0, 8.0])


@COMPILED
def test_a_loop_of_a_batch_fails_for_the_element_that_runs_too_long(compiled):
    run = maybe_compiled(vmap(lambda n: counted(n, in_condition=False)), compiled)
    error = failure(run, np.array([1, 4, 6, 0]))
    assert (error.index, error.values) == ((2,), (4, 4))


ROW = np.array([1.0, 2.0, -3.0, 4.0])
# name -> (a program with loops on ROW that fails at -3.0, the steps of its loops)
LOOPS = {
    "scan": (lambda xs: lax.scan(lambda c, x: (c, square(x)), 0.0, xs), (2,)),
    "reversed": (lambda xs: lax.scan(lambda c, x: (c, square(x)), 0.0, xs, reverse=True), (1,)),
    "unrolled": (lambda xs: lax.scan(lambda c, x: (c, square(x)), 0.0, xs, unroll=3), (2,)),
    "unrolled, the last": (lambda xs: lax.scan(lambda c, x: (c, square(3.5 - x)), 0.0, xs, unroll=3), (3,)),
    "step jitted": (lambda xs: lax.scan(lambda c, x: (c, calque.jit(square)(x)), 0.0, xs), (2,)),
    "gradient": (grad(lambda xs: np.sum(lax.scan(lambda c, x: (c, square(x)), 0.0, xs)[1])), (2,)),
    "batch": (
        lambda xs: vmap(lambda x: lax.fori_loop(0, 4, lambda i, c: c + square(x + i - 1.0), 0.0))(xs + 2.0),
        (0,),
    ),
    "while": (lambda xs: lax.while_loop(lambda c: c > -9.0, lambda c: (square(c), c - 2.0)[1], xs[0]), (1,)),
    "condition": (lambda xs: lax.while_loop(lambda c: square(c) > 0.0, lambda c: c - 2.0, xs[0]), (1,)),
    "nested": (lambda xs: lax.fori_loop(0, 3, lambda i, c: lax.map(lambda x: square(x + 3.5 - 2 * i), xs), xs), (1, 2)),
    "in a branch": (lambda xs: lax.map(lambda x: lax.cond(x < 0.0, square, lambda x: x, x), xs), (2,)),
}


@COMPILED
@pytest.mark.parametrize("loop", LOOPS)
def test_the_error_has_the_steps_of_the_loops_around_the_check(loop, compiled):
    program, steps = LOOPS[loop]
    error = failure(maybe_compiled(program, compiled), ROW)
    assert error.steps == steps
    notes = [note for note in error.__notes__ if note.startswith("This happened in step")]
    assert len(notes) == len(steps)
    assert notes[0].startswith(f"This happened in step {steps[-1]} of a ")
    assert " at test_checks.py:" in notes[0]


def test_a_loop_in_32_bits_has_steps():
    with config.enable_x64(False):
        assert failure(calque.jit(LOOPS["scan"][0]), ROW).steps == (2,)


def test_the_error_of_a_compiled_program_comes_out_of_the_call():
    @calque.jit
    def step(x):
        check(x > 0, "x is {}", x)
        return x + 1.0

    assert step(1.0) == 2.0
    error = failure(step, -1.0)
    assert error.__notes__[0] == "The check belongs to the compiled program of step."
    assert step(1.0) == 2.0  # from the same program


def test_two_checks_fail_in_turn():
    @calque.jit
    def step(x):
        check(x > 0, "first {}", x)
        check(x < 10, "second {}", x)
        return x

    assert "first -1.0" in str(failure(step, -1.0))
    assert "second 11.0" in str(failure(step, 11.0))


def test_without_checks_a_program_is_the_same_as_one_without_them():
    with config.checks(False):
        unchecked = calque.jit(square).lower(1.0)
        assert calque.jit(square)(-1.0) == 1.0
    assert not unchecked.callbacks
    assert "custom_call" not in unchecked.as_text()
    assert "case" not in unchecked.as_text()


def test_the_setting_is_part_of_the_key():
    compiled = calque.jit(square)
    with config.checks(False):
        assert compiled(-1.0) == 1.0
    failure(compiled, -1.0)
    with config.checks(False):
        assert compiled(-1.0) == 1.0


def test_device_arrays_are_checked():
    x = calque.device_put(np.array([1.0, -2.0]))
    assert failure(square, x).index == (1,)
    assert failure(vmap(square), x).index == (1,)


def test_a_mapped_program_checks_on_each_device():
    run = calque.pmap(square)
    assert failure(run, np.array([-2.0])).values == (-2.0,)
    assert np.asarray(run(np.array([2.0]))).tolist() == [4.0]


def test_a_check_in_a_compiled_reduction_is_refused():
    def total(x, y):
        check(x >= 0, "no {}", x)
        return x + y

    with pytest.raises(TypeError, match=r"the check 'no \{\}' at .* is called in the function of a reduction"):
        calque.jit(lambda x: lax.reduce(x, 0.0, total, (0,)))(np.ones(3))


def test_checks_fail_on_several_devices():
    outcomes = outcomes_of(Path(__file__).with_name("checked_devices.py"), *CLAIMS)
    assert {claim: outcome for claim, outcome in outcomes.items() if outcome != "ok"} == {}
    assert outcomes.keys() == CLAIMS.keys()


def test_a_function_is_exported_without_its_checks():
    with pytest.raises(
        calque.export.ExportError, match=r"by a callback, a check .* config\.checks\(False\) leaves out checks"
    ):
        calque.export.export(calque.jit(square))(2.0)
    with config.checks(False):
        exported = calque.export.export(calque.jit(square))(2.0)
    assert exported.call(3.0) == 9.0


@COMPILED
def test_a_check_of_tangents_is_made_in_forward_mode_alone(compiled):
    @custom_jvp
    def bounded(x):
        return x * x

    @bounded.defjvp
    def bounded_jvp(primals, tangents):
        check(tangents[0] < 2.0, "the tangent {} is large", tangents[0])
        return bounded(*primals), 2.0 * primals[0] * tangents[0]

    pushed = maybe_compiled(lambda x, t: jvp(bounded, (x,), (t,))[1], compiled)
    assert pushed(1.0, 1.0) == 2.0
    assert failure(pushed, 1.0, 3.0).values == (3.0,)
    assert failure(maybe_compiled(lambda x, t: linearize(bounded, x)[1](t), compiled), 1.0, 3.0).values == (3.0,)
    assert maybe_compiled(lambda x, ct: vjp(bounded, x)[1](ct)[0], compiled)(1.0, 3.0) == 6.0
