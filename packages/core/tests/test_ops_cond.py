import re

import numpy as np
import pytest

from calque_core import (
    ShapedArray,
    UnexpectedTracerError,
    check_jaxpr,
    config,
    dce_jaxpr,
    eval_jaxpr,
    interpret,
    is_tracer,
    jaxpr_as_fun,
    jaxpr_equal,
    lax,
    make_jaxpr,
    stage,
    typeof,
)
from calque_core.lax import cond, cond_p
from calque_core.ops.calls.staged_programs import join_constants
from calque_pytree import tree_leaves

HERE = "test_ops_cond.py"
ARRAY = np.arange(3.0)
ARRAY.flags.writeable = False


def at(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


def plus(x):
    return x + 1.0


def minus(x):
    return x - 1.0


PROGRAMS = {
    "literals": (lambda p: cond(p, lambda: 3, lambda: 4), ()),
    "operands": (lambda p, x, y: cond(p, lambda a, b: a * b, lambda a, b: a - b, x, y), (2.0, ARRAY)),
    "a closed over argument": (lambda p, x: cond(p, lambda: x * x, lambda: 0.0), (3.0,)),
    "a closed over array": (lambda p, x: cond(p, lambda: ARRAY * x, lambda: ARRAY), (3.0,)),
    "different closures": (lambda p, x, y: cond(p, lambda: lax.sin(x), lambda: y), (1.0, 2.0)),
    "a scalar beside an array's dtype": (lambda p, x: cond(p, lambda: x, lambda: 1), (np.float32(2),)),
    "two scalars of two kinds": (lambda p: cond(p, lambda: 1, lambda: 2.5), ()),
    "trees": (
        lambda p, x: cond(p, lambda t: {"s": t["a"], "n": None}, lambda t: {"s": t["b"], "n": None}, x),
        ({"a": 1.0, "b": 2.0},),
    ),
    "no results": (lambda p, x: cond(p, lambda v: (), lambda v: (), x), (1.0,)),
    "a branch inside a branch": (
        lambda p, x: cond(p, lambda: cond(x > 0, lambda: x, lambda: -x), lambda: x * x),
        (-3.0,),
    ),
    "a forwarded operand": (lambda p, x: cond(p, lambda v: v, lambda v: v, x), (ARRAY,)),
    "empty arrays": (lambda p, x: cond(p, plus, minus, x), (np.zeros((0, 2)),)),
}


@pytest.mark.parametrize("x64", [True, False], ids=["64 bits", "32 bits"])
@pytest.mark.parametrize("pred", [True, False, np.True_, np.array(False)], ids=repr)
@pytest.mark.parametrize(("fun", "args"), PROGRAMS.values(), ids=PROGRAMS)
def test_staged_branches_give_what_evaluated_ones_give(fun, args, pred, x64):
    with config.enable_x64(x64):
        want = fun(pred, *args)
        jaxpr = make_jaxpr(lambda p, *xs: [fun(p, *xs)])(pred, *args)
        check_jaxpr(jaxpr)
        got = eval_jaxpr(jaxpr, jaxpr.consts, pred, *tree_leaves(args))
        want = tree_leaves(want)
        assert len(got) == len(want)
        for x, y, aval in zip(got, want, jaxpr.out_avals):
            assert np.array_equal(x, y)
            assert typeof(x) == typeof(y) == aval


@pytest.mark.parametrize(("pred", "want"), [(True, 3.0), (False, 1.0), (np.bool_(True), 3.0), (np.array(False), 1.0)])
def test_one_branch_is_taken(pred, want):
    assert cond(pred, plus, minus, 2.0) == want


def test_one_branch_runs_and_both_are_traced():
    traced, ran = [], []

    def branch(name):
        def fun(x):
            traced.append(name)
            with_effect = lax.sin(x)
            assert is_tracer(with_effect)
            return with_effect

        return fun

    cond(True, branch("true"), branch("false"), 1.0)
    assert sorted(traced) == ["false", "true"]
    jaxpr = make_jaxpr(lambda p: cond(p, lambda: lax.sin(1.0), lambda: lax.cos(1.0)))(True)
    interpret(
        jaxpr, {}, True, default=lambda prim, *args, **params: ran.append(prim.name) or prim.bind(*args, **params)
    )
    assert "cos" not in ran


def test_branches_are_staged_over_the_same_operands_in_the_order_of_the_index():
    assert str(make_jaxpr(lambda p, x: cond(p, lambda: x * 2.0, lambda: x))(True, 1.0)) == (
        "{ lambda ; a:bool[] b:f64[]. let\n"
        "    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a\n"
        "    d:f64[] = cond[\n"
        "      branches=(\n"
        "        { lambda ; e:f64[]. let  in (e,) }\n"
        "        { lambda ; f:f64[]. let g:f64[] = mul f 2.0 in (g,) }\n"
        "      )\n"
        "    ] c b\n"
        "  in (d,) }"
    )


def test_no_branch_holds_a_value_of_its_own():
    matrix = np.ones((2, 2))
    jaxpr = make_jaxpr(lambda p, x: cond(p, lambda: lax.dot(matrix, x), lambda: x + ARRAY[:2]))(True, np.ones(2))
    eqn = jaxpr.eqns[-1]
    assert [branch.consts for branch in eqn.params["branches"]] == [(), ()]
    assert all(branch.is_closed for branch in eqn.params["branches"])
    assert len({len(branch.invars) for branch in eqn.params["branches"]}) == 1


def test_a_tracer_that_both_branches_use_is_one_operand():
    jaxpr = make_jaxpr(lambda p, x: cond(p, lambda: x, lambda: -x))(True, 1.0)
    assert len(jaxpr.eqns[-1].invars) == 2


def test_constants_are_joined_once_each():
    x, y = np.ones(2), np.zeros(3)
    x.flags.writeable = y.flags.writeable = False
    jaxprs = []
    make_jaxpr(lambda: jaxprs.extend(stage(lambda outs=outs: outs, []) for outs in ([x], [x, y], [])))()
    branches, values = join_constants(jaxprs)
    assert [np.shares_memory(v, w) for v, w in zip(values, (x, y), strict=True)] == [True, True]
    assert all([v.aval for v in b.invars] == [typeof(x), typeof(y)] and not b.constvars for b in branches)
    assert np.shares_memory(eval_jaxpr(branches[1], (), *values)[1], y)


def test_what_a_user_writes_after_the_call_changes_no_pending_branch():
    buffer = np.zeros(3)
    jaxpr = make_jaxpr(lambda p: cond(p, lambda: buffer, lambda: buffer + 1.0))(True)
    buffer[:] = 7.0
    assert eval_jaxpr(jaxpr, jaxpr.consts, True)[0].tolist() == [0.0, 0.0, 0.0]


def test_results_are_weak_if_those_of_all_branches_are():
    assert type(cond(True, lambda: 3, lambda: 4)) is int
    assert type(cond(True, lambda: 3, lambda: np.int64(4))) is np.int64
    jaxpr = make_jaxpr(lambda p: [cond(p, lambda: 3, lambda: 4), cond(p, lambda: 3, lambda: np.int8(4))])(True)
    assert jaxpr.out_avals == [ShapedArray((), np.int64, weak_type=True), ShapedArray((), np.int8)]


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [
        (1, 2.0, "float64"),
        (True, 2, "int64"),
        (1, 1j, "complex128"),
        (1, np.float32(2), "float32"),
        (1.0, np.float32(2), "float32"),
        (True, np.int8(2), "int8"),
        (1, np.complex64(2), "complex64"),
    ],
)
def test_a_python_scalar_takes_the_dtype_of_its_counterpart(first, second, dtype):
    for one, other in ((first, second), (second, first)):
        out = cond(True, lambda one=one: one, lambda other=other: other)
        assert (out, typeof(out).dtype) == (one, np.dtype(dtype))


