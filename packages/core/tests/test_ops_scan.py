import operator
import re
from collections import Counter

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
from calque_core.lax import scan, scan_p
from calque_core.ops import loops
from calque_pytree import register_pytree_node, tree_flatten, tree_map

HERE = "test_ops_scan.py"
DTYPES = ("bool", "int8", "uint32", "int64", "float16", "float32", "float64", "complex64")


def at(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


def python_scan(f, init, xs, length, reverse):
    """Return what a Python loop gives; the results as lists of rows."""
    carry, rows = init, []
    for i in range(length)[:: -1 if reverse else 1]:
        carry, y = f(carry, tree_map(lambda x, i=i: x[i], xs))
        rows.append(y)
    return carry, rows[::-1] if reverse else rows


def assert_same(found, expected):
    assert typeof(found).str_short() == typeof(expected).str_short()
    np.testing.assert_array_equal(found, expected)


def check(f, init, xs=None, length=None, reverse=False):
    """Compare a scan, evaluated and staged, with a Python loop over NumPy's own arrays and scalars."""

    def run(init, xs):
        return scan(f, init, xs, length, reverse)

    carry, ys = run(init, xs)
    steps = len(tree_flatten(xs)[0][0]) if length is None else length
    want_carry, rows = python_scan(f, tree_map(lambda x: x[()], init), xs, steps, reverse)
    for found, expected in zip(tree_flatten(carry)[0], tree_flatten(want_carry)[0], strict=True):
        assert_same(found, expected)
    columns = zip(*(tree_flatten(row)[0] for row in rows))
    for found, column in zip(tree_flatten(ys)[0], columns if rows else [], strict=bool(rows)):
        assert_same(found, np.stack([np.asarray(x) for x in column]))
    jaxpr = make_jaxpr(run)(init, xs)
    check_jaxpr(jaxpr)
    staged = eval_jaxpr(jaxpr, jaxpr.consts, *tree_flatten((init, xs))[0])
    for found, expected, aval in zip(staged, tree_flatten((carry, ys))[0], jaxpr.out_avals, strict=True):
        assert_same(found, expected)
        assert typeof(found).str_short() == aval.str_short()


def eqn_of(fun, *args):
    """Return the only equation of a staged function."""
    [eqn] = make_jaxpr(fun)(*args).eqns
    return eqn


# Evaluation


@pytest.mark.parametrize(("length", "reverse"), [(0, False), (1, False), (4, False), (4, True)])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("x64", [True, False], ids=["64 bits", "32 bits"])
def test_it_gives_what_a_python_loop_gives(dtype, length, reverse, x64):
    with config.enable_x64(x64):
        dtype = dtype if x64 else np.dtype(dtype).name.replace("64", "32") if dtype != "complex64" else dtype
        init, xs = np.ones((), dtype), np.arange(length).astype(dtype)
        check(lambda c, x: (lax.max(c, x) if c.dtype.kind in "biu" else c * 2 + x, c), init, xs, reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
def test_arrays_are_scanned_over_their_leading_axis(reverse):
    check(
        lambda c, x: (c @ x + x, lax.reduce_sum(c)), np.eye(2), np.arange(12.0).reshape(3, 2, 2) / 12, reverse=reverse
    )


def test_carries_inputs_and_results_are_trees():
    def step(carry, x):
        return {"a": carry["b"][0], "b": (carry["a"] + x[1],)}, [carry["a"], {"y": x[0]["k"]}, None]

    init = {"a": np.float64(1), "b": (np.float64(2),)}
    check(step, init, ({"k": np.arange(4)}, np.arange(4.0)))


def test_a_carry_may_be_none_and_so_may_the_results():
    check(lambda c, x: (None, x * 2), None, np.arange(3))
    check(lambda c, x: (c + x, None), np.int64(1), np.arange(3))
    assert scan(lambda c, x: (None, None), None, np.arange(3)) == (None, None)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_without_inputs_the_length_says_how_often(length):
    seen = []
    check(lambda c, x: (c * 2, seen.append(x) or c), np.int64(1), None, length)
    assert set(seen) == {None}


def test_empty_trees_of_inputs_need_a_length_too():
    assert scan(lambda c, x: (c + 1, x), 0, (), length=2) == (2, ())


def test_a_scan_of_no_steps_gives_the_initial_carry_and_empty_results_of_the_right_types():
    carry, ys = scan(lambda c, x: (c + x, (x > 0, np.ones(2, np.float32))), 1.5, np.zeros(0))

    assert carry == 1.5
    assert [typeof(y).str_short() for y in ys] == ["bool[0]", "f32[0,2]"]


def test_the_first_slice_of_a_reversed_scan_is_the_last_and_results_keep_their_places():
    carry, ys = scan(lambda c, x: (c * 10 + x, c), 0, np.array([1, 2, 3]), reverse=True)

    assert (carry, ys.tolist()) == (321, [32, 3, 0])


def test_a_reversed_scan_is_the_scan_of_the_reversed():
    xs = np.arange(5.0)
    step = lambda c, x: (c * 0.5 + x, c - x)
    carry, ys = scan(step, 1.0, xs, reverse=True)
    other, flipped = scan(step, 1.0, xs[::-1])
    assert carry == other
    assert ys.tolist() == flipped[::-1].tolist()


def test_unroll_changes_nothing_but_the_parameter():
    step = lambda c, x: (c + x, c)
    assert scan(step, 0, np.arange(7), unroll=3)[0] == 21
    assert eqn_of(lambda c, xs: scan(step, c, xs, unroll=3), np.int64(0), np.arange(7)).params["unroll"] == 3


def test_the_function_is_traced_once():
    calls = []
    scan(lambda c, x: (calls.append(1) or c + x, None), np.int64(0), np.arange(10))
    assert calls == [1]


def test_a_function_that_changes_the_type_of_a_weak_carry_is_traced_twice():
    calls = []
    scan(lambda c, x: (calls.append(1) or c + x, None), 0, np.arange(10))
    assert calls == [1, 1]


@pytest.mark.parametrize("is_derived", [False, True])
def test_five_nested_loops_trace_each_body_twice(is_derived):
    traced = Counter()

    def loop(depth, start):
        def body(c, x):
            traced[depth] += 1
            inner = x if depth == 0 else loop(depth - 1, c if is_derived else 0.0)
            return c + inner, None

        return scan(body, start, np.ones(2, np.float32))[0]

    assert loop(4, 0.0).dtype == np.float32
    assert traced == dict.fromkeys(range(5), 2)


STACKED = {
    "the carry": lambda c, x: c,
    "an operation of the carry and an input": lambda c, x: c * x,
    "an operation of the carry and a number": lambda c, x: 2.0 * c,
    "operations one after the other": lambda c, x: c * 3.0 + x,
    "an input": lambda c, x: x,
    "a function of the carry": lambda c, x: lax.sin(c),
    "an array of the carry's dtype": lambda c, x: lax.full_like(c, 1.0),
    "a number": lambda c, x: 1.0,
    "an array of another dtype": lambda c, x: np.float64(1.0),
}
IN_DOUBT = ("a function of the carry", "an array of the carry's dtype", "a number", "an array of another dtype")


def nested_loops(y_of, depth, traced):
    def body(c, x):
        traced[depth] += 1
        if depth:
            carry, ys = nested_loops(y_of, depth - 1, traced)
            x = x + carry + lax.reduce_sum(ys)
        return c + x, y_of(c, x)

    return scan(body, 0.0, np.ones(2, np.float32))


@pytest.mark.parametrize("name", STACKED)
def test_nested_loops_with_stacked_results_trace_each_body_twice_where_types_follow_from_one_trace(name):
    traced = Counter()
    nested_loops(STACKED[name], 4, traced)
    if name in IN_DOUBT:
        assert 2 < max(traced.values()) <= 6
    else:
        assert traced == dict.fromkeys(range(5), 2)


@pytest.mark.parametrize("name", STACKED)
def test_types_that_follow_from_one_trace_are_those_of_more_traces(name, monkeypatch):
    got = nested_loops(STACKED[name], 2, Counter())
    monkeypatch.setattr(loops, "derived_types", lambda jaxpr, in_avals: None)
    want = nested_loops(STACKED[name], 2, Counter())
    assert [(x.dtype, x.tolist()) for x in got] == [(x.dtype, x.tolist()) for x in want]


def test_a_weak_carry_has_the_type_that_it_has_in_a_loop_of_pythons():
    x = np.ones(3, np.float32)
    steps = {
        "float32": lambda c, x: (c + x, c),
        "int64": lambda c, x: (c + 1, c),
        "float64": lambda c, x: (c + 0.5, c),
        "complex128": lambda c, x: (c + 1j, c),
    }
    for dtype, step in steps.items():
        want = 0
        for y in x:
            want, _ = step(want, y)
        carry, ys = scan(step, 0, x)
        assert (typeof(carry), carry) == (typeof(want), want)
        assert (typeof(carry).dtype, ys.dtype) == (dtype, dtype)


def test_carries_that_take_their_types_one_after_the_other_settle():
    (a, b), _ = scan(lambda c, x: ((c[1], c[0] + c[1] * x), None), (0.0, 1.0), np.ones(4, np.float32))
    assert (a, b, a.dtype, b.dtype) == (3.0, 5.0, np.float32, np.float32)


def test_what_the_function_closes_over_are_constants():
    def fun(w, c, xs):
        return scan(lambda c, x: (w * c + x, None), c, xs)[0]

    assert fun(2.0, 1.0, np.arange(3.0)) == ((1 * 2 + 0) * 2 + 1) * 2 + 2
    eqn = eqn_of(fun, np.float64(2), np.float64(1), np.arange(3.0))
    assert (eqn.params["num_consts"], eqn.params["jaxpr"].consts) == (1, ())


def test_arrays_that_the_function_closes_over_are_operands_too():
    table = np.arange(3.0)
    table.flags.writeable = False

    jaxpr = make_jaxpr(lambda c: scan(lambda c, _: (c + table, None), c, None, length=2)[0])(table)

    [eqn] = jaxpr.eqns
    assert eqn.invars[0] is jaxpr.constvars[0]
    assert eqn.params["jaxpr"].consts == ()


def test_scans_nest():
    def outer(c, row):
        total, partial = scan(lambda t, x: (t + c * x, t), np.float64(0), row)
        return c + total, partial

    check(outer, np.float64(1), np.arange(6.0).reshape(2, 3))


def test_a_branch_inside_chooses_by_step():
    def step(c, x):
        return lax.cond(x > 1, lambda: c + x, lambda: -c), c

    carry, ys = scan(step, 1.0, np.array([0.0, 2.0, 1.0, 3.0]))

    assert (carry, ys.tolist()) == (2.0, [1.0, -1.0, 1.0, -1.0])


def test_inputs_are_left_as_they_were():
    init, xs = np.ones(2), np.arange(4.0).reshape(2, 2)
    scan(lambda c, x: (c + x, c), init, xs)
    assert init.tolist() == [1.0, 1.0]
    assert xs.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_results_do_not_share_memory_with_one_another_or_with_the_carry():
    carry, ys = scan(lambda c, _: (c + 1, c), np.zeros(2), None, length=3)
    carry[:] = 9
    assert ys.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]


# Types


def test_a_weak_carry_that_a_step_makes_strong_is_so_before_the_first_step():
    eqn = eqn_of(lambda xs: scan(lambda c, x: (c + x, c), 0.0, xs), np.ones(3))

    assert [v.aval for v in eqn.outvars] == [ShapedArray((), "float64"), ShapedArray((3,), "float64")]
    assert eqn.params["jaxpr"].in_avals[0] == ShapedArray((), "float64")


def test_a_traced_python_scalar_is_made_strong_by_a_conversion():
    jaxpr = make_jaxpr(lambda c: scan(lambda c, x: (c + x, c), c, np.ones(3))[0])(0.0)

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["convert_element_type", "scan"]
    assert not jaxpr.eqns[0].outvars[0].aval.weak_type


@pytest.mark.parametrize(("dtype", "scalar"), [("float32", 1.0), ("float32", 1), ("int8", 2), ("complex64", 1.0)])
def test_a_python_scalar_as_the_next_carry_takes_the_dtype_of_the_carry(dtype, scalar):
    carry, ys = scan(lambda c, x: (scalar, c), np.zeros((), dtype), None, length=2)

    assert carry.dtype == ys.dtype == dtype
    assert (carry, ys.tolist()) == (scalar, [0, scalar])


def test_a_carry_that_stays_weak_is_a_python_scalar():
    carry, ys = scan(lambda c, x: (c + 1, 1.0), 0, None, length=2)
    assert (type(carry), carry) == (int, 2)
    assert ys.dtype == np.float64
    jaxpr = make_jaxpr(lambda: scan(lambda c, x: (c + 1, None), 0, None, length=2)[0])()
    assert jaxpr.out_avals == [ShapedArray((), "int64", weak_type=True)]
    assert type(eval_jaxpr(jaxpr, ())[0]) is int


def test_in_the_32_bit_regime_everything_has_32_bits():
    with config.enable_x64(False):
        carry, ys = scan(lambda c, x: (c + x, (c, 1)), 0.0, np.arange(3.0))
        assert [typeof(x).str_short() for x in (carry, *ys)] == ["f32[]", "f32[3]", "i32[3]"]


# Dead code


def step_of_three(c, x):
    """Two carries that need each other, one that serves itself, one for the results."""
    a, b, alone, count = c
    return (b + x["x"], a * 2, alone + x["unused"], count + 1), (count, a)


def pruned(used):
    init = (np.float64(1), np.float64(2), np.float64(3), np.int64(0))
    xs = {"x": np.arange(3.0), "unused": np.arange(3.0)}
    jaxpr = make_jaxpr(lambda init, xs: scan(step_of_three, init, xs))(init, xs)
    smaller, used_inputs = dce_jaxpr(jaxpr, used)
    check_jaxpr(smaller)
    args = tree_flatten((init, xs))[0]
    expected = [x for x, is_used in zip(eval_jaxpr(jaxpr, (), *args), used) if is_used]
    found = eval_jaxpr(smaller, (), *[x for x, is_used in zip(args, used_inputs) if is_used])
    for x, y in zip(found, expected, strict=True):
        assert_same(x, y)
    return smaller, used_inputs


def test_carries_that_need_one_another_stay_together():
    smaller, used_inputs = pruned([True, False, False, False, False, False])

    assert used_inputs == [True, True, False, False, False, True]
    [eqn] = smaller.eqns
    assert (eqn.params["num_carry"], len(eqn.outvars)) == (2, 2)
    assert len(eqn.params["jaxpr"].eqns) == 2


def test_a_carry_needed_by_a_result_stays():
    smaller, used_inputs = pruned([False, False, False, False, True, False])

    assert used_inputs == [False, False, False, True, False, False]
    assert smaller.eqns[0].params["length"] == 3


def test_a_carry_that_serves_only_itself_goes():
    _, used_inputs = pruned([True, True, False, True, True, True])

    assert used_inputs == [True, True, False, True, False, True]


def test_an_unused_scan_goes_altogether():
    smaller, used_inputs = pruned([False] * 6)

    assert (smaller.eqns, used_inputs) == ((), [False] * 6)


def test_unused_constants_go():
    jaxpr = make_jaxpr(lambda u, v: scan(lambda c, _: ((c[0] * u, c[1] * v), None), (1.0, 1.0), None, length=2)[0])(
        np.float64(2), np.float64(3)
    )
    smaller, used_inputs = dce_jaxpr(jaxpr, [False, True])
    assert used_inputs == [False, True]
    assert smaller.eqns[0].params["num_consts"] == 1
    assert eval_jaxpr(smaller, (), 3.0) == [9.0]


def test_an_effect_in_the_body_stays():
    note_p = Primitive("note", effects=frozenset(["note"]))
    note_p.def_abstract_eval(lambda x_aval: x_aval)
    jaxpr = make_jaxpr(lambda c: scan(lambda c, _: (note_p.bind(c), None), c, None, length=2)[0])(np.float64(1))
    assert jaxpr.effects == {"note"}
    assert [eqn.primitive for eqn in dce_jaxpr(jaxpr, [False])[0].eqns] == [scan_p]


# Errors


def test_a_carry_that_changes_its_dtype_is_refused_with_the_leaf_the_types_and_the_fix():
    def step(c, x):
        return {"n": c["n"], "s": c["s"] + x}, None

    expected = (
        rf"scan of {at(step)} at {HERE}:\d+ .*: {at(step)} changes the type of the carry\['s'\] from int64\[\] to "
        r"float64\[\]; it must stay the same\. Start with float64\[\], or convert the result of the step to int64\[\]\."
    )
    with pytest.raises(TypeError, match=expected):
        scan(step, {"n": 0, "s": np.int64(0)}, np.ones(2))


def test_a_carry_that_changes_its_shape_is_refused():
    with pytest.raises(TypeError, match=r"changes the type of the carry from ~float64\[\] to float64\[2\]; it must"):
        scan(lambda c, x: (c + x, None), 0.0, np.ones((3, 2)))


def test_a_python_scalar_that_the_carry_cannot_hold_is_refused():
    with pytest.raises(TypeError, match=r"changes the type of the carry from int64\[\] to ~float64\[\]; it must"):
        scan(lambda c, x: (1.5, None), np.int64(0), np.ones(3))


def test_a_carry_that_changes_its_structure_is_refused_with_both():
    def step(c, x):
        return [c], None

    expected = (
        rf"scan of {at(step)} at .*: the carry has the structure PyTreeDef\(\*\), but {at(step)} returned "
        r"PyTreeDef\(\[\*\]\)\. Return the structure of the initial carry\."
    )
    with pytest.raises(TypeError, match=expected):
        scan(step, 1.0, np.ones(2))


@pytest.mark.parametrize(
    ("result", "in_words"),
    [
        (lambda c: c, "one array"),
        (lambda c: [c, c], "a list of length 2"),
        (lambda c: (c, c, c), "a tuple of length 3"),
        (lambda c: None, "None"),
        (lambda c: (c,), "a tuple of length 1"),
    ],
)
def test_what_is_no_pair_is_refused(result, in_words):
    def step(c, x):
        return result(c)

    expected = (
        rf"scan of {at(step)} at .*: {at(step)} must return a pair \(carry, y\), but it returned {in_words}\. "
        r"Return None as y if there is nothing to stack\."
    )
    with pytest.raises(TypeError, match=expected):
        scan(step, 1.0, np.ones(2))


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        (
            {"xs": {"a": np.ones(3), "b": np.ones(2)}},
            ValueError,
            r": the leading axis of xs\['b'\] has size 2, but the leading axis of xs\['a'\] requires 3 steps\. All ",
        ),
        (
            {"xs": np.ones(3), "length": 2},
            ValueError,
            r": the leading axis of xs has size 3, but length=2 requires 2 steps\.",
        ),
        ({"xs": [1.0]}, TypeError, r": xs\[0\] is ~?float64\[\], which has no leading axis\. Close over it instead\."),
        ({"xs": ["no"]}, TypeError, r": xs\[0\] is 'no' of type str, which is not an array or a scalar\."),
        ({}, ValueError, r" got neither inputs nor a length\. Give xs, or length\."),
        ({"length": -1}, ValueError, r" got length=-1\. Give 0 or more\."),
        ({"length": 2.5}, TypeError, r" got length=2\.5\. Give an int\."),
        ({"xs": np.ones(3), "unroll": -1}, ValueError, r" got unroll=-1\. Give 0 or more\."),
        ({"length": True}, TypeError, r" got length=True\. Give an int\."),
        ({"xs": np.ones(3), "unroll": "2"}, TypeError, r" got unroll='2'\. Give an int\."),
    ],
)
def test_wrong_inputs_are_refused_by_name(kwargs, error, words):
    def step(c, x):
        return c, None

    with pytest.raises(error, match=rf"scan of {at(step)} at {HERE}:\d+ .*{words}"):
        scan(step, 1.0, **kwargs)


