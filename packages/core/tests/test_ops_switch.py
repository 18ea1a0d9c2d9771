"""`switch`, beside the tests of `cond` in test_ops_cond.py."""

import re

import numpy as np
import pytest

from calque_core import check_jaxpr, dce_jaxpr, eval_jaxpr, lax, make_jaxpr
from calque_core.lax import cond_p, switch

HERE = "test_ops_switch.py"
BRANCHES = (lambda x: x + 1.0, lambda x: x - 2.0, lambda x: x * 3.0)


def at(fun):
    return rf"{re.escape(fun.__name__)} \({HERE}:{fun.__code__.co_firstlineno}\)"


@pytest.mark.parametrize(("index", "want"), [(0, 6.0), (1, 3.0), (2, 15.0), (-1, 6.0), (3, 15.0), (100, 15.0)])
@pytest.mark.parametrize("dtype", [int, np.int8, np.int32, np.int64, np.array])
def test_the_branch_of_the_index_runs_or_the_nearest(index, want, dtype):
    run = lambda i: switch(i, BRANCHES, 5.0)
    jaxpr = make_jaxpr(run)(dtype(index))
    check_jaxpr(jaxpr)

    assert run(dtype(index)) == want
    assert eval_jaxpr(jaxpr, jaxpr.consts, dtype(index)) == [want]


@pytest.mark.parametrize(
    "index", [2**31, 2**32, 2**32 + 1, -(2**32), 2**63 - 1, np.uint32(2**32 - 1), np.uint64(2**63)]
)
def test_an_index_of_more_than_31_bits_takes_the_nearest_branch_too(index):
    want = 6.0 if index < 0 else 15.0

    assert switch(index, BRANCHES, 5.0) == want
    jaxpr = make_jaxpr(lambda i: switch(i, BRANCHES, 5.0))(index)
    assert eval_jaxpr(jaxpr, jaxpr.consts, index) == [want]


def test_branches_give_trees_and_close_over_tracers():
    def fun(i, x, y):
        results = {"a": x, "b": (1, None)}, {"a": y, "b": (2, None)}, {"a": 0, "b": (3, None)}
        return switch(i, [lambda result=result: result for result in results])

    jaxpr = make_jaxpr(fun)(0, np.float32(5), np.float32(6))
    check_jaxpr(jaxpr)
    for i, want in enumerate([(5, 1), (6, 2), (0, 3)]):
        out = fun(i, np.float32(5), np.float32(6))
        assert (out["a"], out["b"]) == (want[0], (want[1], None))
        assert out["a"].dtype == np.float32
        assert eval_jaxpr(jaxpr, (), i, np.float32(5), np.float32(6)) == list(want)


def test_python_scalars_among_the_results_take_the_widest_kind_of_all_branches():
    out = switch(0, [lambda: 1, lambda: 2.5, lambda: 3])
    assert (type(out), out) == (float, 1.0)
    out = switch(1, [lambda: 1, lambda: 2, lambda: 2.5j])
    assert (type(out), out) == (complex, 2.0)


def test_a_single_branch_is_called_and_nothing_is_bound():
    assert switch(7, [lambda x: x * 2], 3.0) == 6.0
    assert [e.primitive.name for e in make_jaxpr(lambda i, x: switch(i, [lax.sin], x))(0, 1.0).eqns] == ["sin"]


def test_one_equation_holds_all_branches():
    [*_, eqn] = make_jaxpr(lambda i, x: switch(i, BRANCHES, x, batched="error"))(0, 1.0).eqns

    assert eqn.primitive is cond_p
    assert (len(eqn.params["branches"]), eqn.params["batched"]) == (3, "error")


def test_operands_that_no_branch_needs_for_the_used_results_go():
    def fun(i, x, y):
        return switch(i, [lambda x, y: (x, y), lambda x, y: (x * 2, y), lambda x, y: (x * 3, x + y)], x, y)

    jaxpr = make_jaxpr(fun)(0, 1.0, 2.0)
    first, used_first = dce_jaxpr(jaxpr, [True, False])
    _, used_second = dce_jaxpr(jaxpr, [False, True])

    assert used_first == [True, True, False]
    assert used_second == [True, True, True]
    assert eval_jaxpr(first, (), 2, 1.0) == [3.0]
    check_jaxpr(first)


def first(x):
    return x, x


def second(x):
    return x


def third(x):
    return x, lax.convert_element_type(x, np.float32)


SAME_STRUCTURE = (
    rf"switch branch outputs must have the same pytree structure, but they differ at .*: {at(first)} returned .*, "
    rf"{at(second)} returned .*\. Return the same structure from each branch\."
)
EQUAL_TYPES = (
    rf"switch branch outputs must have equal types, but they differ at .*: "
    rf"the output\[1\] of {at(first)} is float64\[\], "
    rf"of {at(third)} float32\[\], of {at(first)} float64\[\]\. Convert one of them\."
)


@pytest.mark.parametrize(
    ("index", "branches", "operand", "words"),
    [
        (0, [first, 3], 1.0, r"switch got 3 of type int at .*\. Give a function\."),
        (1.0, [first, first], 1.0, r"switch at .* got ~float64\[\] as its index\. Give an integer scalar\."),
        (True, [first, first], 1.0, r"switch at .* got ~bool\[\] as its index\. Give an integer scalar\."),
        (np.arange(2), [first, first], 1.0, r"switch at .* got int64\[2\] as its index\."),
        ("1", [first, first], 1.0, r"switch at .* got a value of type str as its index\."),
        (0, [first, first], "x", r"switch at .*: x is 'x' of type str, which is not an array or a scalar\."),
        (0, [first, second, first], 1.0, SAME_STRUCTURE),
        (0, [first, third, first], np.float64(1), EQUAL_TYPES),
    ],
)
def test_what_is_wrong_is_refused_by_name(index, branches, operand, words):
    with pytest.raises(TypeError, match=words):
        switch(index, branches, operand)


def test_one_function_is_no_list_of_branches():
    with pytest.raises(
        TypeError, match=rf"switch at {HERE}:\d+ .* got <function .* as its branches\. Give a list of fun"
    ):
        switch(0, first, 1.0)


def test_no_branches_and_an_unknown_policy_are_refused():
    with pytest.raises(ValueError, match=rf"switch at {HERE}:\d+ .* got no branches\. Give at least one function\."):
        switch(0, [])
    with pytest.raises(
        ValueError, match=r"switch at .* got batched='any'\. Use one of 'select', 'skip', 'map', 'error'\."
    ):
        switch(0, [first, first], 1.0, batched="any")