def test_the_index_of_the_primitive_is_clamped():
    branches = tuple(make_jaxpr(f)(1.0) for f in (minus, plus, lax.neg))
    for index, want in ((-5, 1.0), (0, 1.0), (1, 3.0), (2, -2.0), (9, -2.0)):
        assert cond_p.bind(np.int32(index), 2.0, branches=branches, batched="select") == [want]


# What vmap will do


@pytest.mark.parametrize("batched", ["select", "skip", "map", "error"])
def test_what_is_done_with_a_batched_predicate_travels_with_the_equation(batched):
    jaxpr = make_jaxpr(lambda p, x: cond(p, plus, minus, x, batched=batched))(True, 1.0)
    assert jaxpr.eqns[-1].params["batched"] == batched
    assert ("batched" in str(jaxpr)) == (batched != "select")
    assert cond(True, plus, minus, 1.0, batched=batched) == 2.0


@pytest.mark.parametrize("batched", ["loop", None, True])
def test_an_unknown_choice_is_refused(batched):
    message = rf"cond at {HERE}:\d+ \(.*\) got batched={re.escape(repr(batched))}\. Use one of 'select', 'skip', 'map',"
    with pytest.raises(ValueError, match=message):
        cond(True, plus, minus, 1.0, batched=batched)


# Dead code


