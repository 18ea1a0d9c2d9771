import math
import operator
import re

import numpy as np
import pytest

from calque_core import (
    Primitive,
    ShapedArray,
    check_jaxpr,
    config,
    dce_jaxpr,
    eval_jaxpr,
    lax,
    make_jaxpr,
    typeof,
)
from calque_core.lax import while_loop, while_p
from calque_pytree import tree_flatten

HERE = "test_ops_while_loop.py"


def at(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


def below(limit):
    return lambda x: x < limit


def increment(x):
    return x + 1


def python_while(cond_fun, body_fun, value):
    while cond_fun(value):
        value = body_fun(value)
    return value


def assert_same(found, expected):
    assert typeof(found).str_short() == typeof(expected).str_short()
    np.testing.assert_array_equal(found, expected)


def check(run, reference, *args):
    """Compare a loop, evaluated and staged, with a Python loop; NumPy arguments make NumPy's types in both."""
    expected, tree = tree_flatten(reference(*args))
    found, found_tree = tree_flatten(run(*args))
    assert tree == found_tree
    for x, y in zip(found, expected, strict=True):
        assert_same(x, y)
    jaxpr = make_jaxpr(run)(*args)
    check_jaxpr(jaxpr)
    staged = eval_jaxpr(jaxpr, jaxpr.consts, *tree_flatten(args)[0])
    for x, y, aval in zip(staged, expected, jaxpr.out_avals, strict=True):
        assert_same(x, y)
        assert typeof(x).str_short() == aval.str_short()


def eqns_of(fun, *args):
    return make_jaxpr(fun)(*args).eqns


# While


@pytest.mark.parametrize("limit", [0, 1, 10])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float64"])
def test_it_gives_what_a_python_loop_gives(dtype, limit):
    one = np.dtype(dtype).type(1)

    def loop(run, x):
        return run(lambda x: x < limit, lambda x: x + one, x)

    check(lambda x: loop(while_loop, x), lambda x: loop(python_while, x), np.dtype(dtype).type(0))


@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("dtype", ["bool", "complex64", "float32"])
def test_values_of_every_dtype_and_shape_are_carried(dtype, steps):
    def loop(run, x):
        return run(lambda s: s[0] < steps, lambda s: (s[0] + 1, s[2], ~s[1] if dtype == "bool" else s[1] * 2), x)

    x = np.arange(6).reshape(2, 3).astype(dtype)
    check(lambda *s: loop(while_loop, s), lambda *s: loop(python_while, s), np.int64(0), x, x[::-1])


def test_the_value_is_a_tree():
    def loop(run, s):
        return run(lambda s: s["n"] > 0, lambda s: {"n": s["n"] - 1, "x": (s["x"][1], s["x"][0] * 3), "none": None}, s)

    init = {"n": np.int64(5), "x": (np.float64(1), np.float64(2)), "none": None}
    check(lambda s: loop(while_loop, s), lambda s: loop(python_while, s), init)


def test_a_loop_that_never_starts_gives_the_initial_value():
    assert while_loop(lambda x: x > 0, lambda x: lax.div(x, 0), -1) == -1


def test_condition_and_body_are_traced_once():
    calls = []
    while_loop(lambda x: calls.append("condition") or x < 5, lambda x: calls.append("body") or x + 1, 0)
    assert calls == ["body", "condition"]


def test_what_they_close_over_are_constants_of_each():
    def fun(limit, step, x):
        return while_loop(lambda x: x < limit, lambda x: x + step, x)

    assert fun(10.0, 3.0, 0.0) == 12.0
    [eqn] = eqns_of(fun, np.float64(10), np.float64(3), np.float64(0))
    assert (eqn.params["cond_nconsts"], eqn.params["body_nconsts"], len(eqn.invars)) == (1, 1, 3)
    assert eqn.params["cond_jaxpr"].consts == eqn.params["body_jaxpr"].consts == ()


def test_loops_nest():
    def gcd(a, b):
        return while_loop(lambda s: s[1] != 0, lambda s: (s[1], lax.rem(s[0], s[1])), (a, b))[0]

    def count(n):
        """Count the numbers below n that share no divisor with it."""
        return while_loop(
            lambda s: s[0] < n,
            lambda s: (s[0] + 1, s[1] + lax.convert_element_type(gcd(n, s[0]) == 1, np.int64)),
            (1, 0),
        )[1]

    for n in (1, 2, 9, 36):
        assert count(n) == sum(math.gcd(n, i) == 1 for i in range(1, n))
        jaxpr = make_jaxpr(count)(n)
        check_jaxpr(jaxpr)
        assert eval_jaxpr(jaxpr, jaxpr.consts, n) == [count(n)]


def test_a_weak_value_takes_the_type_that_a_step_gives_it():
    [eqn] = eqns_of(lambda: while_loop(below(3.0), lambda x: lax.mul(x, 2.0), 1.0))
    assert eqn.outvars[0].aval == ShapedArray((), "float64")
    assert eqn.params["body_jaxpr"].in_avals == [ShapedArray((), "float64")]
    [eqn] = eqns_of(lambda: while_loop(below(3.0), lambda x: x * 2.0, 1.0))
    assert eqn.outvars[0].aval == ShapedArray((), "float64", weak_type=True)
    out = while_loop(below(3), lambda x: np.int8(1) + x, 0)
    assert (type(out), out) == (np.int8, 3)


@pytest.mark.parametrize(("dtype", "scalar"), [("float32", 9.0), ("float32", 9), ("int8", 9)])
def test_a_python_scalar_as_the_next_value_takes_the_dtype_of_the_carry(dtype, scalar):
    out = while_loop(below(5), lambda _: scalar, np.zeros((), dtype))
    assert (out, out.dtype) == (9, dtype)


def test_in_the_32_bit_regime_everything_has_32_bits():
    with config.enable_x64(False):
        out = while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, np.ones(2)))
        assert [typeof(x).str_short() for x in out] == ["i32[]", "f32[2]"]