def test_a_carry_that_is_no_array_is_refused_by_its_path():
    with pytest.raises(TypeError, match=r"scan of .*: init\['a'\] is 'no' of type str, which is not an array"):
        scan(lambda c, x: (c, None), {"a": "no"}, np.ones(2))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"scan got 3 of type int at .*\. Give a function\."):
        scan(3, 1.0, np.ones(2))


def bind(program, *args, **params):
    return scan_p.bind(
        *args, **{"jaxpr": program, "num_carry": 1, "num_consts": 0, "reverse": False, "unroll": 1} | params
    )


@pytest.mark.parametrize(
    ("program", "args", "words"),
    [
        (
            operator.add,
            (1.0, np.ones(3)),
            r"scan of length 2 got an input float64\[3\]\. Its leading axis must have size 2",
        ),
        (
            operator.add,
            (1.0, np.ones((2, 2))),
            r"scan got operands of types \(.*float64\[\], float64\[2\]\), but its program",
        ),
        (
            operator.lt,
            (1.0, np.ones(2)),
            r"scan: the body changes the types of the carry from \(~float64\[\]\) to \(bool\[\]\)",
        ),
    ],
)
def test_programs_that_do_not_fit_are_refused_when_staged(program, args, words):
    step = make_jaxpr(program)(np.float64(1), np.float64(1))
    with pytest.raises(TypeError, match=words):
        make_jaxpr(lambda *args: bind(step, *args, length=2))(*args)


