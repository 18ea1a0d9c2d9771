import pickle

import numpy as np
import pytest

from calque_core import CheckError, check, config, dce_jaxpr, errors, eval_jaxpr, lax, make_jaxpr
from calque_core.lax import check_p


def positive(x):
    check(x > 0, "x is {}, not positive", x)
    return x * 2.0


def failure(fun, *args):
    with pytest.raises(CheckError) as caught:
        fun(*args)
    return caught.value


def test_a_check_that_holds_does_nothing():
    assert positive(1.5) == 3.0
    assert check(np.ones((2, 3)) > 0, "never {}", 1) is None
    assert check(np.zeros(0, bool), "no element fails") is None


def test_the_error_has_the_line_the_message_and_the_value():
    error = failure(positive, -1.0)
    assert isinstance(error, ValueError)
    assert type(error) is errors.CheckError
    assert "check at test_ops_check.py:11 (positive) failed: x is -1.0, not positive" in str(error)
    assert (error.index, error.values) == ((), (-1.0,))


def test_the_error_has_the_index_of_the_first_element_in_rows():
    error = failure(positive, np.array([[1.0, 2.0, 3.0], [4.0, -5.0, -6.0]]))
    assert str(error).endswith("failed at index [1, 1]: x is -5.0, not positive")
    assert error.index == (1, 1)


def test_values_are_shown_at_the_index():
    def ordered(low, x, rows, table):
        check(low < x, "{} is not below {:.2f} in row {}, {} of {}", low, x, rows, "label", table)

    low, x, rows = np.array([0.0, 0.0, 9.0]), np.ones((2, 3)), np.arange(12.0).reshape(2, 3, 2)
    error = failure(ordered, low, x, rows, np.arange(4))
    assert str(error).endswith("[0, 2]: 9.0 is not below 1.00 in row [4. 5.], label of [0 1 2 3]")


def test_a_value_is_a_tree():
    error = failure(lambda x: check(x > 0, "{}", {"a": x, "b": [x * 2, "word"]}), np.array([1.0, -1.0]))
    assert error.values == ({"a": -1.0, "b": [-2.0, "word"]},)


def test_the_values_of_the_error_are_copies():
    x = np.array([[1.0, 2.0], [-1.0, 4.0]])
    error = failure(lambda x: check(np.all(x > 0, axis=1), "row {}", x), x)
    x[:] = 0.0
    assert error.values[0].tolist() == [-1.0, 4.0]


@pytest.mark.parametrize("predicate", [1.0, np.nan, np.array([1.0, np.nan]), 1, np.int8(0), 1j])
def test_a_predicate_that_is_no_bool_is_refused(predicate):
    with pytest.raises(TypeError, match=r"check at .* got .* as its predicate\. Give a bool or an array of bools"):
        check(predicate, "never")


@pytest.mark.parametrize("predicate", [None, [True], "yes"])
def test_a_predicate_that_is_no_array_is_refused(predicate):
    with pytest.raises(TypeError, match=r"as its predicate\. Give a bool or an array of bools"):
        check(predicate, "never")


def test_a_traced_predicate_that_is_no_bool_is_refused():
    with pytest.raises(TypeError, match=r"got float64\[3\] as its predicate"):
        make_jaxpr(lambda x: check(x, "never"))(np.ones(3))


def test_message_and_values_must_fit():
    with pytest.raises(ValueError, match=r"check at .* has no field for argument 1 in its format"):
        check(True, "{}", 1.0, 2.0)
    with pytest.raises(ValueError, match=r"check at .* has no argument for the field 1 of '\{\} \{\}'"):
        check(True, "{} {}", 1.0)
    with pytest.raises(TypeError, match=r"check at .* got a format of type int"):
        check(True, 3)


def test_a_program_has_one_equation_for_a_check():
    jaxpr = make_jaxpr(positive)(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["gt", "check", "mul"]
    assert "check[message=x is {}, not positive] b a" in str(jaxpr)
    assert [str(effect) for effect in jaxpr.effects] == ["check"]


def test_a_check_is_neither_removed_nor_merged():
    def twice(x):
        check(x > 0, "no")
        check(x > 0, "no")
        return lax.sin(x), lax.cos(x)

    smaller, used = dce_jaxpr(make_jaxpr(twice)(1.0), [False, False])
    assert [eqn.primitive for eqn in smaller.eqns if not eqn.outvars] == [check_p, check_p]
    assert used == [True]


def test_a_program_checks_each_time_that_it_runs():
    jaxpr = make_jaxpr(positive)(1.0)
    assert eval_jaxpr(jaxpr, jaxpr.consts, 2.0) == [4.0]
    error = failure(eval_jaxpr, jaxpr, jaxpr.consts, -2.0)
    assert str(error).endswith("(positive) failed: x is -2.0, not positive")


def test_without_checks_there_is_no_equation():
    with config.checks(False):
        jaxpr = make_jaxpr(positive)(-1.0)
        assert positive(-1.0) == -2.0
        check(0.5, "not even the types are looked at")
    assert [eqn.primitive.name for eqn in jaxpr.eqns if eqn.primitive is check_p] == []
    assert not jaxpr.effects
    assert len(make_jaxpr(positive)(-1.0).eqns) == len(jaxpr.eqns) + 1


def test_the_setting_is_a_bool():
    with pytest.raises(ValueError, match=r"checks was set to 1\. Use True or False"):
        config.checks(1)


def test_only_the_branch_that_runs_checks():
    choose = lambda x: lax.cond(x > 0, positive, lambda x: -x, x)
    assert choose(-3.0) == 3.0
    wrong = lambda x: lax.cond(x < 0, positive, lambda x: -x, x)
    assert failure(wrong, -3.0).values == (-3.0,)


def test_the_error_can_be_pickled():
    error = failure(positive, np.array([1.0, -1.0]))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.index, again.values) == (str(error), (1,), (-1.0,))