def test_the_initial_value_is_left_as_it_was():
    init = np.zeros(2)
    out = while_loop(lambda x: lax.reduce_sum(x) < 6, increment, init)
    assert (init.tolist(), out.tolist()) == ([0.0, 0.0], [3.0, 3.0])


# Dead code


def three(s):
    """A counter, a value that needs it, and one that serves itself."""
    i, x, alone = s
    return i + 1, x + i, alone * 2


def pruned(used):
    run = lambda n, i, x, alone: while_loop(lambda s: s[0] < n, three, (i, x, alone))
    args = (np.int64(3), np.int64(0), np.int64(0), np.float64(1))
    jaxpr = make_jaxpr(run)(*args)
    smaller, used_inputs = dce_jaxpr(jaxpr, used)
    check_jaxpr(smaller)
    found = eval_jaxpr(smaller, (), *[x for x, is_used in zip(args, used_inputs) if is_used])
    assert found == [x for x, is_used in zip(eval_jaxpr(jaxpr, (), *args), used) if is_used]
    return smaller, used_inputs


def test_what_the_condition_needs_stays_and_what_serves_only_itself_goes():
    smaller, used_inputs = pruned([False, True, False])

    assert used_inputs == [True, True, True, False]
    assert len(smaller.eqns[0].outvars) == 2


def test_a_value_that_is_used_keeps_the_counter():
    _, used_inputs = pruned([False, False, True])

    assert used_inputs == [True, True, False, True]


def test_an_unused_loop_goes_altogether():
    smaller, used_inputs = pruned([False] * 3)

    assert (smaller.eqns, used_inputs) == ((), [False] * 4)


def test_constants_that_only_unused_values_needed_go():
    jaxpr = make_jaxpr(lambda n, w: while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * w), (0, 1.0)))(3, 2.0)
    smaller, used_inputs = dce_jaxpr(jaxpr, [True, False])
    assert used_inputs == [True, False]
    assert (smaller.eqns[0].params["cond_nconsts"], smaller.eqns[0].params["body_nconsts"]) == (1, 0)
    assert eval_jaxpr(smaller, (), 3) == [3]


@pytest.mark.parametrize("place", ["condition", "body"])
def test_an_effect_stays(place):
    note_p = Primitive("note", effects=frozenset(["note"]))
    note_p.def_abstract_eval(lambda x_aval: x_aval)
    first, second = (note_p.bind, increment) if place == "condition" else (increment, note_p.bind)
    jaxpr = make_jaxpr(lambda x: while_loop(lambda x: first(x) < 3, second, x))(np.int64(0))
    assert jaxpr.effects == {"note"}
    assert [eqn.primitive for eqn in dce_jaxpr(jaxpr, [False])[0].eqns] == [while_p]