def test_results_that_nobody_uses_leave_every_branch():
    def fun(p, x, y):
        return cond(p, lambda a, b: (lax.sin(a), b), lambda a, b: (a, lax.cos(b)), x, y)[0]

    jaxpr, used = dce_jaxpr(make_jaxpr(fun)(True, np.float64(1.0), np.float64(2.0)), [True])
    assert used == [True, True, False]
    assert [len(b.eqns) for b in jaxpr.eqns[-1].params["branches"]] == [0, 1]
    assert [len(b.outvars) for b in jaxpr.eqns[-1].params["branches"]] == [1, 1]
    assert eval_jaxpr(jaxpr, jaxpr.consts, True, 1.0) == [np.sin(1.0)]


def test_a_cond_that_nobody_uses_goes():
    jaxpr, used = dce_jaxpr(make_jaxpr(lambda p, x: (cond(p, plus, minus, x), x)[1])(True, 1.0), [True])
    assert jaxpr.eqns == ()
    assert used == [False, True]


# Errors


@pytest.mark.parametrize(
    ("pred", "message"),
    [
        (1, r"got a predicate of type ~int64\[\]\. Give a bool scalar: compare it, x > 0\."),
        (1.0, r"got a predicate of type ~float64\[\]\. Give a bool scalar: compare it, x > 0\."),
        (np.array([True]), r"got a predicate of type bool\[1\]\. Give a bool scalar"),
        (None, r"got None as its predicate\. Give a bool scalar\."),
        ([True], r"got a list of length 1 as its predicate\. Give a bool scalar\."),
        ("yes", r"got a value of type str as its predicate\. Give a bool scalar\."),
    ],
)
def test_a_predicate_is_a_bool_scalar(pred, message):
    with pytest.raises(TypeError, match=rf"cond at {HERE}:\d+ \(.*\) {message}"):
        cond(pred, plus, minus, 1.0)


def test_a_traced_predicate_is_checked_too():
    with pytest.raises(TypeError, match=r"got a predicate of type ~float64\[\]\."):
        make_jaxpr(lambda x: cond(x, plus, minus, x))(1.0)


def test_branches_must_return_one_structure():
    def pair(x):
        return x, x

    message = (
        rf"cond branch outputs must have the same pytree structure, but they differ at {HERE}:\d+ \(.*\): "
        rf"{at(plus)} returned PyTreeDef\(\*\), {at(pair)} returned PyTreeDef\(\(\*, \*\)\)\. Return the same"
    )
    with pytest.raises(TypeError, match=message):
        cond(True, plus, pair, 1.0)


@pytest.mark.parametrize(
    ("result", "types"),
    [
        (np.ones(3), (r"float64\[\]", r"float64\[3\]")),
        (np.float32(1), (r"float64\[\]", r"float32\[\]")),
        (np.int32(1), (r"float64\[\]", r"int32\[\]")),
    ],
)
def test_branches_must_return_one_type(result, types):
    def good(x):
        return {"w": [x, lax.sin(x)]}

    def bad(x):
        return {"w": [x, result]}

    message = (
        rf"cond branch outputs must have equal types, but they differ at {HERE}:\d+ .*: the output\['w'\]\[1\] of "
        rf"{at(good)} is {types[0]}, of {at(bad)} {types[1]}\. Convert one of them\."
    )
    with pytest.raises(TypeError, match=message):
        cond(True, good, bad, np.float64(1))


def test_a_python_scalar_of_a_higher_kind_does_not_fit():
    def whole():
        return np.int32(1)

    def half():
        return 0.5

    with pytest.raises(
        TypeError, match=rf"the output of {at(whole)} is int32\[\], of {at(half)} ~float64\[\]\. Convert one of them\."
    ):
        cond(True, whole, half)


def test_an_operand_that_is_no_array_is_named_by_the_branches_parameter():
    message = rf"cond at {HERE}:\d+ \(.*\): x\['name'\] is 'text' of type str, which is not an array or a scalar\."
    with pytest.raises(TypeError, match=message):
        cond(True, plus, minus, {"name": "text"})


def test_a_result_that_is_no_array_is_refused_with_the_branch():
    def bad(x):
        return "text"

    with pytest.raises(
        TypeError, match=rf"cond of {at(bad)} returned 'text' of type str\. Return arrays and scalars\."
    ):
        cond(True, plus, bad, 1.0)


@pytest.mark.parametrize("which", [0, 1])
def test_branches_are_functions_and_no_generators(which):
    def generator(x):
        yield x

    def branches(bad):
        return (bad, minus) if which == 0 else (plus, bad)

    with pytest.raises(TypeError, match=rf"cond got 3 of type int at {HERE}:\d+ \(.*\)\. Give a function\."):
        cond(True, *branches(3), 1.0)
    with pytest.raises(TypeError, match=rf"cond of {at(generator)}: a generator or coroutine runs after"):
        cond(True, *branches(generator), 1.0)
    hidden = lambda x: generator(x)
    with pytest.raises(TypeError, match="a generator or coroutine runs after the transformation has ended"):
        cond(True, *branches(hidden), 1.0)