@pytest.mark.parametrize(("unroll", "steps"), [(0, 5), (True, 5), (False, 1), (1, 1), (3, 3), (9, 9)])
def test_unroll_may_ask_for_all_steps(unroll, steps):
    total = lambda xs: scan(lambda c, x: (c + x, c), 0.0, xs, unroll=unroll)
    assert make_jaxpr(total)(np.ones(5)).eqns[0].params["unroll"] == steps
    assert total(np.ones(5))[0] == 5.0


def test_unroll_of_no_steps_at_all_is_one():
    jaxpr = make_jaxpr(lambda xs: scan(lambda c, x: (c + x, c), 0.0, xs, unroll=0))(np.ones(0))
    assert jaxpr.eqns[0].params["unroll"] == 1


@pytest.mark.parametrize(("unroll", "kind"), [(-1, ValueError), (1.5, TypeError), ("all", TypeError)])
def test_an_unroll_that_is_no_number_of_steps_is_refused(unroll, kind):
    with pytest.raises(kind, match=r"scan of <lambda> .* got unroll="):
        scan(lambda c, x: (c + x, c), 0.0, np.ones(3), unroll=unroll)


class Labelled:
    """A class with one child, and an array as its static data."""

    def __init__(self, x, label):
        self.x, self.label = x, label