# Errors


def test_a_carry_that_changes_its_type_is_refused_with_the_leaf_the_types_and_the_fix():
    def body(s):
        return s[0] + 1, s[1] * 0.5

    expected = (
        rf"while_loop of {at(body)} at {HERE}:\d+ .*: {at(body)} changes the type of the carry\[1\] from int64\[\] to "
        r"float64\[\]; it must stay the same\. Start with float64\[\], "
        r"or convert the result of the step to int64\[\]\."
    )
    with pytest.raises(TypeError, match=expected):
        while_loop(lambda s: s[0] < 3, body, (0, np.int64(1)))


def test_a_carry_that_changes_its_structure_is_refused_with_both():
    def body(s):
        return (s[0],)

    expected = (
        rf"the carry has the structure PyTreeDef\(\[\*\]\), but {at(body)} returned PyTreeDef\(\(\*,\)\)\. Return the "
        r"structure of the initial carry\."
    )
    with pytest.raises(TypeError, match=expected):
        while_loop(lambda s: s[0] < 3, body, [0])


@pytest.mark.parametrize(
    ("result", "types"),
    [
        (lambda x: x, r"~float64\[\]"),
        (lambda x: x < np.ones(2), r"bool\[2\]"),
        (lambda x: (x < 1, x < 2), r"~bool\[\], ~bool\[\]"),
        (lambda x: None, "nothing"),
        (lambda x: 1, r"~int64\[\]"),
    ],
)
def test_a_condition_that_gives_no_bool_scalar_is_refused(result, types):
    def condition(x):
        return result(x)

    def body(x):
        return x

    expected = (
        rf"while_loop of {at(body)} at {HERE}:\d+ .*: the condition {at(condition)} returned {types}\. Return one bool "
        r"scalar, for example a comparison\."
    )
    with pytest.raises(TypeError, match=expected):
        while_loop(condition, body, 0.0)


@pytest.mark.parametrize("call", [lambda f: while_loop(f, increment, 0), lambda f: while_loop(below(3), f, 0)])
def test_what_is_no_function_is_refused(call):
    with pytest.raises(TypeError, match=r"while_loop got 3 of type int at .*\. Give a function\."):
        call(3)


def test_an_initial_value_that_is_no_array_is_refused_by_its_path():
    with pytest.raises(TypeError, match=r"while_loop of .*: init_val\['a'\] is 'no' of type str"):
        while_loop(lambda s: True, lambda s: s, {"a": "no"})


def test_a_condition_in_a_container_is_refused():
    with pytest.raises(
        TypeError, match=r"returned ~bool\[\] in a container, PyTreeDef\(\{'go': \*\}\)\. Return one bool"
    ):
        while_loop(lambda x: {"go": x < 3}, increment, 0)


@pytest.mark.parametrize(
    ("condition", "body", "words"),
    [
        (
            below(3),
            lambda x: x < 3,
            r"while: the body changes the types of the carry from \(int64\[\]\) to \(bool\[\]\)\.",
        ),
        (increment, increment, r"the condition of while returned int64\[\]\. Return one bool scalar\."),
        (
            lambda x: operator.lt(*x),
            increment,
            r"the condition of while got operands of types \(int64\[\]\), but its program takes \(",
        ),
    ],
)
def test_programs_that_do_not_fit_are_refused_when_staged(condition, body, words):
    x = np.int64(0)
    cond_jaxpr = make_jaxpr(condition)((x, x) if "operands" in words else x)
    programs = {"body_jaxpr": make_jaxpr(body)(x), "cond_jaxpr": cond_jaxpr}
    params = programs | {"batched": "select", "body_nconsts": 0, "checkpoints": 16, "cond_nconsts": 0}
    with pytest.raises(TypeError, match=words):
        make_jaxpr(lambda x: while_p.bind(x, **params))(x)