def test_an_error_in_a_branch_keeps_its_class_and_words():
    def bad(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        cond(True, plus, bad, 1.0)
    assert cond(True, plus, minus, 1.0) == 2.0


def test_a_condition_inside_a_branch_names_the_branch_and_its_parameter():
    def python_if(x):
        return x if x > 0 else -x

    # The operand of a branch is not the function's argument any more: the branch says what it cannot know.
    with pytest.raises(
        TypeError, match=rf"bool\(\) was asked of a traced value of type bool\[\] .* under cond of {at(python_if)}"
    ):
        cond(True, python_if, minus, np.float64(1.0))


def test_a_tracer_of_a_branch_cannot_leave_it():
    kept = []
    cond(True, lambda x: kept.append(lax.sin(x)) or x, minus, 1.0)
    with pytest.raises(
        UnexpectedTracerError, match=r"its trace, cond of <lambda> \(test_ops_cond\.py:\d+\), has ended"
    ):
        lax.sin(kept[0])


@pytest.mark.parametrize("index", [np.int64(0), np.float32(0), np.zeros(1, np.int32)])
def test_the_primitive_checks_its_index(index):
    branches = (make_jaxpr(minus)(1.0), make_jaxpr(plus)(1.0))
    types = re.escape(str(typeof(index)))
    with pytest.raises(TypeError, match=rf"cond got an index of type {types}\. Give a scalar of dtype int32\."):
        make_jaxpr(lambda: cond_p.bind(index, 1.0, branches=branches, batched="select"))()


def test_the_primitive_checks_its_operands_against_each_branch():
    branches = (make_jaxpr(minus)(1.0), make_jaxpr(plus)(np.float32(1)))
    message = (
        r"branch 1 of cond got operands of types \(~float64\[\]\), but its program takes \(float32\[\]\)\. "
        r"Trace it again for these types\."
    )
    with pytest.raises(TypeError, match=message):
        make_jaxpr(lambda: cond_p.bind(np.int32(0), 1.0, branches=branches, batched="select"))()


def test_nested_conds_stage_to_equal_programs_each_time():
    def fun(x):
        return cond(x > 0, lambda: cond(x > 1, lambda: x, lambda: x * 2.0), lambda: -x)

    assert jaxpr_equal(make_jaxpr(fun)(1.0), make_jaxpr(fun)(1.0))


def test_one_operand_may_be_passed_by_name():
    assert cond(True, lambda x: x + 1.0, lambda x: x, operand=2.0) == 3.0
    assert cond(True, lambda x: 1.0 if x is None else 0.0, lambda x: 2.0, operand=None) == 1.0
    assert lax.switch(1, [lambda x: x, lambda x: 2.0 * x], operand=3.0) == 6.0


def test_an_operand_by_name_beside_operands_is_refused():
    with pytest.raises(TypeError, match=r"cond at .* got operand= beside 1 operands\. Pass all of them by position\."):
        cond(True, lambda x: x, lambda x: x, 1.0, operand=2.0)
    with pytest.raises(TypeError, match=r"switch at .* got operand= beside 2 operands"):
        lax.switch(0, [lambda x, y: x, lambda x, y: y], 1.0, 2.0, operand=2.0)


def test_each_branch_may_have_an_operand_of_its_own():
    choose = lambda pred: cond(pred, 2.0, lambda x: x + 1.0, (3.0, 4.0), lambda pair: pair[0] * pair[1])
    assert (choose(True), choose(False)) == (3.0, 12.0)
    assert jaxpr_as_fun(make_jaxpr(choose)(True))(False)[0] == 12.0


def test_two_functions_are_asked_for_where_one_is_none():
    with pytest.raises(TypeError, match="Give a function"):
        cond(True, 2.0, lambda x: x, 3.0, 4.0)


def test_a_function_that_is_several_branches_is_traced_once():
    traced = []

    def f(x):
        traced.append("f")
        return x + 1.0

    def g(x):
        traced.append("g")
        return 2.0 * x

    assert lax.cond(True, f, f, 3.0) == 4.0
    assert traced == ["f"]
    results = [lax.switch(i, [f, g, f, g], 3.0) for i in range(4)]
    assert results == [4.0, 6.0, 4.0, 6.0]
    assert traced == ["f", *["f", "g"] * 4]