register_pytree_node(Labelled, lambda node: ((node.x,), node.label), lambda label, xs: Labelled(xs[0], label))


def labelled(x):
    """Return an object with new static data, as a constructor that makes an array does."""
    return Labelled(x, np.arange(3))


@pytest.mark.parametrize(
    "run",
    [
        lambda: scan(lambda c, x: (labelled(c.x + x), x), labelled(1.0), np.arange(3.0)),
        lambda: lax.while_loop(lambda c: c.x < 9.0, lambda c: labelled(c.x * 2.0), labelled(1.0)),
        lambda: lax.fori_loop(0, 3, lambda i, c: labelled(c.x * 2.0), labelled(1.0)),
        lambda: lax.cond(True, lambda: labelled(1.0), lambda: labelled(2.0)),
        lambda: lax.switch(1, [lambda: labelled(1.0), lambda: labelled(2.0)]),
        lambda: lax.associative_scan(lambda p, q: labelled(p.x + q.x), labelled(np.ones(3))),
    ],
    ids=["scan", "while_loop", "fori_loop", "cond", "switch", "associative_scan"],
)
def test_a_new_array_as_static_data_is_named_with_its_class_and_the_remedy(run):
    words = (
        r"the static data of Labelled cannot be compared with ==: array\(\[0, 1, 2\]\) and array\(\[0, 1, 2\]\) give "
        r"ValueError: The truth value of an array .*\nStatic data must compare to True or False\. Make an array a "
        r"child of the class, as a field that is not static\."
    )
    with pytest.raises(ValueError, match=words):
        run()