@pytest.mark.parametrize("max_steps", [0, 3, 4, 9])
def test_a_bounded_loop_ends_when_its_condition_fails_or_its_steps_are_used_up(max_steps):
    found = while_loop(lambda c: c[0] < 10.0, lambda c: (c[0] * 2.0, c[1] + 1), (1.0, 0), max_steps=max_steps)
    steps = min(max_steps, 4)
    assert found == (2.0**steps, steps)
    staged = make_jaxpr(lambda x: while_loop(below(10.0), lambda x: x * 2.0, x, max_steps=max_steps))(1.0)
    assert eval_jaxpr(staged, staged.consts, 1.0) == [2.0**steps]


def test_the_number_of_values_to_keep_is_a_parameter_that_is_printed_if_it_is_given():
    def loop(**how):
        step = lambda s: (s[0] * 2.0, s[1])
        return make_jaxpr(lambda x: while_loop(lambda s: s[0] < 9.0, step, (x, x), **how))(np.float64(1.0))

    kept = [loop(**how).eqns[0].params["checkpoints"] for how in ({}, {"checkpoints": 16}, {"checkpoints": 3})]
    assert kept == [16, 16, 3]
    assert str(loop(checkpoints=16)) == str(loop())
    assert "checkpoints=3" in str(loop(checkpoints=3))
    smaller, _ = dce_jaxpr(loop(checkpoints=3), [True, False])
    assert [(len(eqn.outvars), eqn.params["checkpoints"]) for eqn in smaller.eqns] == [(1, 3)]


def test_a_number_of_values_to_keep_that_means_nothing_is_refused():
    what = rf"while_loop of {at(increment)} at .*"
    with pytest.raises(ValueError, match=rf"{what} got checkpoints=0\. Give 1 or more\."):
        while_loop(below(1), increment, 0, checkpoints=0)
    with pytest.raises(TypeError, match=r"while_loop at .*: checkpoints is 2\.5\. Give an integer\."):
        while_loop(below(1), increment, 0, checkpoints=2.5)
    with pytest.raises(
        ValueError, match=rf"{what} got max_steps=3 and checkpoints=2, but a bounded loop keeps every step\. Remove"
    ):
        while_loop(below(1), increment, 0, max_steps=3, checkpoints=2)


def test_a_negative_number_of_steps_is_refused():
    with pytest.raises(ValueError, match=rf"while_loop of {at(increment)} at .* got max_steps=-1\. Give 0 or more\."):
        while_loop(below(1), increment, 0, max_steps=-1)


@pytest.mark.parametrize("disable_jit", [False, True])
@pytest.mark.parametrize(
    ("condition", "body", "words"),
    [
        (below(3.0), lambda x: (x,), r"the carry has the structure PyTreeDef\(\*\), but <lambda> .* returned"),
        (below(3.0), lambda x: x > 0, r"<lambda> .* changes the type of the carry from float64\[\] to bool\[\]; it"),
        (lambda x: x, increment, r"the condition <lambda> .* returned float64\[\]\. Return one bool scalar"),
        (lambda x: (x < 3,), increment, r"the condition <lambda> .* returned bool\[\] in a container"),
    ],
)
def test_messages_about_a_bounded_loop_are_those_of_a_loop_without_a_bound(condition, body, words, disable_jit):
    messages = []
    for options in ({}, {"max_steps": 3}):
        expected = rf"^while_loop of .* at {HERE}:\d+ .*: {words}"
        disabled = config.disable_jit(disable_jit and options != {})
        with pytest.raises(TypeError, match=expected) as caught, disabled:
            while_loop(condition, body, np.float64(1.0), **options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_weak_carry_of_a_bounded_loop_takes_the_dtype_of_its_step():
    halved = while_loop(lambda x: x > 1, lambda x: x * np.float32(0.5), 8, max_steps=9)
    assert_same(halved, np.float32(1.0))


def test_the_choice_for_a_batch_is_a_parameter_that_is_printed_unless_it_is_the_usual_one():
    loop = lambda **how: make_jaxpr(lambda x: while_loop(below(9), increment, x, **how))(0)
    assert [loop(**how).eqns[0].params["batched"] for how in ({}, {"batched": "map"})] == ["select", "map"]
    assert str(loop(batched="select")) == str(loop())
    assert "batched=map" in str(loop(batched="map"))


def test_an_unknown_choice_for_a_batch_is_refused():
    with pytest.raises(ValueError, match=r"while_loop of .* got batched='skip'\. Use one of 'select', 'map'\."):
        while_loop(below(1), increment, 0, batched="skip")
